//! Runs a test as a program, and makes calls as programs do.

use crate::agent::{self, Log};
use libc::{c_int, c_void, socklen_t};
use resoa_calls::Request;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, io};

/// Set where the test runs as the program.
const INSIDE: &str = "RESOA_PRELOAD_TEST";

fn library() -> PathBuf {
    let folder = env::current_exe().expect("a path");
    folder.parent().expect("a folder").join("libresoa_preload.so")
}

/// Runs `program` in a process of its own, with the library and an agent. Returns the requests that
/// the agent received.
pub fn carried(test: &str, program: fn()) -> Vec<Request> {
    if env::var_os(INSIDE).is_some() {
        program();
        std::process::exit(0);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (path, log): (PathBuf, Log) = agent::start(folder.path());
    run(test, path.to_str().expect("a path"));
    log.lock().expect("no panic").clone()
}

/// As [`carried`], with an agent's path at which there is no agent.
pub fn alone(test: &str, program: fn()) {
    if env::var_os(INSIDE).is_some() {
        program();
        std::process::exit(0);
    }
    run(test, "/nowhere/agent");
}

fn run(test: &str, agent: &str) {
    let library = library();
    assert!(library.is_file(), "{} is built with the tests", library.display());
    let mut command = Command::new(env::current_exe().expect("a path"));
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("LD_PRELOAD", library)
        .env(resoa_calls::AGENT, agent)
        .env(INSIDE, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let program = {
        let _no_copies = agent::COPIES.lock().expect("no panic");
        command.spawn().expect("it starts")
    };
    let output = program.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{}: {}\n{said}",
        output.status,
        String::from_utf8_lossy(&output.stdout)
    );
}

/// Returns the result of a call, or its errno if it is -1.
pub fn of<T: Copy + Into<i64>>(result: T) -> Result<i64, c_int> {
    match result.into() {
        -1 => Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)),
        value => Ok(value),
    }
}

pub fn length(result: isize) -> Result<i64, c_int> {
    of(result as i64)
}

/// Calls `socket`.
pub fn socket(kind: c_int) -> c_int {
    let number = unsafe { libc::socket(libc::AF_INET, kind, 0) };
    assert!(number >= 0, "{}", io::Error::last_os_error());
    number
}

/// Returns an address of the network for examples.
pub fn at(port: u16) -> Vec<u8> {
    resoa_calls::address::written(SocketAddr::from(([192, 0, 2, 2], port))).to_vec()
}

pub fn connect(number: c_int, port: u16) -> Result<i64, c_int> {
    let address = at(port);
    of(unsafe { libc::connect(number, address.as_ptr().cast(), address.len() as socklen_t) })
}

/// Returns a connected stream.
pub fn connected(port: u16) -> c_int {
    let number = socket(libc::SOCK_STREAM);
    assert_eq!(connect(number, port), Ok(0));
    number
}

pub fn send(number: c_int, octets: &[u8], flags: c_int) -> Result<i64, c_int> {
    length(unsafe { libc::send(number, octets.as_ptr().cast::<c_void>(), octets.len(), flags) })
}

pub fn write(number: c_int, octets: &[u8]) -> Result<i64, c_int> {
    length(unsafe { libc::write(number, octets.as_ptr().cast::<c_void>(), octets.len()) })
}

pub fn recv(number: c_int, room: usize, flags: c_int) -> Result<Vec<u8>, c_int> {
    let mut octets = vec![0; room];
    let got = length(unsafe { libc::recv(number, octets.as_mut_ptr().cast::<c_void>(), room, flags) })?;
    octets.truncate(got as usize);
    Ok(octets)
}

pub fn option(number: c_int, level: c_int, name: c_int) -> Result<c_int, c_int> {
    let mut value: c_int = -7;
    let mut room = 4;
    of(unsafe { libc::getsockopt(number, level, name, (&raw mut value).cast::<c_void>(), &raw mut room) })?;
    Ok(value)
}

pub fn set_option<T>(number: c_int, level: c_int, name: c_int, value: &T) -> Result<i64, c_int> {
    let place = std::ptr::from_ref(value).cast::<c_void>();
    of(unsafe { libc::setsockopt(number, level, name, place, size_of::<T>() as socklen_t) })
}

/// Takes a pending SIGPIPE and returns whether there was one.
pub fn was_signalled() -> bool {
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGPIPE);
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        libc::sigtimedwait(&raw const set, std::ptr::null_mut(), &raw const now) == libc::SIGPIPE
    }
}

/// Blocks SIGPIPE, so that [`was_signalled`] can find it.
pub fn hold_signals() {
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}
