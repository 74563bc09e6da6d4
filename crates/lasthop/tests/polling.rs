//! Tests of polling programs with the virtual clock: each call that does not wait takes time, so
//! every loop ends (issue: D1).
//!
//! These tests need the kernel (`lasthop kernel build`, which `make test` does once) and are
//! skipped without it.

mod lab;

use lab::{Lab, text};

/// Returns the output of `script`, a Python program, in a guest.
fn python(lab: &Lab, script: &str) -> String {
    let output = lab
        .lasthop(&["link", "--quiet", "--clock", "virtual", "--seed", "1", "--", "python3", "-c", script])
        .output()
        .expect("lasthop runs");
    assert!(output.status.success(), "{script}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Returns a program that repeats `call` until `seconds` have passed by the monotonic clock, which
/// the vDSO reads. It prints the number of calls, and by how much the clock exceeded the end.
fn until(setup: &str, call: &str, seconds: f64) -> String {
    format!(
        "import os, select, socket, time\n{setup}\nend = time.monotonic() + {seconds}\ncount = 0\n\
         while time.monotonic() < end:\n    {call}\n    count += 1\nprint(count, time.monotonic() - end)"
    )
}

/// A loop of any polling call takes less than a million turns for a second, which is some seconds
/// of the host's time. With 250 ns for each call it would be four million, and it was up to thirty
/// million.
#[test]
fn every_loop_ends() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let pair = "one, other = socket.socketpair()\none.setblocking(False)\npoll = select.poll()\npoll.register(one, select.POLLIN)";
    for call in [
        "poll.poll(0)",
        "select.select([one], [], [], 0)",
        "select.select([], [one], [], 0)",
        "os.sched_yield()",
        "os.times()",
        "os.path.exists('/nowhere')",
    ] {
        let said = python(&lab, &until(pair, call, 1.0));
        let (count, beyond) = said.trim().split_once(' ').expect("two numbers");
        let (count, beyond): (u64, f64) = (count.parse().expect("a count"), beyond.parse().expect("seconds"));
        println!("{call}: {count} calls for a second, {:.1} us beyond the end", beyond * 1e6);
        assert!((100_000..1_000_000).contains(&count), "{call}: {count}");
        assert!(beyond < 1e-3, "{call}: the clock goes in steps of {beyond} s");
    }
}

/// A program that works and then waits pays nothing: a thousand calls between two waits are free.
#[test]
fn calls_of_a_program_that_waits_are_free() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let script = "import os, time\nfile = os.open('/dev/null', os.O_WRONLY)\nspent = 0\nfor turn in range(50):\n    \
                  time.sleep(0.001)\n    begin = time.monotonic_ns()\n    for call in range(900):\n        os.write(file, b'x')\n    \
                  spent = max(spent, time.monotonic_ns() - begin)\nprint(spent)";
    let spent: u64 = python(&lab, script).trim().parse().expect("nanoseconds");
    assert!(spent < 100, "{spent} ns for 900 calls: the clock was read twice");
}

/// A polling program does not keep others from the processor: on a host it would have its own.
#[test]
fn who_polls_delays_nobody() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let script = "import os, time, threading\ndone = False\n\
                  child = os.fork()\n\
                  if child == 0:\n    while os.getppid() != 1: os.sched_yield()\n    os._exit(0)\n\
                  late = 0\n\
                  for turn in range(200):\n    due = time.monotonic_ns() + 1_000_000\n    time.sleep(0.001)\n    \
                  late = max(late, time.monotonic_ns() - due)\n\
                  os.kill(child, 9)\nprint(late)";
    let late: u64 = python(&lab, script).trim().parse().expect("nanoseconds");
    assert!(late < 20_000, "a wait of 1 ms ended {late} ns late beside a program that polls");
}

/// Waits end exactly on time, without the 50 us by which Linux allows them to be late.
#[test]
fn waits_are_exact() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let script = "import time\ntime.sleep(0.1)\nlate = 0\nfor turn in range(20):\n    begin = time.monotonic_ns()\n    \
                  time.sleep(0.0123)\n    late = max(late, time.monotonic_ns() - begin - 12_300_000)\nprint(late)";
    let late: i64 = python(&lab, script).trim().parse().expect("nanoseconds");
    assert!((0..1000).contains(&late), "{late} ns");
}
