//! `points.parquet`: counters of each flow at each point of capture, a row for each flow and point.
//!
//! A point is an end of a link. A connection over two links is seen at four points: at its two
//! hosts and at both interfaces of the node between them. A flow is one direction of a TCP
//! connection, of a pair of UDP ports, or of another protocol between two nodes. Runs whose points
//! were not recorded (`[capture] points`) have no rows. The file's metadata has the meaning of each
//! column under `lasthop.columns`.

use crate::campaign_table::{self, number, text};
use crate::{Directory, RunRecord};
use capture::columnar::{Column, Table};
use capture::table::TableError;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Name of the table in a run directory.
pub const FILE: &str = "points.parquet";

/// A flow at a point.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Point {
    /// The link.
    pub link: String,
    /// The node at this end of the link.
    pub node: String,
    /// The workload that the connection belongs to; `None` for what is below its sockets, such as
    /// the carrier of remote sockets, and for what belongs to no workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Number of the connection in its workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// `tcp`, `udp` or `other`.
    pub protocol: String,
    /// Node that sent the flow's packets.
    pub from: String,
    /// Node that they were for.
    pub to: String,
    /// Port at `from`; 0 without ports.
    pub from_port: u16,
    /// Port at `to`.
    pub to_port: u16,
    /// Packets that passed.
    pub packets: u64,
    /// Their bytes with IP headers.
    pub bytes: u64,
    /// Segments with data.
    pub data_segments: u64,
    /// Bytes of data, as often as they passed.
    pub data_bytes: u64,
    /// Segments with data that had passed before.
    pub retransmissions: u64,
    /// Bytes of data that had passed before.
    pub retransmitted_bytes: u64,
    /// Retransmissions of what the receiver had.
    pub spurious: u64,
    /// Retransmissions of which it is not known whether the receiver had it.
    pub undecided: u64,
}

/// A point with its run.
struct Row<'a> {
    run: &'a RunRecord,
    point: &'a Point,
}

/// Builds the table of a campaign, finished or not; `None` if no run recorded points.
#[must_use]
pub fn of(directory: &Directory) -> Option<Table> {
    let runs = &directory.manifest.runs;
    let mut rows = Vec::new();
    for run in runs {
        rows.extend(run.points.iter().flatten().map(|point| Row { run, point }));
    }
    let table = || campaign_table::of(&directory.manifest, rows.iter().map(|row| row.run), behind(&rows));
    runs.iter().any(|run| run.points.is_some()).then(table)
}

/// Returns name and meaning of each column after the factors, in order.
#[must_use]
pub fn columns() -> Vec<(String, String)> {
    behind(&[]).into_iter().map(|column| (column.name, column.meaning)).collect()
}

/// Returns the columns after the factors.
#[rustfmt::skip]
fn behind(rows: &[Row<'_>]) -> Vec<Column> {
    vec![
        number(rows, "repetition", "number of the repetition, from 0", |row| Some(row.run.repetition.into())),
        text(rows, "link", "the link at whose end the flow was captured", |row| Some(row.point.link.clone())),
        text(rows, "node", "the node at that end", |row| Some(row.point.node.clone())),
        text(rows, "workload", "workload that the connection belongs to; empty for the carrier of remote sockets",
            |row| row.point.workload.clone()),
        number(rows, "number", "number of the connection in its workload, from 0", |row| row.point.number.map(u64::from)),
        text(rows, "protocol", "tcp, udp or other", |row| Some(row.point.protocol.clone())),
        text(rows, "from", "node that sent the packets", |row| Some(row.point.from.clone())),
        text(rows, "to", "node that they were for", |row| Some(row.point.to.clone())),
        number(rows, "from_port", "port at `from`; 0 without ports", |row| Some(row.point.from_port.into())),
        number(rows, "to_port", "port at `to`; 0 without ports", |row| Some(row.point.to_port.into())),
        number(rows, "packets", "packets that passed", |row| Some(row.point.packets)),
        number(rows, "bytes", "their bytes with IP headers", |row| Some(row.point.bytes)),
        number(rows, "data_segments", "TCP segments with data, here and below", |row| Some(row.point.data_segments)),
        number(rows, "data_bytes", "bytes of data, as often as they passed", |row| Some(row.point.data_bytes)),
        number(rows, "retransmissions", "segments with data that had passed before", |row| Some(row.point.retransmissions)),
        number(rows, "retransmitted_bytes", "bytes of data that had passed before", |row| Some(row.point.retransmitted_bytes)),
        number(rows, "spurious", "retransmissions of what the receiver had", |row| Some(row.point.spurious)),
        number(rows, "undecided", "retransmissions of which it is not known whether the receiver had it", |row| Some(row.point.undecided)),
    ]
}

/// Writes the table of a campaign into its run directory, completely or not at all.
///
/// Returns its path; `None` if there is nothing to write.
///
/// # Errors
/// If the file cannot be written.
pub fn write(directory: &Directory) -> Result<Option<PathBuf>, TableError> {
    let Some(table) = of(directory) else { return Ok(None) };
    let path = directory.path.join(FILE);
    table.write(&path)?;
    Ok(Some(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunVerdict;
    use crate::example::campaign;

    #[test]
    fn a_row_is_a_flow_at_a_point() {
        let mut directory = campaign(&[(4, RunVerdict::Good, 1.0), (0, RunVerdict::Good, 2.0)]);
        assert!(of(&directory).is_none(), "nobody looked");
        let point = Point { link: "air".into(), node: "access".into(), bytes: 1500, ..Point::default() };
        directory.manifest.runs[0].points = Some(vec![point]);
        let place = tempfile::tempdir().unwrap();
        let directory = Directory { path: place.path().into(), ..directory };
        let path = write(&directory).unwrap().expect("a table");
        let table = Table::read(&path).unwrap();
        assert_eq!(Some(&table), of(&directory).as_ref());
        let text = |name: &str| table.column(name).unwrap().values.text(0).unwrap_or_else(|| "-".into());
        let cells = ["factor.lite", "link", "node", "workload", "bytes", "spurious"].map(text);
        assert_eq!(cells, ["on", "air", "access", "-", "1500", "0"]);
        assert_eq!(table.rows(), 1);
    }
}
