//! Waiting. None of these depends on how fast the machine is: of many waits the best one counts.

use super::*;
use crate::control::control;

fn kernel() -> Kernel {
    Kernel::new(&control().expect("a bell").1).expect("descriptors")
}

/// How late each of `count` waits of `span` ended, and into how many calls each fell at most.
fn lateness(kernel: &mut Kernel, span: Span, count: usize) -> (Vec<Span>, usize) {
    let mut most = 0;
    let mut late = Vec::new();
    for _ in 0..count {
        let until = kernel.now() + span;
        let mut calls = 0;
        while kernel.now() < until {
            assert!(kernel.wait(until, &mut Vec::new()).expect("a wait"));
            calls += 1;
        }
        most = most.max(calls);
        late.push(kernel.now() - until);
    }
    late.sort();
    (late, most)
}

/// `epoll_wait` counts in milliseconds: 200 us would take 1 ms each time, and each second wait of a
/// packet would be late by what the first one left of one.
#[test]
fn waits_are_not_rounded_to_milliseconds() {
    let mut kernel = kernel();
    let (late, _) = lateness(&mut kernel, Span::from_micros(200), 200);
    assert!(late[0] < Span::from_micros(600), "{:?}", late[0]);
    let (late, _) = lateness(&mut kernel, Span::from_micros(1500), 50);
    assert!(late[0] < Span::from_micros(400), "{:?}", late[0]);
}

/// The kernel may end a wait of 400 ms by 2 ms late for a process that is nice, by 0.4 ms for
/// another.
#[test]
fn long_waits_are_as_exact_as_short_ones() {
    let (late, calls) = lateness(&mut kernel(), Span::from_millis(400), 3);
    assert!(late[0] < Span::from_micros(350), "{:?}", late[0]);
    // 400 ms, 3 ms, the rest; a signal or a bell would make it more, and there is none.
    assert!(calls <= 4, "{calls} calls");
}

#[test]
fn precise_waits_end_by_spinning() {
    let mut kernel = kernel().precise();
    let (late, _) = lateness(&mut kernel, Span::from_millis(2), 50);
    assert!(late[0] < Span::from_micros(20), "{:?}", late[0]);
}
