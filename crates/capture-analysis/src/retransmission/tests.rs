//! Retransmissions by timer, probe or RACK, distinguished by their times. Times are in
//! milliseconds; the round-trip time is 100, and the timer 300.

use super::*;

const MS: u64 = 1_000_000;
const SEGMENT: u64 = 1000;

/// The oldest of five segments is retransmitted at `now`. All were sent at 1000, the last
/// acknowledgment came at the same time, and SACK reported nothing.
fn oldest_of_five(now: u64) -> Moment {
    Moment {
        time: now * MS,
        first: 0,
        end: SEGMENT,
        before: Some((1000 * MS, 0)),
        oldest: Some(0),
        highest: 5 * SEGMENT,
        acknowledged: Some(0),
        acknowledged_at: 1000 * MS,
        duplicates: 0,
        selectively: 0,
        sacked: 0,
        told_at: 0,
        permits_sack: true,
        segment: SEGMENT,
        timeout: 300 * MS,
        round_trip: Some(100 * MS),
        timestamp: None,
    }
}

/// The same for a segment that is alone in flight.
fn alone(now: u64) -> Moment {
    Moment { highest: SEGMENT, ..oldest_of_five(now) }
}

fn causes(moments: &[Moment]) -> (Vec<Cause>, u64) {
    let mut follower = Follower::default();
    let causes = moments.iter().map(|moment| follower.sent_again(moment)).collect();
    (causes, follower.counts.timeouts)
}

#[test]
fn the_timer_runs_out_after_silence() {
    assert_eq!(causes(&[oldest_of_five(1270)]), (vec![Cause::Timeout], 1));
    assert_eq!(causes(&[oldest_of_five(1260)]), (vec![Cause::Unknown], 0));
}

/// RFC 8985: after 347 ms, a tail probe causes a SACK of the newest segment, and the oldest is
/// retransmitted at once. This is not a timeout, although the timer was about to expire.
#[test]
fn what_answers_a_sack_is_racks_however_late() {
    let told = |told_at: u64, now| Moment {
        selectively: 5 * SEGMENT,
        sacked: SEGMENT,
        told_at: told_at * MS,
        ..oldest_of_five(now)
    };
    assert_eq!(causes(&[told(1347, 1347)]), (vec![Cause::Rack], 0));
    assert_eq!(causes(&[told(1100, 1369)]), (vec![Cause::Rack], 0));
    assert_eq!(causes(&[told(1100, 1370)]), (vec![Cause::Timeout], 1));
}

/// A SACK of data below this segment does not restart its timer.
#[test]
fn news_of_what_lies_below_begins_no_timer_anew() {
    let below = Moment { selectively: SEGMENT - 1, told_at: 1299 * MS, ..oldest_of_five(1300) };
    assert_eq!(causes(&[below]), (vec![Cause::Timeout], 1));
}

/// RFC 8985 section 7.2: with one segment in flight the probe is due after 400 ms, or when the
/// timer would expire if that is earlier. The timer follows.
#[test]
fn of_a_segment_alone_the_first_is_the_probe_and_the_second_the_timers() {
    let again = Moment { before: Some((1300 * MS, 1)), ..alone(1600) };
    assert_eq!(causes(&[alone(1300), again]), (vec![Cause::TailProbe, Cause::Timeout], 1));
    // After the probe is due, or without SACK, the first retransmission is the timer's.
    assert_eq!(causes(&[alone(1331)]), (vec![Cause::Timeout], 1));
    let without_sack = Moment { permits_sack: false, ..alone(1300) };
    assert_eq!(causes(&[without_sack]), (vec![Cause::Timeout], 1));
    // A SYN has no round-trip time before it, so no probe.
    assert_eq!(causes(&[Moment { round_trip: None, ..alone(1300) }]), (vec![Cause::Timeout], 1));
}

/// After a tail probe Linux uses the time since the oldest segment was sent (600 ms here), not
/// since the last acknowledgment (50 ms).
#[test]
fn without_signal_or_recovery_the_time_since_it_was_sent_is_enough() {
    let acknowledged = |at: u64, now| Moment { acknowledged_at: at * MS, ..oldest_of_five(now) };
    assert_eq!(causes(&[acknowledged(1550, 1600)]), (vec![Cause::Timeout], 1));
    // Retransmissions of the go-back-N at later acknowledgments are no further timeouts.
    let next = Moment {
        first: SEGMENT,
        end: 2 * SEGMENT,
        oldest: Some(SEGMENT),
        acknowledged: Some(SEGMENT),
        ..acknowledged(1700, 1700)
    };
    assert_eq!(causes(&[acknowledged(1550, 1600), next]), (vec![Cause::Timeout, Cause::Timeout], 1));
}
