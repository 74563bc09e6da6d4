use super::*;
use crate::loss_events::Ends;
use crate::spurious::Signs;
use crate::spurious::flow::{Acknowledgment, Transmission};

const MS: u64 = 1_000_000;

/// A sender's segments (ms, first, end) and acknowledgments (ms, number). At equal times,
/// acknowledgments come first.
pub(crate) fn with(segments: &[(u64, u64, u64)], acks: &[(u64, u64)]) -> Flow {
    let any = "10.0.0.1:1".parse().expect("an address");
    // The position in the capture follows the time.
    let order = |ms: u64, late: u64| ms * 2 + late;
    let transmission = |&(ms, first, end): &(u64, u64, u64)| Transmission {
        order: order(ms, 1),
        time: ms * MS,
        first,
        end,
        length: (end - first) as u32 + 52,
        identification: None,
        stamp: None,
        damaged: false,
        again: None,
    };
    let ack = |&(ms, number): &(u64, u64)| Acknowledgment {
        order: order(ms, 0),
        time: ms * MS,
        number,
        echo: None,
        damaged: false,
        duplicate: false,
        twice: None,
        sacks: Box::default(),
    };
    Flow {
        ends: Ends { from: any, to: any },
        connection: 1,
        began: 0,
        base: (0, true),
        peer_base: (0, true),
        sack: false,
        sampled: None,
        transmissions: segments.iter().map(transmission).collect(),
        acknowledgments: acks.iter().map(ack).collect(),
    }
}

pub(crate) fn transport(flow: &Flow) -> Transport<'_> {
    Transport { flow, retransmissions: &[], receiver_window: None, states: &[] }
}

fn again(at: usize, cause: Cause) -> Retransmission {
    Retransmission {
        at,
        time: 0,
        first: 0,
        bytes: 0,
        length: 0,
        sequence: 0,
        repeated: 0,
        cause,
        signs: Signs::default(),
        verdict: crate::spurious::SpuriousVerdict::Unknown,
        evidence: None,
        answered: None,
        outstanding: 0,
    }
}

fn state(ms: u64, cwnd: u32, in_flight: u32, ssthresh: Option<u32>) -> State {
    State {
        time: ms * MS,
        cwnd,
        ssthresh,
        in_flight: Some(in_flight),
        state: Some(CongestionState::Open),
        srtt_us: None,
        rttvar_us: None,
        rto_us: None,
    }
}

fn waits(transport: &Transport<'_>, from: u64, to: u64) -> Waiting {
    let gap = |held| Gap::new(from * MS, to * MS, held);
    let phases = phases(&[gap(Some(super::super::idle::Hold::Window)), gap(None)], transport);
    assert_eq!(phases.len(), 1, "what is held is not idle");
    phases[0].waiting
}

/// Two segments, the second of which is sent when the first is acknowledged, and one more 500 ms
/// after the last acknowledgment.
fn flow() -> Flow {
    let segments = [(1000, 1, 461), (2000, 461, 921), (2000, 921, 1381), (4000, 1381, 1841)];
    with(&segments, &[(2000, 461), (3000, 921), (3500, 1381)])
}

/// LL-16: each reason, derived from what ended the phase.
#[test]
fn ll_16_what_ends_an_idle_phase_was_waited_for() {
    let flow = flow();
    let plain = transport(&flow);
    assert_eq!(waits(&plain, 100, 1000), Waiting::Handshake);
    assert_eq!(waits(&plain, 1400, 2000), Waiting::SlowStart);
    assert_eq!(waits(&plain, 3100, 4000), Waiting::Application);
    assert_eq!(waits(&plain, 4500, 6000), Waiting::End);
    // One segment of 460 bytes is outstanding, and there is no room for a second one.
    for (window, waiting) in [(919, Waiting::ReceiverWindow), (920, Waiting::SlowStart)] {
        assert_eq!(waits(&Transport { receiver_window: Some(window), ..plain }, 1400, 2000), waiting);
    }
}

/// LL-16: with retransmissions and the sender's states.
#[test]
fn ll_16_timers_and_windows_by_what_is_recorded() {
    let flow = flow();
    let timeout = [again(3, Cause::Timeout)];
    let by_timer = Transport { retransmissions: &timeout, ..transport(&flow) };
    assert_eq!(waits(&by_timer, 3100, 4000), Waiting::Timeout);
    let taken_for_fast = [again(3, Cause::Fast)];
    let by_timer = Transport { retransmissions: &taken_for_fast, ..transport(&flow) };
    assert_eq!(
        waits(&by_timer, 3100, 4000),
        Waiting::Timeout,
        "half a second behind the last acknowledgment"
    );
    let at_once = [again(1, Cause::Timeout)];
    let by_timer = Transport { retransmissions: &at_once, ..transport(&flow) };
    assert_eq!(waits(&by_timer, 1400, 2000), Waiting::Timeout, "whatever came at the same time");
    let fast = [again(0, Cause::Fast)];
    let after_loss = Transport { retransmissions: &fast, ..transport(&flow) };
    assert_eq!(waits(&after_loss, 1400, 2000), Waiting::CongestionWindow);
    let by_state = |state: State| waits(&Transport { states: &[state], ..transport(&flow) }, 1400, 2000);
    assert_eq!(by_state(state(2000, 1, 1, None)), Waiting::SlowStart);
    assert_eq!(by_state(state(2000, 4, 4, Some(4))), Waiting::CongestionWindow);
    assert_eq!(by_state(state(2000, 4, 3, Some(4))), Waiting::Application);
    assert_eq!(by_state(state(1500, 4, 4, Some(4))), Waiting::CongestionWindow, "the last one before");
}
