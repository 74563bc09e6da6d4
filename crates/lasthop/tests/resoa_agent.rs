//! Tests of `lasthop resoa agent`, with a server of this command.
#![expect(unsafe_code, reason = "unshare is in no safe library")]

use resoa_calls::{Agent, Connected, Request, Response, Status};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

fn lasthop(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    command.arg("resoa").args(arguments).current_dir(folder).env_remove("LASTHOP_RESOA");
    command
}

fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr].concat();
    format!("{}status {}", String::from_utf8_lossy(&text), output.status.code().expect("it ends by itself"))
}

/// A process that ends with the test that started it, however the test ends.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Self {
        Self(command.spawn().expect("runs"))
    }

    fn end(mut self) -> Option<i32> {
        let pid = Pid::from_raw(self.0.id().cast_signed()).expect("a process");
        kill_process(pid, Signal::TERM).expect("it is ours");
        self.0.wait().expect("it ends").code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The help text.
#[test]
fn help() {
    let output = lasthop(Path::new("."), &["agent", "--help"]).output().expect("runs");
    insta::assert_snapshot!("help_resoa_agent", said(&output));
}

/// C01: messages tell why there is no agent, and what to do.
#[test]
fn what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("open.key"), "secret").expect("room");
    fs::set_permissions(at.join("open.key"), fs::Permissions::from_mode(0o644)).expect("it is ours");
    let server = ["agent", "--server", "plain:127.0.0.1:4000"];
    let cases: [&[&str]; 9] = [
        &["agent"],
        &["agent", "--server", "192.0.2.1:4000"],
        &["agent", "--server", "server.example:4000"],
        &["agent", "--server", "plain:127.0.0.1:4000", "--key", "open.key"],
        &["agent", "--server", "plain:127.0.0.1:4000", "--server-key", "abc"],
        &["agent", "--server", "plain:127.0.0.1:4000", "--listen", "nowhere/agent"],
        &["agent", "--server", "plain:127.0.0.1:4000", "--address", "mine"],
        &["agent", "--server", "plain:127.0.0.1:4000", "--local", "nas"],
        &["agent", "--server", "plain:127.0.0.1:4000", "--local-name", "nas"],
    ];
    let mut all: Vec<String> = cases
        .iter()
        .map(|case| {
            let output = lasthop(at, case).output().expect("runs");
            format!("$ lasthop resoa {}\n{}", case.join(" "), said(&output))
        })
        .collect();
    let mut first = Running::start(lasthop(at, &server).args(["--listen", "agent"]).stderr(Stdio::piped()));
    let mut line = String::new();
    BufReader::new(first.0.stderr.take().expect("a pipe")).read_line(&mut line).expect("it says something");
    let output = lasthop(at, &server).args(["--listen", "agent"]).output().expect("runs");
    all.push(format!("$ lasthop resoa {} --listen agent (again)\n{}", server.join(" "), said(&output)));
    assert_eq!(first.end(), Some(0), "{line}");
    insta::assert_snapshot!("resoa_agent_refused", all.join("\n\n"));
}

const SERVE: [&str; 5] = ["serve", "--listen", "plain:127.0.0.1:0", "--status", "status"];

/// Starts a server, and returns it with its address.
fn server(mut command: Command) -> (Running, String) {
    let mut server = Running::start(command.stderr(Stdio::piped()));
    let mut said = Vec::new();
    for line in BufReader::new(server.0.stderr.take().expect("a pipe")).lines().map_while(Result::ok) {
        if let Some((place, _)) = line.split_once("listening at ").and_then(|(_, rest)| rest.split_once(','))
        {
            return (server, place.to_owned());
        }
        said.push(line);
    }
    panic!("it never says where it listens, but {said:#?}")
}

/// Starts an agent and waits until it has registered.
fn registered(mut command: Command) -> Running {
    let mut agent = Running::start(command.stdout(Stdio::piped()));
    let mut line = String::new();
    BufReader::new(agent.0.stdout.take().expect("a pipe")).read_line(&mut line).expect("it says something");
    assert_eq!(line, "registered\n");
    agent
}

/// Checks that the agent at this path answers this process.
fn answers(path: &Path) {
    match Agent::at(path).call(&Request::Status, None) {
        Ok((Response::Status(Status { connected: Connected::Yes { .. }, open: 0, .. }), None)) => {}
        other => panic!("{other:?}"),
    }
}

/// Starts a command as the first process of a PID namespace of its own. (A process started by
/// unshare(1) would be left behind, because it is a grandchild.)
fn inside<T: Send + 'static>(command: Command, start: fn(Command) -> T) -> T {
    let thread = thread::spawn(move || {
        // SAFETY: it affects only the children of this thread.
        unsafe { unshare_unsafe(UnshareFlags::NEWPID) }.expect("root may");
        start(command)
    });
    thread.join().expect("it starts")
}

/// As in a container that a shell outside has started: the session leader and the callers of the
/// agent have no PIDs in their namespace.
#[test]
fn in_a_namespace_of_processes() {
    if !rustix::process::geteuid().is_root() {
        skip::skip!("only root makes a namespace of processes");
        return;
    }
    let (folder, servers) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let (_server, place) = inside(lasthop(servers.path(), &SERVE), server);
    let path = folder.path().join("agent");
    let agent = ["agent", "--server", &place, "--listen", "agent", "--ready"];
    let _agent = inside(lasthop(folder.path(), &agent), registered);
    answers(&path);
}

/// C06, C08: the agent registers, reports that, answers, and ends its registration when told to
/// end. Its sockets stay, because removing them requires the right to remove the files beside them;
/// the next agent replaces them.
#[test]
fn registers_and_ends() {
    let (folder, servers) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let at = folder.path();
    let (server, place) = server(lasthop(servers.path(), &SERVE));
    for _ in 0..2 {
        let agent = registered(lasthop(at, &["agent", "--server", &place, "--listen", "agent", "--ready"]));
        let path = at.join("agent");
        assert_eq!(fs::metadata(&path).expect("a socket").permissions().mode() & 0o777, 0o600);
        answers(&path);
        assert_eq!(agent.end(), Some(0));
        let mut left: Vec<_> =
            fs::read_dir(at).expect("a folder").map(|left| left.expect("a name").file_name()).collect();
        left.sort();
        assert_eq!(left, ["agent", "agent.pairs"]);
    }
    assert_eq!(server.end(), Some(0));
}

/// C34: an agent raises its file descriptor limit to the maximum. When calls have used up all
/// descriptors, it accepts other calls after some have ended.
#[test]
fn as_many_descriptors_as_there_may_be() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let script =
        "ulimit -Sn 20; ulimit -Hn 48; exec \"$0\" resoa agent --server plain:127.0.0.1:1 --listen agent";
    let mut agent = Running::start(
        Command::new("sh")
            .args(["-c", script, env!("CARGO_BIN_EXE_lasthop")])
            .current_dir(at)
            .stderr(Stdio::piped()),
    );
    let mut said = BufReader::new(agent.0.stderr.take().expect("a pipe"));
    said.read_line(&mut String::new()).expect("it says that it listens");
    let limits = fs::read_to_string(format!("/proc/{}/limits", agent.0.id())).expect("it runs");
    let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("a limit");
    assert_eq!(line.split_whitespace().skip(3).collect::<Vec<_>>(), ["48", "48", "files"]);
    let path = SocketAddrUnix::new(at.join("agent")).expect("short");
    let calls: Vec<_> = (0..64)
        .map(|_| {
            let call = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).expect("descriptors");
            connect(&call, &path).expect("it listens");
            call
        })
        .collect();
    let descriptors = || fs::read_dir(format!("/proc/{}/fd", agent.0.id())).expect("it runs").count();
    let begin = Instant::now();
    while descriptors() < 48 {
        assert!(begin.elapsed() < Duration::from_mins(1), "it has {} descriptors of 48", descriptors());
        thread::yield_now();
    }
    drop(calls);
    assert!(matches!(
        Agent::at(at.join("agent")).call(&Request::Status, None),
        Ok((Response::Status(_), None))
    ));
    assert_eq!(agent.end(), Some(0));
}
