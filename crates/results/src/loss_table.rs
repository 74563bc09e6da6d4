//! `losses.parquet`: a row per loss event of a TCP connection, with the sender's classification and
//! the true cause.
//!
//! The first columns are the cell and the level of each factor, as in `results.parquet`; then come
//! the connection and the event. Runs whose losses were not recorded have no rows. The file's
//! metadata has the meaning of each column under `lasthop.columns`.

use crate::campaign_table::{self, number, text};
use crate::{Connection, Directory, LossEvent, RunRecord};
use capture::columnar::{Column, Table};
use capture::table::TableError;
use std::path::PathBuf;

/// Name of the table in a run directory.
pub const FILE: &str = "losses.parquet";

/// An event with its run and connection.
struct Row<'a> {
    run: &'a RunRecord,
    connection: &'a Connection,
    event: &'a LossEvent,
}

/// Builds the table of a campaign, finished or not; `None` if no run recorded losses.
#[must_use]
pub fn of(directory: &Directory) -> Option<Table> {
    let mut looked_at = false;
    let mut rows = Vec::new();
    for (run, connections) in directory.runs() {
        for connection in connections {
            looked_at |= connection.losses.is_some();
            let events = connection.losses.iter().flatten();
            rows.extend(events.map(|event| Row { run, connection, event }));
        }
    }
    let table = || campaign_table::of(&directory.manifest, rows.iter().map(|row| row.run), behind(&rows));
    looked_at.then(table)
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
        text(rows, "workload", "name of the workload in the plan", |row| Some(row.connection.workload.clone())),
        number(rows, "number", "number of the connection in its workload, from 0", |row| Some(row.connection.number.into())),
        text(rows, "congestion_control", "congestion control of the sender", |row| Some(row.connection.congestion_control.clone())),
        number(rows, "at_ns", "when the sender detected the loss, in ns since the start of the run", |row| Some(row.event.at_ns)),
        text(rows, "kind", "recovery, timeout, or reduction (the window alone: ECN, a full transmit queue, a tail loss probe)",
            |row| Some(row.event.kind.name().into())),
        number(rows, "n", "lost segments as the sender counted them", |row| row.event.n.map(u64::from)),
        number(rows, "lost", "packets that links lost or damaged, by the event log", |row| Some(row.event.lost.into())),
        text(rows, "cause", "true cause: wireless, congestion, outage, mixed, or none (no packet was lost)",
            |row| Some(row.event.cause.name().into())),
        text(rows, "verdict", "how the sender classified it: wireless or congestion; empty if its congestion control does not distinguish",
            |row| Some(row.event.verdict?.name().into())),
        text(rows, "reason", "what decided the verdict: detector, no-sample, timeout or local", |row| Some(row.event.reason?.name().into())),
        number(rows, "rtt_us", "round-trip time that the detector judged, in us", |row| row.event.rtt_us.map(u64::from)),
        number(rows, "mean_ns", "mean of the round-trip times by then, in ns", |row| row.event.mean_ns),
        number(rows, "dev_ns", "their deviation, in ns", |row| row.event.dev_ns),
        number(rows, "cwnd_segments", "congestion window before", |row| Some(row.event.cwnd.into())),
        number(rows, "ssthresh_segments", "slow start threshold after", |row| row.event.ssthresh.map(u64::from)),
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
    use crate::loss_event::tests::event;
    use capture::Cause;
    use capture::senders::LossVerdict as Taken;

    #[test]
    fn a_row_is_an_event_with_what_it_was_taken_for_and_what_it_was() {
        let mut directory = campaign(&[(4, RunVerdict::Good, 1.0), (0, RunVerdict::Good, 2.0)]);
        assert!(of(&directory).is_none(), "nobody looked");
        directory.connections[1][0].losses = Some(vec![]);
        assert_eq!(of(&directory).map(|table| table.rows()), Some(0), "there were none");
        let plain = LossEvent { n: None, verdict: None, ..event(Cause::Mixed, Taken::Wireless) };
        directory.connections[0][0].losses = Some(vec![event(Cause::Congestion, Taken::Wireless), plain]);
        let place = tempfile::tempdir().unwrap();
        let directory = Directory { path: place.path().into(), ..directory };
        let path = write(&directory).unwrap().expect("a table");
        let table = Table::read(&path).unwrap();
        assert_eq!(Some(&table), of(&directory).as_ref());
        let text = |name: &str| -> Vec<String> {
            let values = &table.column(name).unwrap().values;
            (0..table.rows()).map(|row| values.text(row).unwrap_or_else(|| "-".into())).collect()
        };
        assert_eq!(text("factor.lite"), ["on", "on"]);
        assert_eq!(text("cause"), ["congestion", "mixed"]);
        assert_eq!(text("verdict"), ["wireless", "-"]);
        assert_eq!(text("n"), ["1", "-"]);
        assert_eq!(text("mean_ns"), ["54000000", "54000000"]);
        assert_eq!(text("ssthresh_segments"), ["16", "16"]);
    }
}
