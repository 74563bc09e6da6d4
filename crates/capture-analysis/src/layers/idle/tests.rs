use super::*;
use crate::layers::monitor::{End, RLP_PERIOD_NS};

const MS: u64 = 1_000_000;

fn record(ms: u64, sent: bool, event: Event, number: u16) -> Record {
    let octets = if event == Event::Data { 24 } else { 0 };
    Record { time: ms * MS, sent, event, number, octets }
}

/// Frames back to back from `ms` on, with consecutive numbers.
fn frames(ms: u64, count: u64, first: u16) -> impl Iterator<Item = Record> {
    (0..count).map(move |place| record(ms + 20 * place, true, Event::Data, (first + place as u16) % 62))
}

fn of(records: Vec<Record>, from: u64, to: u64) -> Vec<(u64, u64, Option<Hold>)> {
    let end = End { title: String::new(), period_ns: RLP_PERIOD_NS, records };
    gaps(&end, from * MS, to * MS).iter().map(|gap| (gap.from / MS, gap.to / MS, gap.held)).collect()
}

/// LL-15: retransmitted frames are not gaps, nor is a monitor's jitter; time without frames at the
/// beginning and the end is idle.
#[test]
fn ll_15_a_link_that_always_sends_has_no_gap() {
    let mut records: Vec<Record> = frames(0, 10, 0).collect();
    records[5] = record(100, true, Event::Again, 2);
    records[7].time += 6 * MS;
    assert_eq!(of(records.clone(), 0, 200), []);
    assert_eq!(of(records.clone(), 40, 200), []);
    let far = of(records, 0, 260);
    assert_eq!(far, [(200, 260, None)]);
    assert_eq!(of(frames(60, 2, 0).collect(), 0, 100), [(0, 60, None)]);
    assert_eq!(of(vec![], 5, 105), [(5, 105, None)]);
}

/// A frame without user octets does not count.
#[test]
fn frames_without_user_octets_are_idle() {
    let mut records: Vec<Record> = frames(0, 3, 0).collect();
    records[1].octets = 0;
    assert_eq!(of(records, 0, 60), [(20, 40, None)]);
}

/// L 3.2.5: flow control holds the link, as long as there was something to send.
#[test]
fn xoff_holds_a_sender_that_has_something() {
    let stopped = |off: u64, on: u64, next: u64| {
        let mut records: Vec<Record> = frames(0, 5, 0).collect();
        records.extend([record(off, false, Event::XOff, 0), record(on, false, Event::XOn, 0)]);
        records.extend(frames(next, 5, 5));
        of(records, 0, next + 100)
    };
    assert_eq!(stopped(80, 1100, 1100), [(100, 1100, Some(Hold::FlowControl))]);
    assert_eq!(stopped(80, 1100, 1500), [(100, 1100, Some(Hold::FlowControl)), (1100, 1500, None)]);
    assert_eq!(stopped(400, 1100, 1100), [(100, 400, None), (400, 1100, Some(Hold::FlowControl))]);
    assert_eq!(stopped(400, 1100, 1500), [(100, 1500, None)], "flow control kept nothing back");
    let mut open: Vec<Record> = frames(0, 5, 0).collect();
    open.push(record(80, false, Event::XOff, 0));
    assert_eq!(of(open, 0, 900), [(100, 900, Some(Hold::FlowControl))]);
}

/// An XOFF that XON has ended does not hold the next gap.
#[test]
fn a_gap_behind_xon_is_idle() {
    let mut records: Vec<Record> = frames(0, 5, 0).collect();
    records.extend([record(80, false, Event::XOff, 0), record(500, false, Event::XOn, 0)]);
    records.extend(frames(500, 5, 5));
    records.extend(frames(900, 5, 10));
    assert_eq!(of(records, 0, 1000), [(100, 500, Some(Hold::FlowControl)), (600, 900, None)]);
}

/// A frame is retransmitted during XOFF: the gaps before and after it are both due to flow control.
#[test]
fn xoff_lasts_beyond_a_retransmission() {
    let mut records: Vec<Record> = frames(0, 5, 0).collect();
    records.extend([record(80, false, Event::XOff, 0), record(200, true, Event::Again, 3)]);
    records.push(record(500, false, Event::XOn, 0));
    records.extend(frames(500, 2, 5));
    let held = Some(Hold::FlowControl);
    assert_eq!(of(records, 0, 540), [(100, 200, held), (220, 500, held)]);
}

/// 61 frames are outstanding and the oldest was requested again: the window is full. With 60 frames
/// the sender had nothing more to send.
#[test]
fn a_full_window_holds_the_sender() {
    let asked = |count: u64| {
        let mut records: Vec<Record> = frames(0, count, 0).collect();
        records.insert(20, record(390, false, Event::Reject, 0));
        let end = 20 * count;
        records.extend(frames(end + 300, 1, (count % 62) as u16));
        (end, of(records, 0, end + 320))
    };
    let (end, gaps) = asked(61);
    assert_eq!(gaps, [(end, end + 300, Some(Hold::Window))]);
    let (end, gaps) = asked(60);
    assert_eq!(gaps, [(end, end + 300, None)]);
}

#[test]
fn waiting_for_word_of_a_lost_frame_is_recovery_and_a_reset_is_one() {
    let mut records: Vec<Record> = frames(0, 5, 0).collect();
    records.push(record(600, true, Event::Again, 4));
    records.push(record(700, true, Event::Reset, 0));
    records.extend(frames(1000, 2, 0));
    let expected = [(100, 600, Some(Hold::Recovery)), (620, 1000, Some(Hold::Reset))];
    assert_eq!(of(records, 0, 1040), expected);
}
