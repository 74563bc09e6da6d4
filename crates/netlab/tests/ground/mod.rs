//! Support for the integration tests: a caller in its own network namespace, and `behind`.
//!
//! The namespace keeps the tests from changing that of the machine. The example `behind` stands for
//! `lasthop`.
#![allow(dead_code, reason = "each test file uses a part of it")]

use netlab::{Namespace, interface};
use std::io::{BufRead, BufReader, Read};
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Longer than anything in these tests takes, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Ends the test where namespaces or TUN devices cannot be created.
#[macro_export]
macro_rules! need_root {
    () => {
        if let Err(reason) = ground::can_make_links() {
            skip::skip!("{reason}");
            return;
        }
    };
}

/// Returns whether links can be created here, by creating a device.
pub fn can_make_links() -> Result<(), netlab::Error> {
    netlab::tun::Tun::open(&Namespace::new()?, &netlab::tun::TunOptions::default()).map(drop)
}

/// A shell command that waits for end of file; a shell's `read` would return status 1 then.
pub const WAIT: &str = "cat >/dev/null";

/// A caller: a namespace with loopback, and a state directory.
pub struct Caller {
    pub namespace: Namespace,
    states: tempfile::TempDir,
}

/// Returns the path of the example, which `cargo test` builds next to this test.
pub fn behind() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let target = test.ancestors().nth(2).expect("target/debug/deps/test");
    let behind = target.join("examples/behind");
    assert!(behind.exists(), "{} is missing: cargo build -p netlab --examples", behind.display());
    behind
}

impl Caller {
    pub fn new() -> Self {
        let namespace = Namespace::new().expect("a namespace");
        interface::loopback_up(&namespace).expect("loopback");
        // A new namespace may start with values that somebody set on the machine.
        netlab::sysctl::write(&namespace, "net.ipv4.ip_forward", "0").expect("sysctl");
        Self { namespace, states: tempfile::tempdir().expect("a directory") }
    }

    pub fn state_directory(&self) -> PathBuf {
        self.states.path().join("states")
    }

    /// Returns a program in the caller's namespace with piped standard streams.
    ///
    /// It reacts to Ctrl-C even if the tests ignore it, for example in the background of a shell.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let namespace = self.namespace.try_clone().expect("a descriptor");
        command
            .env("LASTHOP_STATE_DIR", self.state_directory())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        // SAFETY: setns is one system call, on a file descriptor that is open in the child too;
        // signal is another one, without a handler.
        unsafe {
            command.pre_exec(move || {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                rustix::thread::move_into_link_name_space(
                    namespace.fd(),
                    Some(rustix::thread::LinkNameSpaceType::Network),
                )
                .map_err(Into::into)
            });
        }
        command
    }

    /// Runs `behind` with `arguments` to its end.
    pub fn behind(&self, arguments: &[&str]) -> Finished {
        Finished::of(self.command(behind()).args(arguments).spawn().expect("behind"))
    }

    /// Starts `behind OPTIONS... sh` with a shell that waits for the end of its standard input.
    pub fn start(&self, options: &[&str]) -> Running {
        self.start_script(options, WAIT)
    }

    /// Starts a shell behind a link that prints its pid and then runs `script`.
    pub fn start_script(&self, options: &[&str], script: &str) -> Running {
        let mut command = self.command(behind());
        command.args(options).args(["sh", "-c", &format!("echo $$; {script}")]);
        Running::of(command.spawn().expect("behind"))
    }

    /// Lists what is left of links in this namespace and in the state directory.
    pub fn leftovers(&self) -> Vec<String> {
        let mut left = Vec::new();
        let interfaces = interface::list(&self.namespace).expect("interfaces");
        left.extend(interfaces.into_iter().map(|its| its.name).filter(|name| name.starts_with("lasthop")));
        left.extend(netlab::nat::tables(&self.namespace).expect("tables"));
        let entries = std::fs::read_dir(self.state_directory()).into_iter().flatten().flatten();
        left.extend(
            entries
                .filter(|entry| entry.file_name() != "lock")
                .map(|entry| entry.path().display().to_string()),
        );
        let forward = netlab::sysctl::read(&self.namespace, "net.ipv4.ip_forward").expect("sysctl");
        left.extend((forward != "0").then(|| format!("ip_forward = {forward}")));
        left
    }

    /// Waits until nothing is left.
    pub fn is_clean(&self) {
        until(|| {
            let left = self.leftovers();
            if left.is_empty() { Ok(()) } else { Err(format!("left behind: {left:?}")) }
        });
    }
}

/// Repeats `attempt` until it succeeds, for at most `PATIENCE`.
pub fn until<T>(mut attempt: impl FnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match attempt() {
            Ok(value) => return value,
            Err(reason) => assert!(Instant::now() < deadline, "still after {PATIENCE:?}: {reason}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A program that has ended.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub output: String,
    pub errors: String,
}

impl Finished {
    pub fn of(mut child: Child) -> Self {
        drop(child.stdin.take());
        let output = child.wait_with_output().expect("it ends");
        Self {
            status: output.status,
            output: String::from_utf8_lossy(&output.stdout).into_owned(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("killed: {self:?}"))
    }

    /// Returns its output; panics if it failed.
    pub fn succeeded(self) -> String {
        assert!(self.status.success(), "{self:?}");
        self.output
    }
}

/// A shell behind a link.
pub struct Running {
    child: Option<Child>,
    output: BufReader<std::process::ChildStdout>,
    /// Pid of the shell.
    pub program: u32,
}

impl Running {
    pub fn of(mut child: Child) -> Self {
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        let Ok(program) = line.trim().parse() else {
            let finished = Finished::of(child);
            panic!("the program did not start: {line:?} {finished:?}");
        };
        Self { child: Some(child), output, program }
    }

    /// Returns the pid of the main process.
    pub fn main(&self) -> u32 {
        self.child.as_ref().expect("running").id()
    }

    /// Returns the namespace behind the link.
    pub fn inside(&self) -> Namespace {
        Namespace::at(&format!("/proc/{}/ns/net", self.program)).expect("the program runs")
    }

    /// Returns a file's contents as the program sees it.
    pub fn file(&self, path: &str) -> String {
        let path = format!("/proc/{}/root{path}", self.program);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Returns the next line that the program prints.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(pid(self.main()), signal).expect("it runs");
    }

    /// Signals all processes of the foreground group, as the terminal does.
    pub fn signal_group(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process_group(pid(self.main()), signal).expect("it runs");
    }

    /// Closes the program's standard input and waits for the end of the link.
    pub fn finish(mut self) -> Finished {
        let mut child = self.child.take().expect("running");
        drop(child.stdin.take());
        let mut output = String::new();
        self.output.read_to_string(&mut output).expect("text");
        Finished { output, ..Finished::of(child) }
    }
}

impl Drop for Running {
    /// Ends the link, so that a failing test does not leave it behind.
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub fn pid(number: u32) -> rustix::process::Pid {
    rustix::process::Pid::from_raw(number.cast_signed()).expect("a number")
}

/// Returns the address of a name in a hosts file.
pub fn address_of(hosts: &str, name: &str) -> IpAddr {
    let line = hosts.lines().find(|line| line.split_whitespace().skip(1).any(|word| word == name));
    let line = line.unwrap_or_else(|| panic!("{name} is not in {hosts}"));
    line.split_whitespace().next().expect("an address").parse().expect("an address")
}

/// Returns whether a system program is installed; prints that the test is skipped if not.
pub fn has(program: &str) -> bool {
    let found = netlab::nat::program(program).is_some();
    if !found {
        skip::skip!("{program} is not installed");
    }
    found
}

/// Copies the example to where every user can execute it.
pub fn behind_for_all(directory: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let copy = directory.join("behind");
    std::fs::copy(behind(), &copy).expect("copied");
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o755)).expect("executable");
    copy
}
