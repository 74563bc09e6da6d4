//! Replays each trace with the parameters of the command line.

use super::arguments::{Bars, ReplayArguments};
use super::reading;
use crate::failure::Failure;
use link::blocks::BlockTrace;
use retracer::{Channel, Comparison, Link, Packets, Start, Sweep, compare, covering_size, sweep};

/// Results of one trace.
pub struct Replayed {
    /// Name of the trace in the output.
    pub name: String,
    /// The trace.
    pub trace: BlockTrace,
    /// The link on which the trace was recorded.
    pub link: Link,
    /// Size of the transfer, in bytes.
    pub size: u64,
    /// Block at which the transfer started.
    pub start: Start,
    /// Results for frames of every size.
    pub sweep: Sweep,
    /// Results for packets of every size, compared with frames of one block and with the best
    /// frames.
    pub packets: Vec<[Comparison; 2]>,
}

/// Replays every requested trace, in order.
pub fn all(arguments: &ReplayArguments) -> Result<Vec<Replayed>, Failure> {
    let mut traces = Vec::new();
    for path in &arguments.traces {
        let trace = reading::blocks(path, arguments.block)?;
        traces.push((path.display().to_string(), trace));
    }
    if let Some(wanted) = arguments.signal {
        traces = of_signal(traces, wanted)?;
    }
    if arguments.concatenate {
        traces = vec![one(traces)?];
    }
    let mut replayed = Vec::new();
    for (name, trace) in traces {
        let even = arguments.even.then(|| retracer::even::of_trace(&trace, &name));
        replayed.push(replay(arguments, name.clone(), trace)?);
        if let Some(even) = even {
            replayed.push(replay(arguments, format!("{name}, even"), even)?);
        }
    }
    Ok(replayed)
}

/// Returns the traces with a signal strength in this range (LL-35). A trace without a stated signal
/// strength is left out.
fn of_signal(traces: Vec<(String, BlockTrace)>, wanted: Bars) -> Result<Vec<(String, BlockTrace)>, Failure> {
    let Bars(least, most) = wanted;
    let all = traces.len();
    let within = |(_, trace): &(String, BlockTrace)| {
        trace.header.signal_strength.is_some_and(|signal| least <= signal.least && signal.most <= most)
    };
    let left: Vec<_> = traces.into_iter().filter(within).collect();
    if left.is_empty() {
        return Err(format!(
            "--signal: none of {all} traces states a signal strength within {least}-{most} in its header"
        )
        .into());
    }
    if left.len() < all {
        anstream::eprintln!("lasthop: {} of {all} traces left out by --signal", all - left.len());
    }
    Ok(left)
}

/// Joins all traces into one, with the header of the first.
fn one(traces: Vec<(String, BlockTrace)>) -> Result<(String, BlockTrace), Failure> {
    let mut traces = traces.into_iter();
    let (mut name, mut whole) = traces.next().ok_or("there is no trace")?;
    for (next, trace) in traces {
        if (trace.period, trace.payload) != (whole.period, whole.payload) {
            return Err(format!(
                "{next} has blocks of {} in {}, but the traces before it have blocks of {} in {}: they cannot be joined",
                trace.payload, trace.period, whole.payload, whole.period
            )
            .into());
        }
        if trace.header.origin != whole.header.origin {
            whole.header.origin = None;
        }
        whole.erased.extend(trace.erased);
        name = format!("{name} + {next}");
    }
    Ok((name, whole))
}

fn replay(arguments: &ReplayArguments, name: String, trace: BlockTrace) -> Result<Replayed, Failure> {
    let said = |error: retracer::RetraceError| format!("{name}: {error}");
    let channel = Channel::new(&trace.erased).map_err(said)?;
    let link = Link::of(&trace, arguments.overhead);
    let size = arguments.size.map_or_else(|| covering_size(&channel, &link), link::units::ByteCount::get);
    let start = arguments.start;
    let frames = arguments.frames.0.iter().copied();
    let sweep = sweep(&channel, &link, size, start, frames).map_err(said)?;
    let best = sweep.best().map_or(1, |best| best.transfer.unit.blocks);
    let mut packets = Vec::new();
    for &mtu in &arguments.mtu {
        let of = Packets { mtu: mtu.into(), headers: arguments.headers.into() };
        let with = |frame| compare(&channel, &link, size, start, of, frame);
        packets.push([with(1).map_err(said)?, with(best).map_err(said)?]);
    }
    Ok(Replayed { name, trace, link, size, start, sweep, packets })
}
