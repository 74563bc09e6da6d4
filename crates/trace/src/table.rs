//! Connections as a Parquet file: a row for each direction of each.

use crate::TraceError;
use crate::row::{ConnectionRow, DirectionRow};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Rows that are written together.
const ROW_GROUP: usize = 65_536;

type Row<'a> = (&'a ConnectionRow, &'a DirectionRow);

/// A column: its name, and its values.
struct Column {
    name: &'static str,
    values: Values,
}

/// How a column gets its value; `None` is null.
enum Values {
    Count(fn(Row<'_>) -> Option<u64>),
    Real(fn(Row<'_>) -> Option<f64>),
    Truth(fn(Row<'_>) -> bool),
    Text(fn(Row<'_>) -> Option<String>),
}

macro_rules! columns {
    ($($kind:ident $name:literal $get:expr;)*) => { &[$(Column { name: $name, values: Values::$kind($get) }),*] };
}

#[rustfmt::skip]
const COLUMNS: &[Column] = columns! {
    Text "file" |(connection, _)| Some(connection.file.clone());
    Count "interface" |(connection, _)| Some(connection.interface as u64);
    Text "interface_name" |(connection, _)| connection.interface_name.clone();
    Count "connection" |(connection, _)| Some(connection.connection as u64);
    Text "status" |(connection, _)| Some(connection.status.name().to_owned());
    Truth "complete" |(connection, _)| connection.complete;
    Count "first_packet_unix_ns" |(connection, _)| Some(connection.first_packet_unix_ns);
    Count "last_packet_unix_ns" |(connection, _)| Some(connection.last_packet_unix_ns);
    Count "elapsed_us" |(connection, _)| Some(connection.elapsed_us);
    Count "silences" |(connection, _)| Some(connection.silences.count);
    Count "longest_silence_ns" |(connection, _)| Some(connection.silences.longest_ns);
    Text "src" |(_, way)| Some(way.from.ip().to_string());
    Count "sport" |(_, way)| Some(way.from.port().into());
    Text "dst" |(_, way)| Some(way.to.ip().to_string());
    Count "dport" |(_, way)| Some(way.to.port().into());
    Count "packets" |(_, way)| Some(way.counts.packets);
    Count "resets" |(_, way)| Some(way.counts.resets);
    Count "acks" |(_, way)| Some(way.counts.acks);
    Count "pure_acks" |(_, way)| Some(way.counts.pure_acks);
    Count "sack_packets" |(_, way)| Some(way.counts.sack_packets);
    Count "dsack_packets" |(_, way)| Some(way.counts.dsack_packets);
    Count "max_sack_blocks" |(_, way)| Some(way.counts.max_sack_blocks);
    Count "sack_blocks" |(_, way)| Some(way.counts.sack_blocks);
    Count "unique_bytes" |(_, way)| Some(way.unique_bytes);
    Count "data_packets" |(_, way)| Some(way.counts.data_packets);
    Count "data_bytes" |(_, way)| Some(way.counts.data_bytes);
    Count "retransmitted_packets" |(_, way)| Some(way.counts.retransmitted_packets);
    Count "retransmitted_bytes" |(_, way)| Some(way.counts.retransmitted_bytes);
    Count "probe_packets" |(_, way)| Some(way.counts.probe_packets);
    Count "probe_bytes" |(_, way)| Some(way.counts.probe_bytes);
    Count "out_of_order_packets" |(_, way)| Some(way.counts.out_of_order_packets);
    Count "pushed_packets" |(_, way)| Some(way.counts.pushed_packets);
    Count "syns" |(_, way)| Some(way.counts.syns);
    Count "fins" |(_, way)| Some(way.counts.fins);
    Count "window_scale" |(_, way)| way.offer.window_scale.map(u64::from);
    Truth "timestamps" |(_, way)| way.offer.timestamps;
    Truth "sack_permitted" |(_, way)| way.offer.sack;
    Count "mss" |(_, way)| Some(way.offer.maximum_segment.into());
    Count "urgent_packets" |(_, way)| Some(way.counts.urgent_packets);
    Count "urgent_bytes" |(_, way)| Some(way.counts.urgent_bytes);
    Count "max_segment" |(_, way)| Some(way.counts.max_segment);
    Count "min_segment" |(_, way)| Some(way.counts.min_segment);
    Count "mean_segment" |(_, way)| Some(way.mean_segment);
    Count "max_window" |(_, way)| Some(way.max_window);
    Count "min_window" |(_, way)| Some(way.min_window);
    Count "mean_window" |(_, way)| Some(way.mean_window);
    Count "zero_windows" |(_, way)| Some(way.zero_windows);
    Count "initial_window_bytes" |(_, way)| Some(way.counts.initial_window_bytes);
    Count "initial_window_packets" |(_, way)| Some(way.counts.initial_window_packets);
    Count "stream_length" |(_, way)| way.stream_length;
    Count "missed_bytes" |(_, way)| way.missed_bytes;
    Count "truncated_bytes" |(_, way)| Some(way.counts.truncated_bytes);
    Count "truncated_packets" |(_, way)| Some(way.counts.truncated_packets);
    Count "data_time_us" |(_, way)| Some(way.data_time_us);
    Count "idle_max_us" |(_, way)| way.idle_max_us;
    Real "throughput" |(_, way)| way.throughput;
    Count "duplicate_acks" |(_, way)| Some(way.counts.duplicate_acks);
    Count "triple_duplicate_acks" |(_, way)| Some(way.counts.triple_duplicate_acks);
    Count "ce_packets" |(_, way)| Some(way.counts.ce_packets);
    Count "ece_packets" |(_, way)| Some(way.counts.ece_packets);
    Count "cwr_packets" |(_, way)| Some(way.counts.cwr_packets);
    Count "retransmitted_fast" |(_, way)| Some(way.retransmissions.fast);
    Count "retransmitted_timeout" |(_, way)| Some(way.retransmissions.timeout);
    Count "retransmitted_tail_probe" |(_, way)| Some(way.retransmissions.tail_probe);
    Count "retransmitted_keep_alive" |(_, way)| Some(way.retransmissions.keep_alive);
    Count "retransmitted_unknown" |(_, way)| Some(way.retransmissions.unknown);
    Count "spurious_by_timestamps" |(_, way)| Some(way.retransmissions.spurious_by_timestamps);
    Count "spurious_by_dsack" |(_, way)| Some(way.retransmissions.spurious_by_dsack);
    Count "timeouts" |(_, way)| Some(way.retransmissions.timeouts);
    Count "rtt_samples" |(_, way)| Some(way.round_trips.count);
    Count "rtt_min_ns" |(_, way)| sampled(way, way.round_trips.min_ns);
    Count "rtt_mean_ns" |(_, way)| sampled(way, way.round_trips.mean_ns);
    Count "rtt_median_ns" |(_, way)| sampled(way, way.round_trips.median_ns);
    Count "rtt_p95_ns" |(_, way)| sampled(way, way.round_trips.p95_ns);
    Count "rtt_p99_ns" |(_, way)| sampled(way, way.round_trips.p99_ns);
    Count "rtt_max_ns" |(_, way)| sampled(way, way.round_trips.max_ns);
    Count "rtt_stdev_ns" |(_, way)| sampled(way, way.round_trips.stdev_ns);
};

/// Writes `rows` as Parquet to `path`.
pub fn write(path: &Path, rows: impl IntoIterator<Item = ConnectionRow>) -> Result<(), TraceError> {
    let file = File::create(path).map_err(TraceError::write(path))?;
    fill(file, rows).map_err(|source| TraceError::Parquet { path: path.to_owned(), source })
}

fn fill(file: File, rows: impl IntoIterator<Item = ConnectionRow>) -> Result<(), ParquetError> {
    let fields: Vec<_> = COLUMNS.iter().map(Column::field).collect();
    let schema = parse_message_type(&format!("message connections {{ {} }}", fields.join(" ")))?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(concat!("lasthop ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let mut output = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
    let mut rows = rows.into_iter();
    loop {
        let some: Vec<_> = rows.by_ref().take(ROW_GROUP).collect();
        if some.is_empty() {
            break;
        }
        let mut group = output.next_row_group()?;
        for column in COLUMNS {
            column.write(group.next_column()?.expect("the schema has every column"), &some)?;
        }
        group.close()?;
    }
    output.close()?;
    Ok(())
}

impl Column {
    fn field(&self) -> String {
        let name = self.name;
        match self.values {
            Values::Count(_) => format!("optional int64 {name} (INTEGER(64,false));"),
            Values::Real(_) => format!("optional double {name};"),
            Values::Truth(_) => format!("optional boolean {name};"),
            Values::Text(_) => format!("optional binary {name} (STRING);"),
        }
    }

    fn write(
        &self,
        mut writer: SerializedColumnWriter<'_>,
        rows: &[ConnectionRow],
    ) -> Result<(), ParquetError> {
        let rows = rows.iter().flat_map(|row| row.directions.iter().map(move |way| (row, way)));
        match &self.values {
            Values::Count(get) => {
                batch::<Int64Type>(&mut writer, rows.map(|row| get(row).map(u64::cast_signed)))?;
            }
            Values::Real(get) => batch::<DoubleType>(&mut writer, rows.map(get))?,
            Values::Truth(get) => batch::<BoolType>(&mut writer, rows.map(|row| Some(get(row))))?,
            Values::Text(get) => batch::<ByteArrayType>(
                &mut writer,
                rows.map(|row| get(row).map(|text| ByteArray::from(text.into_bytes()))),
            )?,
        }
        writer.close()
    }
}

fn batch<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    cells: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let (mut values, mut there) = (Vec::new(), Vec::new());
    for cell in cells {
        there.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    writer.typed::<T>().write_batch(&values, Some(&there), None)?;
    Ok(())
}

/// Nothing where there is no sample.
fn sampled(way: &DirectionRow, value: u64) -> Option<u64> {
    (way.round_trips.count > 0).then_some(value)
}
