//! Endings of links: by themselves, by signals, by being killed; and that nothing is left.

mod ground;

use ground::{Caller, Running, pid, until};
use netlab::Registry;
use netlab::process::{ProcessId, descendants};
use rustix::process::Signal;

fn alive(pid: u32) -> bool {
    ProcessId::of(pid).is_some_and(ProcessId::is_alive)
}

fn gone(processes: &[u32]) {
    until(|| {
        let left: Vec<_> = processes.iter().filter(|pid| alive(**pid)).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("processes {left:?}")) }
    });
}

fn keeper(caller: &Caller) -> u32 {
    let runs = Registry::at(caller.state_directory()).and_then(|its| its.list()).expect("a list");
    runs[0].keeper.expect("a keeper").pid
}

#[test]
fn the_exit_status_is_the_programs() {
    need_root!();
    let caller = Caller::new();
    assert_eq!(caller.behind(&["sh", "-c", "exit 3"]).code(), 3);
    assert_eq!(caller.behind(&["true"]).code(), 0);
    assert_eq!(caller.behind(&["sh", "-c", "kill -KILL $$"]).code(), 128 + 9);
    assert_eq!(caller.behind(&["sh", "-c", "kill -TERM $$"]).code(), 128 + 15);
    caller.is_clean();
}

#[test]
fn a_program_that_cannot_be_run_gives_126_or_127_and_says_why() {
    need_root!();
    let caller = Caller::new();
    let missing = caller.behind(&["no-such-program"]);
    assert_eq!((missing.code(), missing.errors.as_str()), (127, NOT_FOUND));
    let directory = caller.behind(&["/etc/hosts"]);
    assert_eq!(directory.code(), 126);
    assert!(directory.errors.contains("/etc/hosts: Permission denied"), "{}", directory.errors);
    caller.is_clean();
}

const NOT_FOUND: &str = "note: no default route here: programs behind the link reach only this network namespace\n\
                         behind: no-such-program: command not found\n";

#[test]
fn the_program_has_the_callers_surroundings() {
    need_root!();
    let caller = Caller::new();
    let state = "ls /proc/self/fd | wc -l; grep -E 'SigBlk|SigIgn|SigCgt' /proc/self/status";
    let script = format!("echo $LASTHOP $LASTHOP_HOST $OWN; pwd; cat; echo to-errors >&2; {state}");
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = caller.command(ground::behind());
    command.args(["sh", "-c", &script]).env("OWN", "mine").current_dir(directory.path());
    let mut child = command.spawn().expect("behind");
    std::io::Write::write_all(child.stdin.as_mut().expect("piped"), b"from-input\n").expect("written");
    let finished = ground::Finished::of(child);
    assert!(finished.errors.contains("to-errors"), "{}", finished.errors);
    let output = finished.succeeded();
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[0], "1 100.64.0.1 mine");
    assert_eq!(lines[1], directory.path().to_str().expect("text"));
    assert_eq!(lines[2], "from-input");
    // The same file descriptors, and the same signals blocked and ignored, as without a link.
    let without =
        ground::Finished::of(caller.command("sh").args(["-c", state]).spawn().expect("sh")).succeeded();
    assert_eq!(lines[3..], without.lines().collect::<Vec<_>>());
}

#[test]
fn what_the_program_leaves_behind_is_ended() {
    need_root!();
    let caller = Caller::new();
    // One that obeys SIGTERM, one that ignores it, and one that has left its parent, session and
    // process group.
    let script = "sleep 600 >/dev/null & echo $!; \
                  sh -c 'trap \"\" TERM; sleep 600' >/dev/null & echo $!; \
                  setsid sh -c 'echo $$; exec sleep 600 >/dev/null' & sleep 0.5";
    let output = caller.behind(&["sh", "-c", script]).succeeded();
    let processes: Vec<u32> = output.lines().map(|line| line.parse().expect("a number")).collect();
    assert_eq!(processes.len(), 3);
    assert!(processes.iter().all(|pid| !alive(*pid)), "all ended before the link did");
    caller.is_clean();
}

#[test]
fn sigterm_is_passed_on_and_the_link_stays_until_the_program_ends() {
    need_root!();
    let caller = Caller::new();
    let mut link =
        caller.start_script(&[], "trap 'echo got; exit 7' TERM; echo ready; while :; do sleep 0.1; done");
    assert_eq!(link.line(), "ready");
    link.signal(Signal::TERM);
    assert_eq!(link.line(), "got");
    assert_eq!(link.finish().code(), 7);
    caller.is_clean();
}

#[test]
fn ctrl_c_is_for_the_program() {
    need_root!();
    let caller = Caller::new();
    // A program that handles it,
    let mut link =
        caller.start_script(&[], "trap 'echo got; exit 9' INT; echo ready; while :; do sleep 0.1; done");
    assert_eq!(link.line(), "ready");
    link.signal_group(Signal::INT);
    assert_eq!(link.line(), "got");
    assert_eq!(link.finish().code(), 9);
    // and one that does not.
    let link = caller.start_script(&[], "exec sleep 600");
    until(|| if name(link.program) == "sleep" { Ok(()) } else { Err(name(link.program)) });
    link.signal_group(Signal::INT);
    assert_eq!(link.finish().code(), 128 + 2);
    caller.is_clean();
}

fn name(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

/// Starts a link with a program, a child and an orphan behind it.
///
/// Returns the pid of each process, that of the keeper last.
fn populated(caller: &Caller) -> (Running, Vec<u32>) {
    let script = "sleep 600 & setsid sh -c 'sleep 600 & sleep 600' & echo ready; cat >/dev/null";
    let mut link = caller.start_script(&["--publish", "8000"], script);
    assert_eq!(link.line(), "ready");
    let keeper = keeper(caller);
    let mut processes = until(|| {
        let below = descendants(keeper);
        if below.len() >= 6 { Ok(below) } else { Err(format!("{below:?}")) }
    });
    processes.push(keeper);
    assert!(!caller.leftovers().is_empty());
    (link, processes)
}

#[test]
fn killing_the_main_process_leaves_nothing() {
    need_root!();
    let caller = Caller::new();
    let (link, processes) = populated(&caller);
    let inside = netlab::state::NamespaceId::of(&link.inside()).expect("an identity");
    let group = group_of(link.program);
    link.signal(Signal::KILL);
    gone(&processes);
    caller.is_clean();
    assert!(inside.find().is_none(), "the namespace is still there");
    assert!(group.is_none_or(|group| !group.exists()), "the control group is still there");
}

/// Returns the directory of a process's v2 control group, if it is one of ours.
fn group_of(pid: u32) -> Option<std::path::PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "))?.split(' ').nth(4)?;
    let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("groups");
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?.to_owned();
    let path = std::path::Path::new(mount).join(group);
    assert!(path.exists());
    path.file_name()?.to_str()?.starts_with("lasthop").then_some(path)
}

#[test]
fn killing_main_and_keeper_leaves_nothing_after_the_next_start() {
    need_root!();
    for next in ["--sweep", "true"] {
        let caller = Caller::new();
        let (link, mut processes) = populated(&caller);
        let group = group_of(link.program);
        let keeper = processes.pop().expect("the keeper");
        rustix::process::kill_process(pid(keeper), Signal::STOP).expect("it runs");
        link.signal(Signal::KILL);
        rustix::process::kill_process(pid(keeper), Signal::KILL).expect("it runs");
        gone(&[link.main(), keeper]);
        assert!(processes.iter().any(|pid| alive(*pid)), "something to sweep");
        let left = caller.leftovers();
        assert!(left.iter().any(|line| line == "lasthop_1"), "a table to sweep: {left:?}");
        assert!(left.iter().any(|line| line == "ip_forward = 1"), "a sysctl to sweep: {left:?}");

        let swept = caller.behind(&[next]);
        assert_eq!(swept.code(), 0, "{swept:?}");
        let said = format!("{}{}", swept.output, swept.errors);
        for what in
            ["killed process", "removed the nftables table lasthop_1", "set net.ipv4.ip_forward back to 0"]
        {
            assert!(said.contains(what), "{what}: {said}");
        }
        gone(&processes);
        caller.is_clean();
        assert!(group.is_none_or(|group| !group.exists()), "the control group is still there");
    }
}

#[test]
fn killing_the_keeper_ends_the_link_and_the_main_process_cleans_up() {
    need_root!();
    let caller = Caller::new();
    let (link, processes) = populated(&caller);
    let keeper = *processes.last().expect("the keeper");
    rustix::process::kill_process(pid(keeper), Signal::KILL).expect("it runs");
    let finished = link.finish();
    assert_eq!(finished.code(), 125);
    assert!(finished.errors.contains("keeper process: killed"), "{}", finished.errors);
    gone(&processes);
    caller.is_clean();
}

#[test]
fn killing_an_outer_link_takes_the_inner_one_along() {
    need_root!();
    let caller = Caller::new();
    let script = format!("exec {} sh -c 'echo $$; cat >/dev/null'", ground::behind().display());
    let mut link = caller.start_script(&[], &script);
    let innermost: u32 = link.line().parse().expect("a number");
    let outer_keeper = keeper(&caller);
    let groups = [group_of(link.program), group_of(innermost)];
    link.signal(Signal::KILL);
    gone(&[innermost, outer_keeper]);
    // The inner run's keeper was killed with the rest; the next start sweeps its files.
    assert_eq!(caller.behind(&["true"]).code(), 0);
    caller.is_clean();
    assert!(groups.iter().flatten().all(|group| !group.exists()), "{groups:?}");
}

/// Both links have id 1, so the second device needs another name. The same happens when an id is
/// free again while the former link's process still has its device open.
#[test]
fn links_of_two_state_directories_share_a_network() {
    need_root!();
    let caller = Caller::new();
    // As on a host that forwards. Otherwise the first link to end would switch this off.
    netlab::sysctl::write(&caller.namespace, "net.ipv4.ip_forward", "1").expect("sysctl");
    let first = caller.start(&[]);
    let others = tempfile::tempdir().expect("a directory");
    let mut second = caller.command(ground::behind());
    second.env("LASTHOP_STATE_DIR", others.path().join("states"));
    second.args(["sh", "-c", &format!("echo $$; {}", ground::WAIT)]);
    let second = ground::Running::of(second.spawn().expect("behind"));
    let left = caller.leftovers();
    for name in ["lasthop-1", "lasthop-1-2", "lasthop_1", "lasthop_1_2"] {
        assert!(left.iter().any(|other| other == name), "{name}: {left:?}");
    }
    assert_eq!(first.finish().code(), 0);
    let left = caller.leftovers();
    assert!(left.iter().any(|name| name == "lasthop_1_2"), "the second link keeps its table: {left:?}");
    assert_eq!(second.finish().code(), 0);
    assert_eq!(caller.leftovers(), ["ip_forward = 1"]);
}

#[test]
fn a_link_that_cannot_be_built_leaves_nothing() {
    need_root!();
    let caller = Caller::new();
    // IPv4 needs 68 bytes: the device refuses, after addresses are claimed and the namespace is
    // created.
    let finished = caller.behind(&["--mtu", "10", "true"]);
    assert_eq!(finished.code(), 125, "{finished:?}");
    caller.is_clean();
    // nft fails, after the keeper has started.
    let empty = tempfile::tempdir().expect("a directory");
    let script = format!(
        "mount --make-rprivate / && mount --bind {0}/nft $(readlink -f $(command -v nft || echo /usr/sbin/nft)) && exec {1} true",
        empty.path().display(),
        ground::behind().display()
    );
    std::fs::write(empty.path().join("nft"), "#!/bin/sh\necho broken >&2; exit 1\n").expect("written");
    std::process::Command::new("chmod").arg("755").arg(empty.path().join("nft")).status().expect("chmod");
    let child = caller.command("unshare").args(["--mount", "sh", "-c", &script]).spawn().expect("unshare");
    let finished = ground::Finished::of(child);
    assert_eq!(finished.code(), 125, "{finished:?}");
    assert!(finished.errors.contains("broken"), "{finished:?}");
    caller.is_clean();
}
