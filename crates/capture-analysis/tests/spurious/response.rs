//! What the Eifel response would have saved (RFC 4015), without and with the sender's states.

use super::conversation::{ack, data, examined, handshake, interfaces, stamped};
use capture_analysis::retransmission::Cause;
use capture_analysis::spurious::response::episodes;
use capture_analysis::spurious::states::State;
use capture_analysis::spurious::{SpuriousVerdict, examine, pair};

/// LL-27, L 4.x: a delay longer than the timeout. The timer backs off once, then everything is
/// retransmitted as the originals' acknowledgments arrive.
fn go_back_n() -> Vec<super::conversation::Packet> {
    let mut packets = handshake(true);
    packets.extend((0..4).map(|n| stamped(data(100 + u64::from(n), 1001 + n * 100, 100), 100 + n, 1)));
    packets.extend([500, 1100].map(|at| stamped(data(at, 1001, 100), at as u32, 1)));
    packets.push(stamped(ack(1300, 1101), 2, 100));
    packets.extend([1, 2].map(|n| stamped(data(1301, 1001 + n * 100, 100), 1301, 2)));
    packets.push(stamped(ack(1302, 1201), 3, 101));
    packets.push(stamped(ack(1303, 1301), 4, 102));
    packets.push(stamped(data(1304, 1301, 100), 1304, 4));
    packets.push(stamped(ack(1305, 1401), 5, 103));
    packets
}

/// LL-34, RFC 4015: the response saves what go-back-N sends after the acknowledgment that reveals
/// it.
#[test]
fn what_is_sent_behind_the_first_acknowledgment_would_have_been_saved() {
    let examined = examined(&[go_back_n()]);
    assert_eq!(examined.retransmissions.len(), 5);
    let episodes = episodes(&examined, None);
    let [episode] = &episodes[..] else { panic!("one episode: {episodes:?}") };
    assert_eq!(episode.cause, Cause::Timeout);
    // 100 bytes of data, 20 of IP, 20 of TCP and 12 of time stamps.
    assert_eq!((episode.needless, episode.saved), ((4, 4 * 152), (3, 3 * 152)));
    assert_eq!(episode.known, Some(1_001_300_000_000));
    assert_eq!(episode.window, None);
}

/// LL-34: a timeout whose acknowledgment echoes the retransmission repaired a loss and is not an
/// episode; one whose acknowledgment echoes the original is.
#[test]
fn ll_34_a_genuine_loss_is_no_spurious_timeout() {
    let mut packets = handshake(true);
    packets.push(stamped(data(100, 1001, 100), 100, 1));
    packets.push(stamped(data(500, 1001, 100), 500, 1));
    packets.push(stamped(ack(540, 1101), 2, 500));
    let lost = examined(&[packets.clone()]);
    assert_eq!(lost.retransmissions[0].verdict, SpuriousVerdict::Necessary);
    assert!(episodes(&lost, None).is_empty());
    // Here the acknowledgment was late, and echoes the original.
    packets[5] = stamped(ack(540, 1101), 2, 100);
    assert_eq!(episodes(&examined(&[packets]), None).len(), 1);
}

#[test]
fn the_window_in_an_episode_is_that_of_the_senders_states() {
    use capture::senders::CongestionState::{Loss, Open};
    let row = |at_ms: u64, cwnd, ssthresh, in_flight, state| State {
        time: (1_000_000 + at_ms) * 1_000_000,
        cwnd,
        ssthresh,
        in_flight: Some(in_flight),
        state: Some(state),
        srtt_us: None,
        rttvar_us: None,
        rto_us: None,
    };
    let rows = [
        row(40, 12, None, 4, Open),
        row(1300, 1, Some(6), 1, Loss),
        row(1302, 2, Some(6), 3, Loss),
        row(1305, 3, Some(6), 1, Loss),
        row(1400, 4, Some(6), 1, Open),
    ];
    let interfaces = interfaces(&[go_back_n()]);
    let sides = pair(&interfaces);
    let examined = examine(&sides[0], Some(&rows));
    let window = episodes(&examined, Some(&rows))[0].window.expect("states are there");
    assert_eq!((window.before, window.least, window.end), (12, 1, 4));
    assert_eq!((window.ssthresh_before, window.ssthresh_end, window.pipe_prev), (None, Some(6), Some(4)));
    assert!(examined.retransmissions.iter().all(|again| again.cause == Cause::Timeout));
}
