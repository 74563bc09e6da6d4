//! Text output for both layers.

use capture_analysis::layers::Tracing;
use capture_analysis::layers::cause::Waiting;
use capture_analysis::layers::idle::Hold;
use capture_analysis::layers::utilization::Use;
use capture_analysis::layers::view::RATES;
use capture_analysis::spurious::SpuriousVerdict;
use capture_analysis::spurious::utilization::Waste;
use std::io::{self, Write};

/// Prints one direction of a connection. `others` is the number of other directions.
pub fn print(output: &mut impl Write, tracing: &Tracing, others: usize) -> io::Result<()> {
    let examined = &tracing.examined;
    writeln!(output, "{} -> {}, connection {}", examined.ends.from, examined.ends.to, examined.connection)?;
    writeln!(output, "  sender's side:   {}", examined.sender)?;
    writeln!(output, "  receiver's side: {}", examined.receiver.as_deref().unwrap_or("no capture"))?;
    writeln!(output, "  link below:      {}", tracing.below.as_deref().unwrap_or("unknown"))?;
    clocks(output, tracing)?;
    let (count, bytes) = examined.count(|_| true);
    let (spurious, spurious_bytes) = examined.count(|again| again.verdict == SpuriousVerdict::Spurious);
    writeln!(
        output,
        "  {} packets with data ({} bytes), {count} retransmitted ({bytes}), {spurious} of these spurious ({spurious_bytes})",
        examined.sent.0, examined.sent.1
    )?;
    for (label, meaning) in RATES {
        if let Some(line) = tracing.view.regressions.iter().find(|line| line.label == label) {
            let (from, to) = (seconds(line.from_ns), seconds(line.to_ns));
            writeln!(
                output,
                "  {label:<12} {:>10.1} bytes/s  {meaning}, {from:.3} s to {to:.3} s",
                line.slope
            )?;
        }
    }
    if let Some(used) = &tracing.used {
        utilization(output, used)?;
    }
    for note in &tracing.view.notes {
        writeln!(output, "  {note}")?;
    }
    if others > 0 {
        writeln!(
            output,
            "  other directions with data, not shown: {others}; choose a connection with --connection"
        )?;
    }
    Ok(())
}

fn clocks(output: &mut impl Write, tracing: &Tracing) -> io::Result<()> {
    if let Some(clocks) = tracing.clocks {
        return writeln!(
            output,
            "  clocks:          the receiver's clock gains {:.3} us per second; offset known to within {:.3} ms",
            clocks.drift * 1e6,
            clocks.error_ns / 1e6
        );
    }
    match tracing.syn_delay_ns {
        Some(delay) => writeln!(
            output,
            "  time zero:       the SYN at each end, {:.6} s apart by their clocks",
            seconds(delay)
        ),
        None => writeln!(output, "  time zero:       the SYN"),
    }
}

fn utilization(output: &mut impl Write, used: &Use) -> io::Result<()> {
    let period = &used.period;
    let Some(utilization) = period.utilization() else { return Ok(()) };
    let percent = |nanos: u64| 100.0 * nanos as f64 / period.length_ns as f64;
    writeln!(
        output,
        "  utilization:     {:.2} % of {:.3} s (idle {:.2} %, spurious {:.2} %){}",
        100.0 * utilization,
        period.length_ns as f64 / 1e9,
        percent(period.idle_ns),
        percent(period.spurious_ns),
        match flag(used) {
            Some(cause) => format!(", inefficient: {cause}"),
            None => String::new(),
        }
    )?;
    let row = |output: &mut dyn Write, kind: &str, name: &str, (count, nanos): (usize, u64)| {
        if count == 0 {
            return Ok(());
        }
        let (total, share) = (nanos as f64 / 1e9, percent(nanos));
        writeln!(output, "    {kind:<5} {name:<18} {count:>5} times {total:>10.3} s {share:>7.2} %")
    };
    for waiting in Waiting::ALL {
        row(output, "idle", waiting.name(), used.waited(waiting))?;
    }
    for hold in Hold::ALL {
        row(output, "held", hold.name(), used.held(hold))?;
    }
    Ok(())
}

/// Returns the main cause of a low utilization (LL-16), or `None` if the utilization is not low.
pub fn flag(used: &Use) -> Option<String> {
    Some(match used.period.flagged()? {
        Waste::Spurious => "spurious retransmissions".to_owned(),
        Waste::Idle => match used.most_waited() {
            Some(waiting) => format!("idle, {}", waiting.name()),
            None => "idle".to_owned(),
        },
    })
}

fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}
