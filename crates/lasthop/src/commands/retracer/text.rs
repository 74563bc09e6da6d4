//! Text output of `lasthop retracer`.

use super::replaying::Replayed;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use link::blocks::Bursts;
use retracer::Start;
use std::io::{self, Write};

/// Prints the tables of every trace.
pub fn print(output: &mut impl Write, all: &[Replayed]) -> io::Result<()> {
    for (place, replayed) in all.iter().enumerate() {
        if place > 0 {
            writeln!(output)?;
        }
        head(output, replayed)?;
        writeln!(output, "\nRecovery by the link, frames of m blocks:\n{}", frames(replayed))?;
        best(output, replayed)?;
        if !replayed.packets.is_empty() {
            let best = best_size(replayed);
            writeln!(
                output,
                "\nRecovery by TCP alone, compared with the link at m = 1 and m = {best} (bytes/s of TCP user data):\n{}",
                packets(replayed)
            )?;
        }
    }
    Ok(())
}

fn head(output: &mut impl Write, replayed: &Replayed) -> io::Result<()> {
    let Replayed { name, trace, size, start, .. } = replayed;
    let origin = trace.header.origin.map_or("origin not stated", link::blocks::Origin::name);
    let bars = trace.header.signal_strength.map(|bars| format!("signal {bars}"));
    let said = [Some(origin.to_owned()), trace.header.category.clone(), bars];
    let about = said.into_iter().flatten().collect::<Vec<_>>().join(", ");
    writeln!(
        output,
        "{name}: {about}, {} blocks of {} in {} ({:.1} min)",
        trace.erased.len(),
        trace.payload,
        trace.period,
        trace.duration().as_secs_f64() / 60.0
    )?;
    let Bursts { count, longest } = trace.bursts();
    let erasures = trace.erasures();
    let percent = trace.block_erasure_rate().get() * 100.0;
    let runs = if count == 1 { "burst" } else { "bursts" };
    let mean = if count > 0 { erasures as f64 / count as f64 } else { 0.0 };
    writeln!(
        output,
        "erased: {erasures} ({percent:.3} %), in {count} {runs} of {mean:.2} on average, {longest} at most"
    )?;
    let from = match start {
        Start::Block(block) => format!("from block {block}"),
        Start::Every => "mean over every start block".to_owned(),
    };
    writeln!(output, "transfer: {size} bytes, {from}")
}

fn frames(replayed: &Replayed) -> Table {
    let best = best_size(replayed);
    let mut table = table(["m", "bytes/s", "retransmissions", "of frames", "gain", ""]);
    for (blocks, frame) in &replayed.sweep.frames {
        let Some(frame) = frame else {
            table.add_row([blocks.to_string(), "0".into(), "no frame comes through".into()]);
            continue;
        };
        let transfer = &frame.transfer;
        table.add_row([
            blocks.to_string(),
            format!("{:.1}", transfer.throughput(&replayed.link)),
            format!("{:.0}", transfer.retransmissions()),
            format!("{:.2} %", 100.0 * transfer.retransmissions() / transfer.sent),
            frame.gain.map_or_else(|| "–".into(), |gain| format!("{:+.1} %", 100.0 * (gain - 1.0))),
            if *blocks == best { "best".into() } else { String::new() },
        ]);
    }
    right(table, 0..=4)
}

fn best(output: &mut impl Write, replayed: &Replayed) -> io::Result<()> {
    let Some(best) = replayed.sweep.best() else {
        return writeln!(output, "nothing ever comes through");
    };
    let blocks = best.transfer.unit.blocks;
    let largest = replayed.sweep.frames.last().is_some_and(|row| row.0 == blocks && blocks > 1);
    if largest {
        writeln!(
            output,
            "The best size is the largest one tried: --frames 1-{} tries larger ones.",
            2 * blocks
        )?;
    }
    Ok(())
}

fn best_size(replayed: &Replayed) -> u32 {
    replayed.sweep.best().map_or(1, |best| best.transfer.unit.blocks)
}

fn packets(replayed: &Replayed) -> Table {
    let best = best_size(replayed);
    let mut table = table([
        "MTU".to_owned(),
        "blocks".to_owned(),
        "alone".to_owned(),
        "link, m = 1".to_owned(),
        format!("link, m = {best}"),
        "blocks sent against m = 1".to_owned(),
        format!("against m = {best}"),
    ]);
    for [single, best] in &replayed.packets {
        let link = &replayed.link;
        let ratio = |ratio: Option<f64>| ratio.map_or_else(|| "–".into(), |ratio| format!("{ratio:.3}"));
        table.add_row([
            single.packets.mtu.to_string(),
            single.packets.mtu.div_ceil(link.octets.get()).to_string(),
            format!("{:.1}", single.end_to_end_throughput(link)),
            format!("{:.1}", single.link_throughput(link)),
            format!("{:.1}", best.link_throughput(link)),
            ratio(single.consumption()),
            ratio(best.consumption()),
        ]);
    }
    right(table, 0..=6)
}

fn table<const COLUMNS: usize>(header: [impl Into<comfy_table::Cell>; COLUMNS]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(header.map(Into::into));
    table
}

fn right(mut table: Table, columns: std::ops::RangeInclusive<usize>) -> Table {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
