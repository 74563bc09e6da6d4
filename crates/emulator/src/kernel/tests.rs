//! Tests of waiting. None depends on the speed of the machine: the best of many waits counts.

use super::*;
use crate::control::control;

fn kernel() -> Kernel {
    Kernel::new(&control().expect("a bell").1).expect("descriptors")
}

/// Returns how late each of `count` waits of `span` ended, and the maximum number of calls of a
/// wait.
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

/// `epoll_wait` counts in milliseconds: 200 us would take 1 ms each time. The second wait for a
/// packet would be late by the rest of the millisecond of the first.
#[test]
fn waits_are_not_rounded_to_milliseconds() {
    let mut kernel = kernel();
    let (late, _) = lateness(&mut kernel, Span::from_micros(200), 200);
    assert!(late[0] < Span::from_micros(600), "{:?}", late[0]);
    let (late, _) = lateness(&mut kernel, Span::from_micros(1500), 50);
    assert!(late[0] < Span::from_micros(400), "{:?}", late[0]);
}

/// The kernel may end a wait of 400 ms late by 2 ms for a nice process, and by 0.4 ms for others.
#[test]
fn long_waits_are_as_exact_as_short_ones() {
    let (late, calls) = lateness(&mut kernel(), Span::from_millis(400), 3);
    assert!(late[0] < Span::from_micros(350), "{:?}", late[0]);
    // 400 ms, 3 ms, the rest. A signal or a bell would add calls, but there is none.
    assert!(calls <= 4, "{calls} calls");
}

#[test]
fn precise_waits_end_by_spinning() {
    let mut kernel = kernel().precise();
    // Beside busy processes, all of 50 waits were late by 24 us and more, so others follow.
    let exact = Span::from_micros(20);
    let is_exact = (0..40).any(|_| lateness(&mut kernel, Span::from_millis(2), 50).0[0] < exact);
    assert!(is_exact, "none of 2000 waits");
}

/// A wait that is shorter than [`SPIN`] gives the processor away only if it is not precise.
#[test]
fn short_precise_waits_do_not_sleep() {
    let sleeps = |mut kernel: Kernel| {
        // The first wait sets the thread's timer slack.
        lateness(&mut kernel, SPIN, 1);
        let before = voluntary_switches();
        lateness(&mut kernel, Span::from_nanos(SPIN.as_nanos() / 2), 200);
        voluntary_switches() - before
    };
    assert_eq!(sleeps(kernel().precise()), 0);
    assert!(sleeps(kernel()) > 0);
}

/// Returns how often this thread has given the processor away (proc(5)).
fn voluntary_switches() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("proc");
    let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    count.and_then(|count| count.trim().parse().ok()).expect("a number")
}
