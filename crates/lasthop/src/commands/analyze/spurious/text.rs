//! Text with a line for each retransmission, and totals by cause, by evidence and for the link.

use super::Direction;
use capture_analysis::retransmission::Cause;
use capture_analysis::spurious::response::{Episode, Window};
use capture_analysis::spurious::utilization::Waste;
use capture_analysis::spurious::{Evidence, Examined, Retransmission, SpuriousVerdict};
use std::io::{self, Write};

/// Prints one direction of a connection.
pub fn print(output: &mut impl Write, direction: &Direction<'_>) -> io::Result<()> {
    let examined = &direction.examined;
    let Examined { ends, retransmissions, .. } = examined;
    let count = retransmissions.len();
    let plural = if count == 1 { "" } else { "s" };
    writeln!(
        output,
        "{} -> {}: {count} retransmission{plural} in {} packets",
        ends.from, ends.to, examined.sent.0
    )?;
    writeln!(output, "  sender's side:   {}", examined.sender)?;
    let receiver = examined.receiver.as_deref();
    writeln!(output, "  receiver's side: {}", receiver.unwrap_or("no capture"))?;
    if count > 0 {
        lines(output, direction)?;
        causes(output, examined)?;
        evidence(output, examined)?;
        response(output, &direction.episodes)?;
    }
    for (link, period) in &direction.periods {
        let Some(utilization) = period.utilization() else { continue };
        let percent = |part: u64| 100.0 * part as f64 / period.length_ns as f64;
        let flag = match period.flagged() {
            None => String::new(),
            Some(Waste::Idle) => ", inefficient: idle time".to_owned(),
            Some(Waste::Spurious) => ", inefficient: spurious retransmissions".to_owned(),
        };
        writeln!(
            output,
            "  utilization of {} {} in {:.3} s: {:.1} % (idle {:.1} %, spurious {:.2} %){flag}",
            link.name,
            link.direction,
            period.length_ns as f64 / 1e9,
            100.0 * utilization,
            percent(period.idle_ns),
            percent(period.spurious_ns)
        )?;
    }
    writeln!(output)
}

fn lines(output: &mut impl Write, direction: &Direction<'_>) -> io::Result<()> {
    let Direction { examined, truth, .. } = direction;
    write!(
        output,
        "  {:>12}  {:>10}  {:>5}  {:>5}  {:<10}  {:<9}",
        "time [s]", "number", "bytes", "again", "cause", "verdict"
    )?;
    writeln!(output, "{}  evidence", if truth.is_some() { "  truth    " } else { "" })?;
    for (place, again) in examined.retransmissions.iter().enumerate() {
        let time = again.time.saturating_sub(examined.began) / 1000;
        write!(
            output,
            "  {:>5}.{:06}  {:>10}  {:>5}  {:>5}  {:<10}  {:<9}",
            time / 1_000_000,
            time % 1_000_000,
            again.first,
            again.bytes,
            again.repeated + 1,
            again.cause.name(),
            again.verdict.name()
        )?;
        if let Some(truth) = truth {
            write!(output, "  {:<9}", truth[place].name())?;
        }
        writeln!(output, "  {}", signs(again))?;
    }
    Ok(())
}

/// Lists the evidence that agrees with the verdict, and in brackets the evidence that does not.
fn signs(again: &Retransmission) -> String {
    let said = |evidence: &Evidence| again.signs.of(*evidence) != SpuriousVerdict::Unknown;
    let name = |evidence: Evidence| {
        let agrees = again.signs.of(evidence) == again.verdict;
        if agrees { evidence.name().to_owned() } else { format!("(not {})", evidence.name()) }
    };
    let names: Vec<String> = Evidence::ALL.into_iter().filter(said).map(name).collect();
    if names.is_empty() { "-".to_owned() } else { names.join(", ") }
}

fn causes(output: &mut impl Write, examined: &Examined) -> io::Result<()> {
    writeln!(
        output,
        "  {:<12}{:>10}{:>10}{:>10}{:>16}",
        "cause", "spurious", "necessary", "unknown", "spurious bytes"
    )?;
    let line = |output: &mut dyn Write, name: &str, is: &dyn Fn(&Retransmission) -> bool| {
        let count = |verdict| examined.count(|again| is(again) && again.verdict == verdict);
        let [spurious, necessary, unknown] = SpuriousVerdict::ALL.map(count);
        if spurious.0 + necessary.0 + unknown.0 == 0 {
            return Ok(());
        }
        writeln!(
            output,
            "  {name:<12}{:>10}{:>10}{:>10}{:>16}",
            spurious.0, necessary.0, unknown.0, spurious.1
        )
    };
    for cause in Cause::ALL {
        line(output, cause.name(), &|again| again.cause == cause)?;
    }
    line(output, "all", &|_| true)
}

fn evidence(output: &mut impl Write, examined: &Examined) -> io::Result<()> {
    writeln!(
        output,
        "  {:<12}{:>10}{:>10}{:>10}{:>10}",
        "evidence", "spurious", "necessary", "unknown", "decided"
    )?;
    for evidence in Evidence::ALL {
        let count = |verdict| examined.count(|again| again.signs.of(evidence) == verdict).0;
        let [spurious, necessary, unknown] = SpuriousVerdict::ALL.map(count);
        let decided = examined.count(|again| again.evidence == Some(evidence)).0;
        writeln!(output, "  {:<12}{spurious:>10}{necessary:>10}{unknown:>10}{decided:>10}", evidence.name())?;
    }
    Ok(())
}

fn response(output: &mut impl Write, episodes: &[Episode]) -> io::Result<()> {
    if episodes.is_empty() {
        return Ok(());
    }
    let sum = |part: fn(&Episode) -> (u64, u64)| {
        episodes.iter().map(part).fold((0, 0), |(count, bytes), part| (count + part.0, bytes + part.1))
    };
    let (needless, saved) = (sum(|episode| episode.needless), sum(|episode| episode.saved));
    writeln!(
        output,
        "  {} spurious recover{}: after the first retransmission {} more ({} bytes) were unnecessary; Eifel would have saved {} ({} bytes)",
        episodes.len(),
        if episodes.len() == 1 { "y" } else { "ies" },
        needless.0,
        needless.1,
        saved.0,
        saved.1
    )?;
    for episode in episodes {
        let Some(Window { before, least, end, pipe_prev, ssthresh_end, .. }) = episode.window else {
            continue;
        };
        let or_dash =
            |segments: Option<u32>| segments.map_or("-".to_owned(), |segments| segments.to_string());
        writeln!(
            output,
            "    {:<10} cwnd {before} -> {least} -> {end} at its end, ssthresh then {}; Eifel: ssthresh {}",
            episode.cause.name(),
            or_dash(ssthresh_end),
            or_dash(pipe_prev)
        )?;
    }
    Ok(())
}
