//! The sample is part of a page from Linux 6.18, in which the sender 10.0.0.2 loses a segment.
//! Pointers, socket cookies and process numbers in it were overwritten.

use super::*;
use crate::recorder::tracefs::page::Page;
use capture::senders::{INFINITE_SSTHRESH, LossState};
use proptest::prelude::*;

const PAGE: &[u8] = include_bytes!("../../../../tests/data/loss.trace");

/// Returns the formats of the kernel that the page is from.
fn formats() -> Formats {
    formats_with(include_str!("../../../../tests/data/tcp_probe.format"))
}

/// Returns these formats with another format of `tcp_probe`.
fn formats_with(probe: &str) -> Formats {
    Formats::read(|event| match event {
        "tcp_probe" => Ok(probe.to_owned()),
        "tcp_cong_state_set" => {
            Ok(include_str!("../../../../tests/data/tcp_cong_state_set.format").to_owned())
        }
        "tcp_retransmit_skb" => {
            Ok(include_str!("../../../../tests/data/tcp_retransmit_skb.format").to_owned())
        }
        "tcp_destroy_sock" => Ok(include_str!("../../../../tests/data/tcp_destroy_sock.format").to_owned()),
        other => Err(format!("no {other}")),
    })
    .expect("formats")
}

fn node(address: &str) -> Node {
    Node { name: "server".to_owned(), addresses: vec![address.parse().expect("an address")], cookie: 0 }
}

fn states(page: &[u8], nodes: &[Node]) -> Vec<SenderState> {
    let mut events = Events::new(formats(), nodes);
    Page::new(page).filter_map(|(time, record)| events.take(time, record)).collect()
}

#[test]
fn a_loss_as_the_kernel_tells_it() {
    let states = states(PAGE, &[node("10.0.0.1"), node("10.0.0.2")]);
    // The receiver has nothing outstanding, so segments that reach it give no row.
    assert_eq!(states.len(), 3);
    let before = SenderState {
        at: Time::from_nanos(14_807_993_616_366),
        node: 1,
        local: "10.0.0.2:10000".parse().expect("an address"),
        remote: "10.0.0.1:5001".parse().expect("an address"),
        payload: Some(0),
        snd_una: 2_276_559_503,
        snd_nxt: 2_276_643_295,
        cwnd: 67,
        ssthresh: Some(INFINITE_SSTHRESH),
        srtt_us: Some(32_568),
        rttvar_us: None,
        rto_us: None,
        state: Some(CongestionState::Open),
        snd_wnd: 83_968,
        rcv_wnd: 64_512,
        packets_out: None,
        sacked_out: None,
        lost_out: None,
        retrans_out: None,
        retransmitted: Some(0),
        delivered: None,
        pacing_rate: None,
        loss: None,
    };
    assert_eq!(states[0], before);
    let at = Time::from_nanos(14_807_994_674_535);
    let state = Some(CongestionState::Recovery);
    // Reno halves the window (RFC 5681 section 3.2): 67 to 33.
    let ssthresh = Some(33);
    let after = SenderState {
        at,
        cwnd: 57,
        ssthresh,
        state,
        srtt_us: Some(33_461),
        snd_wnd: 87_040,
        retransmitted: Some(1),
        ..before
    };
    assert_eq!(states[1], after);
}

/// Our patch (`kernel/patches/07`) adds its fields at the end of the event, behind the fields of
/// the page's kernel.
#[test]
fn our_kernel_shows_all_of_a_state() {
    let formats = formats_with(include_str!("../../../../tests/data/tcp_probe-patched.format"));
    let (time, stock) = Page::new(PAGE).next().expect("an event");
    let mut record = stock[..136].to_vec();
    record[..2].copy_from_slice(&formats.probe.id.to_le_bytes());
    record.extend(1_250_000_u64.to_le_bytes());
    // Threshold, variation, timeout; segments outstanding, SACKed, lost, retransmitted;
    // retransmissions in total, delivered.
    let numbers = [30_u32, 4_000, 233_000, 40, 3, 2, 1, 17, 5_000];
    record.extend(numbers.into_iter().flat_map(u32::to_le_bytes));
    // Words of one of our congestion controls, with the mark of newzag.
    record.extend([[0x4c48_0101].as_slice(), &[7; 13]].concat().into_iter().flat_map(u32::to_le_bytes));
    record.extend([3, 0, 0, 0]);
    let node = node("10.0.0.2");
    let mut events = Events::new(formats, std::slice::from_ref(&node));
    let ours = events.take(time, &record).expect("a state");
    let stock = states(PAGE, &[node])[0];
    let expected = SenderState {
        ssthresh: Some(30),
        rttvar_us: Some(4_000),
        rto_us: Some(233_000),
        state: Some(CongestionState::Recovery),
        packets_out: Some(40),
        sacked_out: Some(3),
        lost_out: Some(2),
        retrans_out: Some(1),
        retransmitted: Some(17),
        delivered: Some(5_000),
        pacing_rate: Some(1_250_000),
        loss: LossState::read(&std::array::from_fn(|word| if word == 0 { 0x4c48_0101 } else { 7 })),
        ..stock
    };
    assert!(expected.loss.is_some());
    assert_eq!(ours, expected);
    record[136..144].fill(0xff);
    assert_eq!(events.take(time, &record).expect("a state").pacing_rate, None, "there is none");
}

#[test]
fn connections_of_others_are_left_out() {
    assert!(states(PAGE, &[node("10.0.0.3")]).is_empty());
}

#[test]
fn the_threshold_is_exact_or_left_out() {
    use CongestionState::{Cwr, Disorder, Loss, Open, Recovery};
    // For a threshold of 4 at a window of 10 the kernel shows 7: three quarters of the window,
    // computed in whole segments.
    for state in [Open, Disorder, Loss] {
        assert_eq!(ssthresh(7, 10, state), None);
        assert_eq!(ssthresh(8, 10, state), Some(8));
    }
    for state in [Cwr, Recovery] {
        assert_eq!(ssthresh(4, 10, state), Some(4));
        assert_eq!(ssthresh(7, 10, state), Some(7));
    }
}

#[test]
fn a_connection_that_has_gone_is_forgotten() {
    let mut events = Events::new(formats(), &[node("10.0.0.2")]);
    for (time, record) in Page::new(PAGE) {
        events.take(time, record);
    }
    assert_eq!(events.connections.len(), 1);
    let (_, state_set) = Page::new(PAGE).nth(1).expect("an event");
    let (from, to) = (&formats().state, &formats().destroy);
    let mut gone = vec![0; 80];
    gone[..2].copy_from_slice(&to.id.to_le_bytes());
    for name in ["family", "sport", "dport", "saddr", "daddr", "saddr_v6", "daddr_v6"] {
        let bytes = from.bytes(state_set, name).expect("a field");
        let place = to.bytes(&gone, name).expect("a field").as_ptr().addr() - gone.as_ptr().addr();
        gone[place..place + bytes.len()].copy_from_slice(bytes);
    }
    assert_eq!(events.take(0, &gone), None);
    assert!(events.connections.is_empty());
}

proptest! {
    #[test]
    fn any_record_is_taken(id in 2270..2283_u16, bytes in prop::collection::vec(any::<u8>(), 0..150)) {
        let mut events = Events::new(formats(), &[node("10.0.0.2")]);
        let record = [id.to_le_bytes().as_slice(), &bytes].concat();
        events.take(0, &record);
        events.take(1, &record);
    }

    #[test]
    fn any_byte_of_a_page_may_be_wrong(at in any::<prop::sample::Index>(), byte: u8) {
        let mut page = PAGE.to_vec();
        page[at.index(PAGE.len())] = byte;
        prop_assert!(states(&page, &[node("10.0.0.2")]).len() <= 7);
    }
}
