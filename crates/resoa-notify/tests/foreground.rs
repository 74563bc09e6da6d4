//! A program in the foreground behaves as if it had been started directly. The tests use the
//! example `run`, which cargo builds with this crate's tests.

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

/// Returns a command that runs a shell script by `run`. There is no agent, and none is asked. A
/// test started in the background has INT and QUIT ignored, as have its children, and a shell
/// cannot trap a signal that was ignored at its start. So `env` resets the signals.
fn shell(script: &str) -> Command {
    let tests = std::env::current_exe().expect("this is one");
    let run = tests.parent().and_then(std::path::Path::parent).expect("a folder").join("examples/run");
    let mut command = Command::new(run);
    command.args(["env", "--default-signal", "sh", "-c", script]).env(resoa_calls::AGENT, "/nowhere");
    command
}

/// The exit status is that of the program, and processes that it left behind are waited for.
#[test]
fn status() {
    let output = shell("(sleep 0.2; echo later) & echo now; exit 7").output().expect("it is built");
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(7), &b"now\nlater\n"[..]));
}

/// `run` ends by the signal that ended the program.
#[test]
fn ends_by_the_signal() {
    let status = shell("kill -TERM $$").status().expect("it is built");
    assert_eq!(status.signal(), Some(libc::SIGTERM));
}

/// Returns the signals that a shell finds blocked, ignored and caught, except 32 and 33, which
/// belong to the C library.
fn signals(shell: &mut Command) -> Vec<u64> {
    let output = shell.output().expect("it is there");
    let masks = String::from_utf8_lossy(&output.stdout).into_owned();
    let mask = |digits| u64::from_str_radix(digits, 16).expect("hexadecimal") & !(0b11 << 31);
    masks.split_whitespace().map(mask).collect()
}

/// The program has the same signals blocked, ignored and caught as if it had been started directly.
#[test]
fn signals_are_as_before() {
    let script = "sed -nE 's/^Sig(Blk|Ign|Cgt)://p' /proc/self/status";
    let direct = signals(Command::new("sh").args(["-c", script]));
    assert_eq!((direct.len(), signals(&mut shell(script))), (3, direct));
}

/// The notifier may have more descriptors than the program. The program has the limits that it
/// would have without it.
#[test]
fn descriptors_are_limited_as_before() {
    let limits = |script: &str| {
        let shell = shell(script);
        let run = shell.get_program().to_owned();
        let mut limited = Command::new("sh");
        limited
            .args(["-c", "ulimit -Sn 60; ulimit -Hn 600; exec \"$@\"", "sh"])
            .arg(run)
            .args(shell.get_args());
        let output = limited.env(resoa_calls::AGENT, "/nowhere").output().expect("it is built");
        String::from_utf8_lossy(&output.stdout).split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(limits("ulimit -Sn; ulimit -Hn"), ["60", "600"]);
    assert_eq!(limits("sed -nE 's/^Max open files//p' /proc/$PPID/limits")[..2], ["600", "600"]);
}

/// Section 3.14: signals sent to `run` are passed on.
#[test]
fn signals_are_passed_on() {
    for (signal, name) in [(Signal::TERM, "TERM"), (Signal::INT, "INT"), (Signal::USR1, "USR1")] {
        let script = format!("trap 'echo caught; exit 5' {name}; echo ready; while :; do sleep 0.05; done");
        let mut running = shell(&script).stdout(Stdio::piped()).spawn().expect("it is built");
        let mut lines = BufReader::new(running.stdout.take().expect("it is piped")).lines();
        assert_eq!(lines.next().expect("a line").expect("text"), "ready");
        kill_process(Pid::from_child(&running), signal).expect("it runs");
        assert_eq!(lines.next().expect("a line").expect("text"), "caught");
        assert_eq!(running.wait().expect("it was started").code(), Some(5));
    }
}

/// Without an agent there is no network, and the program gets that error.
#[test]
fn no_agent() {
    let script = "python3 -c 'import socket; socket.socket()' 2>&1 | tail -n 1";
    let output = shell(script).output().expect("it is built");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "OSError: [Errno 100] Network is down\n");
}
