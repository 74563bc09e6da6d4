//! The files of a recording: traces in CellReplay's formats, profiles, and the list of all packets.

use crate::MILLI;
use crate::fit::{Fitted, WAYS, steady};
use crate::recording::{Probe, Recording};
use link::stage::bottleneck::mahimahi::TUN_HEADER;
use link::stage::cellreplay::OPPORTUNITY;
use link::units::ByteCount;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Returns all files: the name and the text of each. `source` says which link was recorded, and
/// when.
///
/// * `profile.toml`: the fitted profile
/// * `replay.toml`: a profile that replays the traces, with the fitted losses
/// * `up-delay-light-pdo`, `up-heavy-pdo` and those of the downlink: the traces
/// * `probes.csv`: every packet
///
/// A trace that the recording has too few packets for is left out, and then `replay.toml` too.
#[must_use]
pub fn files(recording: &Recording, fitted: &Fitted, source: &str) -> Vec<(String, String)> {
    let mut files = vec![
        ("profile.toml".to_owned(), fitted.to_profile("A recorded link, fitted", source)),
        ("probes.csv".to_owned(), probes(recording)),
    ];
    let mut traces = Vec::new();
    for (place, way) in WAYS.into_iter().enumerate() {
        let loss = fitted.ways[place].losses.counts.share();
        traces.extend(light(recording, place).map(|text| (format!("{way}-delay-light-pdo"), text)));
        traces.extend(heavy(&recording.heavy[place], loss).map(|text| (format!("{way}-heavy-pdo"), text)));
    }
    if traces.len() == 4 {
        files.push((
            "replay.toml".to_owned(),
            replay(fitted, recording.plan.ip_bytes(recording.plan.size), source),
        ));
    }
    files.extend(traces);
    files
}

/// Returns a profile that replays the traces. `bytes` is the length of a large packet.
///
/// A packet begins a train if the one before it has had the time of its transmission: packets
/// closer together would have queued. Without this timer, any flow of evenly spaced packets would
/// find the link idle, however fast it is.
fn replay(fitted: &Fitted, bytes: u64, source: &str) -> String {
    let mut text = fitted.head("A recorded link, replayed", source);
    for (place, found) in fitted.ways.iter().enumerate() {
        let way = WAYS[place];
        let queue = found.queue.map_or("inf".to_owned(), |packets| format!("{packets}p"));
        let timer = found.rate.time_for(ByteCount::new(bytes)).as_nanos().div_ceil(MILLI) + 1;
        let _ = write!(
            text,
            "\n[{way}]\ncellreplay = {{ light = \"{way}-delay-light-pdo\", heavy = \"{way}-heavy-pdo\", \
             timer = \"{timer}ms\", queue = \"{queue}\" }}\n"
        );
        text += &fitted.errors_line(place);
    }
    text
}

/// Returns the base delays and light opportunities of a direction (0 is up): a line for each train
/// whose first packets made a round trip.
fn light(recording: &Recording, place: usize) -> Option<String> {
    let mut trains: BTreeMap<u32, Vec<&Probe>> = BTreeMap::new();
    for probe in &recording.light[place] {
        if let Some((train, _)) = probe.place {
            trains.entry(train).or_default().push(probe);
        }
    }
    let (mut text, mut start, mut lines) = (String::new(), None, 0);
    for trip in recording.round_trips.iter().filter(|trip| !trip.small) {
        let Some(train) = trains.get(&trip.train) else { continue };
        let first = train.iter().find(|probe| probe.place.is_some_and(|place| place.1 == 0));
        let Some(first) = first.and_then(|probe| probe.received) else { continue };
        let time = trip.sent - *start.get_or_insert(trip.sent);
        let _ = write!(text, "{} {}", time / MILLI, trip.time / 2 / MILLI);
        let mut received: Vec<_> = train.iter().filter_map(|probe| probe.received).collect();
        received.sort_unstable();
        for received in received {
            let _ = write!(text, " {}", received.saturating_sub(first) / MILLI);
        }
        text.push('\n');
        lines += 1;
    }
    (lines >= 2).then_some(text)
}

/// Returns the heavy opportunities of a direction: a line for each opportunity's worth of bytes
/// that arrived in the steady part. `loss` is the share of packets that get lost behind the
/// limiter, which the replay loses itself.
fn heavy(probes: &[Probe], loss: f64) -> Option<String> {
    let arrived = steady(probes);
    let start = arrived.first()?.0;
    let (mut text, mut bytes, mut last) = (String::new(), 0.0, 0);
    for (time, length) in &arrived[1..] {
        bytes += (length + TUN_HEADER) as f64 / (1.0 - loss).max(0.01);
        while bytes >= OPPORTUNITY as f64 {
            bytes -= OPPORTUNITY as f64;
            last = (time - start) / MILLI;
            let _ = writeln!(text, "{last}");
        }
    }
    (last > 0).then_some(text)
}

/// Returns all packets as CSV.
fn probes(recording: &Recording) -> String {
    let mut text = "direction,phase,sequence,train,place,bytes,sent_ns,received_ns\n".to_owned();
    for (phase, ways) in [("light", &recording.light), ("heavy", &recording.heavy)] {
        for (way, probes) in WAYS.into_iter().zip(ways) {
            for probe in probes {
                let Probe { sequence, place, bytes, sent, received } = probe;
                let place = place.filter(|_| phase == "light");
                let (train, place) = place.map_or((String::new(), String::new()), |(train, place)| {
                    (train.to_string(), place.to_string())
                });
                let received = received.map_or(String::new(), |received| received.to_string());
                let _ = writeln!(text, "{way},{phase},{sequence},{train},{place},{bytes},{sent},{received}");
            }
        }
    }
    text
}
