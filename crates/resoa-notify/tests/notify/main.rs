//! Static programs under the filter, against an agent that simulates the far hosts. Each scene
//! (`scenes/`) makes its own checks.

mod agent;

use agent::FakeAgent;
use resoa_calls::{Request, SocketId};
use resoa_notify::{Closing, launch};
use resoa_protocol::message::Operation;
use rustix::process::{DumpableBehavior, Pid, Signal, dumpable_behavior, geteuid, kill_process};
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

/// Returns the path of the program, which is compiled once.
fn program() -> PathBuf {
    static PROGRAM: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = PROGRAM.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let scenes = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/notify/scenes"));
        let files = scenes.expect("it is there").map(|file| file.expect("it is there").path());
        let compiled = Command::new("cc")
            .args(["-static", "-O1", "-Wall", "-Werror", "-pthread", "-o"])
            .arg(folder.path().join("program"))
            .args(files.filter(|file| file.extension().is_some_and(|kind| kind == "c")))
            .status();
        assert!(compiled.expect("a C compiler").success(), "the scenes do not compile");
        folder
    });
    folder.path().join("program")
}

/// Runs a command, and waits for the last of its processes.
fn run(agent: &FakeAgent, command: &mut Command) -> Output {
    run_and(agent, command, Closing::Passes)
}

fn run_and(agent: &FakeAgent, command: &mut Command, closing: Closing) -> Output {
    command.stdout(Stdio::piped());
    let mut running = launch(agent.agent(), command, closing).expect("the kernel has filters");
    let mut stdout = Vec::new();
    let mut said = running.child.stdout.take().expect("it is piped");
    said.read_to_end(&mut stdout).expect("it can be read");
    Output { status: running.wait().expect("it was started"), stdout, stderr: Vec::new() }
}

/// The operation that was asked for, if any.
fn operation(asked: &Request) -> Option<&Operation> {
    if let Request::Operation { operation, .. } = asked { Some(operation) } else { None }
}

/// Plays a scene, which must end well.
fn play(scene: &str) -> FakeAgent {
    let agent = FakeAgent::start();
    let output = run(&agent, Command::new(program()).arg(scene));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{scene}: {}: {said}", output.status);
    agent
}

/// Local sockets pass, and ways around the filter are closed.
#[test]
fn the_filter() {
    let agent = play("filter");
    let asked = agent.asked();
    assert!(matches!(asked[..], [Request::Socket { protocol: libc::IPPROTO_MPTCP, .. }]), "{asked:?}");
}

/// A program of the same user cannot take sockets or calls from the process that answers it.
#[test]
fn the_notifier_is_not_traced() {
    play("filter");
    assert_eq!(dumpable_behavior(), Ok(DumpableBehavior::NotDumpable));
}

/// C30: no family, type or protocol gives a socket on the host's network. The agent only gets
/// requests for IP sockets that are not raw. Runs in a namespace without interfaces.
#[test]
fn ways_to_a_network() {
    let (families, types, protocols) = (2, 16 - 2, 10);
    let asked = play("ways").asked();
    assert!(asked.iter().all(|asked| matches!(asked, Request::Socket { .. })), "{asked:?}");
    assert_eq!(asked.len(), families * types * protocols);
}

/// A call by the i386 ABI kills the process.
#[test]
fn foreign_calls() {
    let output = run(&FakeAgent::start(), Command::new(program()).arg("foreign"));
    assert_eq!(output.status.signal(), Some(libc::SIGSYS));
}

/// C31, C35, C36, C38, C39: the calls of a client.
#[test]
fn calls_of_a_client() {
    let agent = play("client");
    let asked = agent.asked();
    let found = |wanted: fn(&Request) -> bool| asked.iter().filter(|asked| wanted(asked)).count();
    assert_eq!(found(|asked| matches!(asked, Request::Socket { .. })), 2);
    assert_eq!(found(|asked| matches!(operation(asked), Some(Operation::Connect(_)))), 3);
    // Of the one that is not connected, and might have a connect that waits.
    assert_eq!(found(|asked| matches!(asked, Request::Shutdown { .. })), 1);
    let timeouts = found(|asked| match operation(asked) {
        Some(Operation::SetOption { name: libc::SO_RCVTIMEO, value, .. }) => value.len() == 16,
        _ => false,
    });
    assert_eq!(timeouts, 1);
}

/// Section 3.2, C31: the program's privileges decide whether it may bind a port.
#[test]
fn a_port_that_takes_a_privilege() {
    let asked = play("privileged").asked();
    let ports = asked.iter().filter_map(|asked| match operation(asked) {
        Some(Operation::Bind(address)) => Some(address.port()),
        _ => None,
    });
    let expected: &[_] = if geteuid().is_root() { &[80, 8080] } else { &[8080] };
    assert_eq!(ports.collect::<Vec<_>>(), expected);
}

/// Section 3.9, case B: if `close` is notified, it asks how a lingering socket ends. Otherwise
/// there is no such request.
#[test]
fn close_that_lingers() {
    for (closing, questions) in [(Closing::Lingers, 1), (Closing::Passes, 0)] {
        let agent = FakeAgent::start();
        let output = run_and(&agent, Command::new(program()).arg("lingers"), closing);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        let asked = agent.asked();
        // The first socket lingers, the second does not.
        let closed = asked.iter().filter(|asked| matches!(asked, Request::Closed(SocketId(0))));
        assert_eq!(closed.count(), questions);
        assert!(!asked.contains(&Request::Closed(SocketId(1))));
    }
}

/// C109: addresses that AF_UNIX would refuse.
#[test]
fn data_with_an_address() {
    play("addressed");
}

/// C109: SIGPIPE.
#[test]
fn a_broken_pipe() {
    let output = run(&FakeAgent::start(), Command::new(program()).arg("broken"));
    assert_eq!(output.status.signal(), Some(libc::SIGPIPE));
}

/// C91: boundaries and addresses are kept.
#[test]
fn datagrams() {
    play("datagrams");
}

/// C91, RFC 3542: after `connect`, datagrams have no header. Datagrams to another destination or
/// with control messages are sent by requests.
#[test]
fn datagrams_with_a_destination() {
    let asked = play("destined").asked();
    let elsewhere = asked.iter().filter_map(|asked| match asked {
        Request::SendTo { address, ancillary, octets, .. } => {
            Some((address.map(|address| address.port()), &ancillary[..], &octets[..]))
        }
        _ => None,
    });
    let beside = [&[0, libc::IP_TOS as u8, 4][..], &4_i32.to_ne_bytes()].concat();
    assert_eq!(
        elsewhere.collect::<Vec<_>>(),
        [(Some(54), &b""[..], &b"else"[..]), (None, &beside, b"beside")]
    );
}

/// C91: the error of a port without a listener is reported once, by a call that receives or sends,
/// or by SO_ERROR. The agent is told once that errors are seen, and only for a socket on which they
/// are.
#[test]
fn datagrams_that_are_refused() {
    let asked = play("refused").asked();
    let seen = asked.iter().filter(|asked| matches!(asked, Request::SeesData(_)));
    assert_eq!(seen.collect::<Vec<_>>(), [&Request::SeesData(SocketId(0))]);
}

/// C33: `accept` waits, or does not wait, and returns the lowest descriptor number.
#[test]
fn accept() {
    play("accepts");
}

/// Waiting calls do not delay others.
#[test]
fn meanwhile() {
    play("meanwhile");
}

/// Section 3.15: fork, exec and dup.
#[test]
fn forks() {
    play("forks");
}

/// Section 3.14: signals, and the time limits of a socket.
#[test]
fn interrupts() {
    let agent = play("interrupts");
    // Both connects are dropped. The agent may learn of it only after the program has ended.
    while agent.interrupted().len() < 2 {
        thread::sleep(Duration::from_millis(1));
    }
}

/// C108: a reset is seen, and reported once.
#[test]
fn resets() {
    play("reset");
}

/// C66, C108: the error of a failed connection is reported once, by the first call.
#[test]
fn a_lost_connection() {
    play("lost");
}

/// C109, C44: `send` and `recv` on a fresh socket and on a listener. MSG_PEEK with MSG_WAITALL
/// waits for all bytes.
#[test]
fn unconnected() {
    play("unconnected");
}

/// C109: control messages, and calls with several messages, on a stream.
#[test]
fn beside_a_stream() {
    play("beside");
}

/// Section 3.14: a program that is stopped while it waits continues to wait.
#[test]
fn stops() {
    play("stopped");
}

/// A signal during a call does not restart it.
#[test]
fn many_signals() {
    let agent = play("signalled");
    let asked = agent.asked();
    let found = |wanted: fn(&Request) -> bool| asked.iter().filter(|asked| wanted(asked)).count();
    assert_eq!(found(|asked| matches!(asked, Request::Socket { .. })), 300);
    assert_eq!(found(|asked| matches!(operation(asked), Some(Operation::Bind(_)))), 300);
}

/// If a program is killed while it waits, its call is interrupted and nothing hangs.
#[test]
fn killed_while_it_waits() {
    let agent = FakeAgent::start();
    let mut running = launch(agent.agent(), Command::new(program()).arg("stuck"), Closing::Passes)
        .expect("the kernel has filters");
    while !agent.asked().iter().any(|asked| matches!(operation(asked), Some(Operation::Connect(_)))) {
        thread::sleep(Duration::from_millis(1));
    }
    let child = Pid::from_child(&running.child);
    kill_process(child, Signal::KILL).expect("it waits");
    assert_eq!(running.wait().expect("it was started").signal(), Some(libc::SIGKILL));
    while agent.interrupted().is_empty() {
        thread::sleep(Duration::from_millis(1));
    }
}

/// The notifier runs as long as the last process; the exit status is that of the first.
#[test]
fn those_left_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(&FakeAgent::start(), Command::new(program()).arg("leaves").current_dir(folder.path()));
    assert_eq!(output.status.code(), Some(3));
    assert!(folder.path().join("left").exists());
}

/// Programs without remote sockets run as usual: a build with many processes, an interpreter.
#[test]
fn others_are_unharmed() {
    let agent = FakeAgent::start();
    let folder = tempfile::tempdir().expect("a folder");
    let rules = "all: $(foreach n,$(shell seq 40),f$n)\nf%:\n\t@echo $* > $@ && cat $@ >> /dev/null\n";
    std::fs::write(folder.path().join("Makefile"), rules).expect("room");
    let output = run(&agent, Command::new("make").arg("-j8").current_dir(folder.path()));
    assert!(output.status.success());
    assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 41);
    let script = "import subprocess, socket\n\
                  a, b = socket.socketpair(); a.sendall(b'x' * 10); assert b.recv(99) == b'x' * 10\n\
                  assert subprocess.check_output(['echo', 'hi']) == b'hi\\n'";
    assert!(run(&agent, Command::new("python3").args(["-c", script])).status.success());
    assert_eq!(agent.asked(), []);
}

/// A program that does not exist is reported as missing.
#[test]
fn no_such_program() {
    let error = launch(FakeAgent::start().agent(), &mut Command::new("/nowhere/program"), Closing::Passes)
        .expect_err("it is not");
    assert_eq!(error.to_string(), "cannot start /nowhere/program: No such file or directory (os error 2)");
}

/// Prints the cost of calls: `cargo test -p resoa-notify --test notify -- --ignored --nocapture`.
#[test]
#[ignore = "prints times"]
fn cost() {
    let output = run(&FakeAgent::start(), Command::new(program()).arg("cost"));
    print!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success());
}
