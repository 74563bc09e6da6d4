//! Text output of `lasthop analyze`: the words of tcptrace, followed by information that tcptrace
//! does not have.

use capture_analysis::long::{Brief, Elapsed, Long, More, Silences};
use capture_analysis::{Analysis, Connection};
use std::io::{self, Write};
use std::ops::Range;

/// Prints the connections `chosen` of one interface.
pub fn print(
    output: &mut impl Write,
    file: &str,
    analysis: &Analysis,
    chosen: Range<usize>,
    long: bool,
    several: bool,
) -> io::Result<()> {
    if several {
        writeln!(output, "{file}, interface {}:", analysis.title())?;
    }
    let packets = analysis.packets;
    writeln!(output, "{} packets seen, {} TCP packets traced", packets.seen, packets.tcp)?;
    for (count, what) in [
        (packets.later_fragments, "later fragments without a TCP header"),
        (packets.unreadable, "packets with headers damaged or cut off"),
    ] {
        if count > 0 {
            writeln!(output, "{count} {what} left out")?;
        }
    }
    let elapsed = analysis.times.map_or(0, |(first, last)| (last / 1000).saturating_sub(first / 1000));
    writeln!(output, "trace file elapsed time: {}", Elapsed(elapsed))?;
    writeln!(output, "TCP connection info:")?;
    let all = analysis.connections.all();
    if long {
        writeln!(output, "{} TCP connection{} traced:", all.len(), if all.len() == 1 { "" } else { "s" })?;
    }
    let digits = all.len().to_string().len();
    for (place, index) in chosen.enumerate() {
        let connection: &Connection = &all[index];
        let number = index + 1;
        if long {
            if place > 0 {
                writeln!(output, "================================")?;
            }
            write!(output, "{}", Long { connection, number, end: analysis.end(), file })?;
            write!(output, "{}", More(connection))?;
        } else {
            writeln!(output, "{}", Brief { connection, number, digits })?;
        }
        write!(output, "{}", Silences { connection, number })?;
    }
    if several {
        writeln!(output)?;
    }
    Ok(())
}
