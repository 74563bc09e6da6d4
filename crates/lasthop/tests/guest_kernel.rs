//! Tests that the kernel of `lasthop kernel build` keeps the promises of `kernel/README.md`: it has
//! the requested options, its clock jumps, and the host stays isolated.

mod lab;

use lab::{Lab, text};
use std::process::Command;

/// Returns the output of `line` in a guest with this seed, or `None` after printing the reason if
/// there is no kernel.
fn said(seed: &str, line: &str) -> Option<String> {
    let lab = Lab::with_virtual_clock()?;
    let output = Command::new(env!("CARGO_BIN_EXE_lasthop"))
        .current_dir(lab.folder())
        .args(["link", "--clock", "virtual", "-q", "--seed", seed, "--", "sh", "-c", line])
        .output()
        .expect("lasthop runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    Some(text(&output.stdout))
}

/// The sources of randomness of programs: the kernel's random bytes, those that it gives to each
/// program, and the placement of memory.
const RANDOM: &str = "od -An -tx1 -N64 /dev/urandom; od -An -tx1 -N16 /dev/random; cat /proc/sys/kernel/random/uuid; cat /proc/self/maps";

#[test]
fn the_same_seed_gives_the_same_random_numbers_and_another_one_others() {
    let Some(first) = said("7", RANDOM) else { return };
    assert!(first.lines().count() > 6, "{first}");
    assert_eq!(Some(&first), said("7", RANDOM).as_ref());
    assert_ne!(Some(&first), said("8", RANDOM).as_ref());
}

#[test]
fn an_hour_of_sleep_passes_on_the_guests_clock() {
    let Some(said) = said("7", "date -u +%s; sleep 3600; date -u +%s") else { return };
    let times: Vec<u64> = said.lines().map(|line| line.parse().expect("seconds")).collect();
    let [before, after] = times[..] else { panic!("{said}") };
    assert_eq!(after - before, 3600);
    // 2026-01-01 00:00 UTC, plus the time to boot.
    assert!((1_767_225_600..1_767_225_605).contains(&before), "{before}");
}

#[test]
fn what_plans_name_is_there() {
    let files = "cat /proc/sys/net/ipv4/tcp_available_congestion_control; cat /proc/sys/net/ipv4/tcp_congestion_control; \
                 ls /sys/kernel/tracing/events/tcp /sys/kernel/tracing/events/sock; for q in netem tbf fq fq_codel red sfq; do \
                 ip link add d$q type dummy && tc qdisc add dev d$q root $q $(case $q in tbf) echo rate 1mbit burst 10k latency 10ms;; \
                 red) echo limit 100k avpkt 1000;; esac) && echo has-$q; done";
    let Some(said) = said("7", files) else { return };
    let algorithms = said.lines().next().unwrap_or_default();
    for name in
        "bbr bic cdg cubic dctcp highspeed htcp hybla illinois lp nv reno scalable vegas veno westwood yeah"
            .split(' ')
    {
        assert!(algorithms.split_whitespace().any(|found| found == name), "{name} is not in: {algorithms}");
    }
    assert_eq!(said.lines().nth(1), Some("cubic"), "{said}");
    for event in ["tcp_probe", "tcp_retransmit_skb", "tcp_cong_state_set", "inet_sock_set_state"] {
        assert!(said.contains(event), "there is no trace event {event}: {said}");
    }
    for queue in ["netem", "tbf", "fq", "fq_codel", "red", "sfq"] {
        assert!(said.contains(&format!("has-{queue}\n")), "{queue}: {said}");
    }
}

#[test]
fn the_host_and_the_seed_do_not_show() {
    let Some(said) = said("7654321", "cat /proc/cmdline /proc/cpuinfo; hostname; env") else { return };
    let host = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    for field in ["model name", "flags"] {
        let value =
            host.lines().find_map(|line| line.strip_prefix(field)).and_then(|line| line.split_once(": "));
        if let Some((_, value)) = value {
            assert!(!said.contains(value), "{field} of the host: {said}");
        }
    }
    assert!(!said.contains("um_seed"), "{said}");
    assert!(said.lines().any(|line| line == "lasthop"), "the host's name: {said}");
    assert!(!said.contains("CARGO"), "the caller's environment: {said}");
}
