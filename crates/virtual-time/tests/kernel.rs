//! The kernel that `lasthop kernel build` made keeps what `kernel/README.md` promises: it boots, has what was asked for, the same start
//! gives the same bytes, and the host stays outside.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use virtual_time::kernel::{self, Cache};

/// What runs as init: it prints between two marks, and ends the machine (without `poweroff` by a panic, which ends it too).
const INIT: &str = "\
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tracefs tracefs /sys/kernel/tracing
echo BEGIN
cat /proc/cmdline /proc/cpuinfo /proc/sys/net/ipv4/tcp_available_congestion_control
cat /proc/sys/net/ipv4/tcp_congestion_control /proc/sys/kernel/hostname
od -An -tx1 -N64 /dev/urandom
od -An -tx1 -N64 /proc/self/auxv
date -u
sleep 3600
date -u
ls /sys/kernel/tracing/events/tcp /sys/kernel/tracing/events/sock
echo END
poweroff -f
";

/// What init prints, started with some words more; none if no kernel is built.
fn boot(words: &[&str]) -> Option<String> {
    let Some(kernel) = Cache::of_user().ok().and_then(|cache| kernel::find(&cache)) else {
        println!("skipped: no virtual-time kernel is built (lasthop kernel build)");
        return None;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let init = folder.path().join("init");
    fs::write(&init, INIT).expect("written");
    fs::set_permissions(&init, fs::Permissions::from_mode(0o755)).expect("executable");
    let output = Command::new(kernel.path)
        .env_clear()
        .args(["mem=256M", "time-travel=inf-cpu", "time-travel-start=1000000000000000000", "seccomp=on"])
        .args([
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            "con=null",
            "con0=fd:0,fd:1",
            "umid=test",
        ])
        .arg(format!("uml_dir={}", folder.path().display()))
        .arg(format!("init={}", init.display()))
        .args(words)
        .stdin(Stdio::null())
        .output()
        .expect("the kernel starts");
    let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    let errors = String::from_utf8_lossy(&output.stderr);
    let inner = text.split_once("BEGIN\n").and_then(|(_, rest)| rest.split_once("END\n"));
    let (inner, _) = inner.unwrap_or_else(|| panic!("init did not come to its end:\n{errors}\n{text}"));
    // The path of this start's own folder is the one thing that may differ.
    Some(inner.replace(&folder.path().display().to_string(), "FOLDER"))
}

#[test]
fn the_same_start_gives_the_same_bytes_and_another_seed_others() {
    let Some(first) = boot(&["um_seed=7"]) else { return };
    assert_eq!(Some(&first), boot(&["um_seed=7"]).as_ref());
    let random = |text: &str| {
        let lines = text.lines().filter(|line| line.starts_with(' ') && line.trim().len() == 47);
        lines.take(4).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(random(&first).len(), 4, "{first}");
    let other = boot(&["um_seed=8"]).expect("the kernel is there");
    assert_ne!(random(&first), random(&other));
    // What else is on the command line changes nothing.
    let longer = boot(&["um_seed=7", "results=/somewhere/else"]).expect("the kernel is there");
    assert_eq!(random(&first), random(&longer));
}

#[test]
fn an_hour_of_sleep_passes_on_the_guests_clock() {
    let Some(said) = boot(&["um_seed=7"]) else { return };
    // 1000000000 seconds after the epoch.
    assert!(said.contains("Sep  9 01:46:40 UTC 2001"), "{said}");
    assert!(said.contains("Sep  9 02:46:40 UTC 2001"), "{said}");
}

#[test]
fn what_plans_name_is_there() {
    let Some(said) = boot(&["um_seed=7"]) else { return };
    let algorithms = said.lines().find(|line| line.contains("reno")).unwrap_or_default();
    for name in [
        "bbr",
        "bic",
        "cdg",
        "cubic",
        "dctcp",
        "highspeed",
        "htcp",
        "hybla",
        "illinois",
        "lp",
        "nv",
        "reno",
        "scalable",
        "vegas",
        "veno",
        "westwood",
        "yeah",
    ] {
        assert!(algorithms.split_whitespace().any(|found| found == name), "{name} is not in: {algorithms}");
    }
    assert!(said.lines().any(|line| line == "cubic"), "cubic is not the default: {said}");
    for event in ["tcp_probe", "tcp_retransmit_skb", "tcp_cong_state_set", "inet_sock_set_state"] {
        assert!(said.contains(event), "there is no trace event {event}: {said}");
    }
}

#[test]
fn the_host_and_the_seed_do_not_show() {
    let Some(said) = boot(&["um_seed=7"]) else { return };
    let host = fs::read_to_string("/proc/sys/kernel/osrelease").expect("the host's release");
    assert!(!said.contains(host.trim()), "the host's release {} shows: {said}", host.trim());
    assert!(said.contains("host\t\t: not shown"), "{said}");
    let flags = said.lines().find(|line| line.starts_with("flags")).unwrap_or("flags");
    assert_eq!(flags.trim_end(), "flags\t\t:", "the host's processor shows");
    assert!(!said.contains("um_seed"), "{said}");
    assert!(said.lines().any(|line| line == "lasthop"), "the guest has another name: {said}");
}

#[test]
fn a_seed_that_is_no_number_is_refused() {
    let Some(kernel) = Cache::of_user().ok().and_then(|cache| kernel::find(&cache)) else {
        return println!("skipped: no virtual-time kernel is built (lasthop kernel build)");
    };
    let output =
        Command::new(kernel.path).arg("um_seed=seven").stdin(Stdio::null()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("um_seed=seven is not a number of 64 bits"));
}
