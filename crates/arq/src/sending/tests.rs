//! Tests of the window alone: numbers, order, and frames that are never sent again.

use super::*;

/// A window of 5 with 8 numbers. It has `count` outstanding frames from number `first` on, each
/// with its position as its content. All earlier frames are acknowledged.
fn window(first: u16, count: u16) -> SendWindow<u16> {
    let mut window = SendWindow::new(Modulus::new(8), 5);
    for body in 0..first {
        let ns = window.send(body);
        window.acknowledge((ns + 1) % 8).expect("it is outstanding");
    }
    for place in 0..count {
        assert_eq!(window.send(place), (first + place) % 8);
    }
    window
}

/// Retransmits until no frame waits for it. Returns N(S) and the number of transmissions of each.
fn sent_again(window: &mut SendWindow<u16>) -> Vec<(u16, u16)> {
    std::iter::from_fn(|| window.send_again().map(|again| (again.ns, again.sent))).collect()
}

/// The oldest frame goes first, also across the end of the numbers. Each transmission is counted.
#[test]
fn the_oldest_is_sent_again_first() {
    let mut window = window(6, 5);
    assert!(window.again(1) && window.again(7), "7 is the second, 1 the fourth");
    assert_eq!(sent_again(&mut window), [(7, 2), (1, 2)]);
    assert!(window.again(7));
    assert_eq!(sent_again(&mut window), [(7, 3)]);
}

/// Frames that the receiver has or that were given up are not retransmitted, whether one or all are
/// requested.
#[test]
fn what_is_held_or_given_up_is_not_sent_again() {
    let mut window = window(6, 5);
    assert!(window.hold(7) && window.give_up(0));
    assert!(!window.hold(7) && !window.give_up(0), "that is not new");
    assert!(!window.again(7) && !window.again(0));
    assert!(!window.has_again());
    window.all_again(6);
    assert_eq!(sent_again(&mut window), [(6, 2), (1, 2), (2, 2)]);
}

/// A frame that the receiver has by now is not retransmitted, though it was requested.
#[test]
fn what_is_held_meanwhile_is_not_sent_again() {
    let mut window = window(0, 3);
    window.all_again(0);
    window.hold(1);
    assert_eq!(sent_again(&mut window), [(0, 2), (2, 2)]);
}

#[test]
fn all_again_begins_where_it_is_told() {
    let mut window = window(6, 4);
    window.all_again(0);
    assert_eq!(sent_again(&mut window), [(0, 2), (1, 2)]);
}

/// Numbers outside the window match no frame.
#[test]
fn frames_that_are_not_outstanding() {
    let mut window = window(6, 3);
    assert!(window.slot(1).is_none() && !window.again(1) && !window.hold(5) && !window.give_up(5));
    assert_eq!(window.acknowledge(2), None, "one beyond V(S)");
    assert_eq!(window.acknowledge(5), None, "one before V(A)");
    assert_eq!((window.oldest(), window.next(), window.outstanding()), (6, 1, 3));
    let bodies = |slots: Vec<Slot<u16>>| slots.into_iter().map(|slot| slot.body).collect::<Vec<_>>();
    assert_eq!(window.acknowledge(6).map(bodies), Some(vec![]));
    assert_eq!(window.acknowledge(0).map(bodies), Some(vec![0, 1]));
    assert_eq!(window.acknowledge(1).map(bodies), Some(vec![2]), "V(S) itself");
}

#[test]
fn the_window_is_as_large_as_it_says() {
    let mut window = window(0, 4);
    assert!(window.is_open());
    window.send(4);
    assert!(!window.is_open());
    window.resize(7);
    assert!(window.is_open(), "six would be outstanding of seven");
    window.resize(8);
    for body in 5..7 {
        window.send(body);
    }
    assert!(!window.is_open(), "a window is smaller than the modulus");
}

/// A reset starts again at 0.
#[test]
fn begins_again() {
    let mut window = window(6, 3);
    assert_eq!(window.clear().len(), 3);
    assert_eq!((window.oldest(), window.outstanding(), window.send(9)), (0, 0, 0));
}

/// N2 is the number of retransmissions, not counting the first transmission.
#[test]
fn persistency_counts_retransmissions() {
    let twice = crate::Persistency { retransmissions: Some(2), then: crate::Then::Reset };
    assert_eq!([1, 2, 3, 4].map(|sent| twice.is_spent(sent)), [false, false, true, true]);
    assert!(!crate::Persistency::FOR_EVER.is_spent(u16::MAX));
}

#[test]
#[should_panic(expected = "a window of 8")]
fn a_window_is_smaller_than_the_modulus() {
    let _ = SendWindow::<u16>::new(Modulus::new(8), 8);
}
