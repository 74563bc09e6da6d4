//! Tests of the window alone: arrivals, passing on, gaps.

use super::*;

/// A window of 5 with 8 numbers. All frames before `next` have been passed on.
fn window(next: u16, order: Order) -> ReceiveWindow<u16, u8> {
    let mut window = ReceiveWindow::new(Modulus::new(8), 5, order);
    for ns in 0..next {
        assert_eq!(window.receive(ns % 8, ns, &mut Vec::new()), Arrival::InSequence(1));
    }
    window
}

fn missing(window: &ReceiveWindow<u16, u8>) -> Vec<u16> {
    window.gaps().map(|(ns, _)| ns).collect()
}

/// Frames wait for those before them, also across the end of the numbers.
#[test]
fn in_sequence() {
    let (mut window, mut out) = (window(6, Order::InSequence), Vec::new());
    assert_eq!(window.receive(7, 70, &mut out), Arrival::Ahead);
    assert_eq!(window.receive(1, 10, &mut out), Arrival::Ahead);
    assert_eq!((missing(&window), window.next(), out.len()), (vec![6, 0], 6, 0));
    assert_eq!(window.receive(7, 71, &mut out), Arrival::Again);
    assert_eq!(window.receive(6, 60, &mut out), Arrival::InSequence(2));
    assert_eq!((missing(&window), window.next(), &out[..]), (vec![0], 0, &[60, 70][..]));
    assert_eq!(window.receive(0, 0, &mut out), Arrival::InSequence(2));
    assert_eq!((missing(&window), window.next(), &out[..]), (vec![], 2, &[60, 70, 0, 10][..]));
}

/// The window has five numbers: 6, 7, 0, 1, 2.
#[test]
fn what_lies_outside_changes_nothing() {
    let (mut window, mut out) = (window(6, Order::InSequence), Vec::new());
    for ns in [3, 4, 5] {
        assert_eq!(window.receive(ns, 9, &mut out), Arrival::Outside);
    }
    assert_eq!((missing(&window), out.len()), (vec![], 0));
    assert_eq!(window.receive(2, 9, &mut out), Arrival::Ahead);
    assert_eq!(missing(&window), [6, 7, 0, 1]);
}

/// The data of a gap stay with it when the window moves.
#[test]
fn gaps_keep_what_is_kept_with_them() {
    let (mut window, mut out) = (window(6, Order::InSequence), Vec::new());
    window.receive(1, 10, &mut out);
    for ((_, gap), value) in window.gaps_mut().zip(1..) {
        *gap = value;
    }
    window.receive(6, 60, &mut out);
    assert_eq!(window.gaps().collect::<Vec<_>>(), [(7, &2), (0, &3)]);
    assert_eq!(window.gaps_mut().map(|(ns, gap)| (ns, *gap)).collect::<Vec<_>>(), [(7, 2), (0, 3)]);
}

/// Skipping a number releases the frames held behind it.
#[test]
fn passing_over() {
    let (mut window, mut out) = (window(6, Order::InSequence), Vec::new());
    window.receive(7, 70, &mut out);
    window.receive(1, 10, &mut out);
    window.skip(&mut out);
    assert_eq!((missing(&window), window.next(), &out[..]), (vec![0], 0, &[70][..]));
    let mut empty = self::window(6, Order::InSequence);
    empty.skip(&mut out);
    assert_eq!((missing(&empty), empty.next()), (vec![], 7));
}

/// Each frame is passed on once, on arrival.
#[test]
fn as_received() {
    let (mut window, mut out) = (window(6, Order::AsReceived), Vec::new());
    assert_eq!(window.receive(0, 0, &mut out), Arrival::Ahead);
    assert_eq!(window.receive(0, 1, &mut out), Arrival::Again);
    assert_eq!(window.receive(6, 60, &mut out), Arrival::InSequence(1));
    assert_eq!(window.receive(7, 70, &mut out), Arrival::InSequence(2));
    assert_eq!((out, window.next()), (vec![0, 60, 70], 1));
}

/// The mask of LLP: bit n is frame V(R)+1+n.
#[test]
fn the_mask_of_what_is_held() {
    let (mut window, mut out) = (window(6, Order::InSequence), Vec::new());
    assert_eq!(window.held(), 0);
    window.receive(7, 70, &mut out);
    window.receive(2, 20, &mut out);
    assert_eq!(window.held(), 0b1001);
}

#[test]
fn begins_again() {
    let (mut window, mut out) = (window(6, Order::InSequence), Vec::new());
    window.receive(0, 0, &mut out);
    window.clear();
    assert_eq!((missing(&window), window.next()), (vec![], 0));
    assert_eq!(window.receive(0, 5, &mut out), Arrival::InSequence(1));
}

#[test]
fn another_window() {
    let (mut window, mut out) = (window(6, Order::InSequence), Vec::new());
    window.resize(1);
    assert_eq!(window.receive(7, 70, &mut out), Arrival::Outside);
    window.resize(8);
    assert_eq!(window.receive(4, 40, &mut out), Arrival::Ahead);
    assert_eq!(window.receive(5, 50, &mut out), Arrival::Outside, "a window is smaller than the modulus");
}
