//! Synthetic loss events, and the states of a sender with these events.

use capture::senders::{Header, INFINITE_SSTHRESH, LossVerdict, Reason, Record, SenderState, Writer};
use capture::{Cause, Tail, Time, WallTime};
use results::{LossEvent, LossKind};
use std::net::SocketAddr;
use std::path::Path;

/// The sender of the download, and the other end.
const ENDS: [([u8; 4], u16); 2] = [([100, 64, 0, 1], 80), ([100, 64, 0, 2], 40_000)];

/// Returns the loss events of a connection in a loss profile: none in `lite-0`. Only `newzag` has
/// verdicts, and counts of the lost segments.
pub fn events(loss: &str, control: &str, repetition: u32) -> Vec<LossEvent> {
    use Cause::{Congestion, Mixed, None, Outage, Wireless};
    use LossKind::{Recovery, Reduction, Timeout};
    let all = [
        (850, Recovery, Wireless, 5, 5, Some(LossVerdict::Wireless)),
        (1_300, Recovery, Congestion, 1, 1, Some(LossVerdict::Congestion)),
        (1_800, Recovery, Wireless, 3, 4, Some(LossVerdict::Congestion)),
        (2_100, Recovery, Mixed, 2, 2, Some(LossVerdict::Congestion)),
        (2_400, Recovery, Outage, 1, 9, Some(LossVerdict::Wireless)),
        (2_800, Recovery, None, 1, 0, Some(LossVerdict::Wireless)),
        (3_200, Timeout, Congestion, 1, 2, Some(LossVerdict::Congestion)),
        (3_500, Reduction, None, 1, 0, Some(LossVerdict::Congestion)),
    ];
    let kept = match loss {
        "lite-0" => 0,
        "lite-2" => 3,
        // The last repetitions are shorter.
        _ => all.len() - (repetition % 3) as usize,
    };
    let event =
        |(at_ms, kind, cause, n, lost, verdict): (u64, LossKind, Cause, u16, u32, Option<LossVerdict>)| {
            let judges = control == "newzag";
            let reason = match kind {
                Recovery => Reason::Detector,
                Timeout => Reason::Timeout,
                Reduction => Reason::Local,
            };
            LossEvent {
                at_ns: at_ms * 1_000_000,
                kind,
                n: (judges && kind == Recovery).then_some(n),
                lost,
                cause,
                verdict: verdict.filter(|_| judges),
                reason: judges.then_some(reason),
                rtt_us: judges.then_some(158_250),
                mean_ns: judges.then_some(164_000_000),
                dev_ns: judges.then_some(9_000_000),
                cwnd: 12,
                ssthresh: Some(if verdict == Some(LossVerdict::Wireless) && judges { 9 } else { 6 }),
            }
        };
    all.into_iter().take(kept).map(event).collect()
}

/// Writes the states of the sender with these events: its window grows to 12 segments before each,
/// and falls to the threshold after it.
pub fn write_senders(path: &Path, started_unix_ns: u64, seed: u64, events: &[LossEvent]) {
    let header = Header {
        schema: capture::senders::SCHEMA,
        lasthop: "0.1.0".into(),
        started: WallTime::from_nanos(started_unix_ns),
        seed,
        source: "synthetic".into(),
        nodes: vec!["server".into()],
    };
    let mut table = Writer::new(std::fs::File::create(path).expect("a file"), header).expect("a table");
    let [local, remote] = ENDS.map(SocketAddr::from);
    let mut row = |at_ns: u64, cwnd: u32, ssthresh: u32| {
        let state = SenderState {
            at: Time::from_nanos(at_ns),
            cwnd,
            ssthresh: Some(ssthresh),
            ..SenderState::nothing_known(local, remote)
        };
        table.add(Record::Row(state)).expect("a row");
    };
    let (mut before, mut threshold) = (200_000_000, INFINITE_SSTHRESH);
    for event in events {
        let from = if threshold == INFINITE_SSTHRESH { 4 } else { threshold };
        for cwnd in from..=event.cwnd {
            let part = u64::from(cwnd - from) * (event.at_ns - before) / u64::from(event.cwnd - from);
            row(before + part, cwnd, threshold);
        }
        (before, threshold) = (event.at_ns + 1_000_000, event.ssthresh.expect("a threshold"));
    }
    row(before, threshold, threshold);
    table.finish(Tail::Complete).expect("a table of senders");
}
