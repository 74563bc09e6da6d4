//! Tests of `lasthop resoa run` and `status`, with an agent that only reports its status.

use resoa_calls::{Connected, Request, Response, Status, receive_request, respond};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept, bind, listen, socket_with,
};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

/// Starts an agent at this path; at each request it reports three more sockets.
fn agent(path: &Path, connected: Connected) {
    let calls = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
    let calls = calls.expect("descriptors");
    bind(&calls, &SocketAddrUnix::new(path).expect("short")).expect("free");
    listen(&calls, 8).expect("bound");
    thread::spawn(move || {
        for asked in 0.. {
            let connection = accept(&calls).expect("somebody calls");
            poll(&mut [PollFd::new(&connection, PollFlags::IN)], None).expect("a descriptor");
            let request = receive_request(&connection).expect("a request").map(|(request, _)| request);
            assert_eq!(request, Some(Request::Status));
            let status = Status {
                connected: connected.clone(),
                made: 3 * asked,
                carried: 2 * asked,
                local: 0,
                accepted: asked,
                open: 0,
                octets: (0, 0),
                round_trip_us: None,
            };
            respond(&connection, &Response::Status(status), None).expect("it waits");
        }
    });
}

fn registered() -> Connected {
    Connected::Yes { address: [192, 0, 2, 1].into(), sockets: 256 }
}

fn lasthop(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lasthop"))
        .args(["resoa"])
        .args(arguments)
        .current_dir(folder)
        .env_remove("LASTHOP_RESOA")
        .env_remove("LASTHOP_PRELOAD")
        .env_remove("LD_PRELOAD")
        .output()
        .expect("the binary runs")
}

fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr].concat();
    let status = output.status.code().map_or("killed".to_owned(), |code| code.to_string());
    format!("{}status {status}", String::from_utf8_lossy(&text))
}

/// Returns the path of a library that the loader accepts.
fn library() -> String {
    let maps = fs::read_to_string("/proc/self/maps").expect("Linux");
    let found = maps.lines().filter_map(|line| line.split_whitespace().last());
    found.into_iter().find(|path| path.contains("libc.so")).expect("a program with a C library").to_owned()
}

/// Writes a file with the bytes of a program without a loader.
fn static_program(folder: &Path) -> PathBuf {
    let mut octets = fs::read(env!("CARGO_BIN_EXE_lasthop")).expect("this command");
    let headers = u64::from_le_bytes(octets[32..40].try_into().expect("eight")) as usize;
    let (size, count) = (usize::from(octets[54]), usize::from(octets[56]));
    for header in 0..count {
        let kind = &mut octets[headers + header * size..][..4];
        if *kind == 3u32.to_le_bytes() {
            // PT_NULL: an unused entry.
            kind.fill(0);
        }
    }
    octets.truncate(4096);
    let path = folder.join("static");
    fs::write(&path, octets).expect("room");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    path
}

/// The help texts of the two commands.
#[test]
fn help() {
    let folder = tempfile::tempdir().expect("a folder");
    insta::assert_snapshot!("help_resoa_run", said(&lasthop(folder.path(), &["run", "--help"])));
    insta::assert_snapshot!("help_resoa_status", said(&lasthop(folder.path(), &["status", "--help"])));
}

/// C01: calls that could not be carried are detected before anything is started, and the message
/// tells what to do.
#[test]
fn what_stands_in_the_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let library = library();
    agent(&at.join("agent"), registered());
    agent(&at.join("waiting"), Connected::No("the server has not answered yet".into()));
    static_program(at);
    fs::write(at.join("script"), "#!./static\n").expect("room");
    fs::set_permissions(at.join("script"), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let cases: [&[&str]; 8] = [
        &["run", "--agent", "nowhere", "--", "touch", "started"],
        &["run", "--agent", "waiting", "--", "touch", "started"],
        &["run", "--agent", "agent", "--library", "nowhere.so", "--", "touch", "started"],
        &["run", "--agent", "agent", "--library", &library, "--", "no-such-command"],
        &["run", "--agent", "agent", "--library", &library, "--", "./static"],
        &["run", "--agent", "agent", "--library", &library, "--", "./script"],
        &["run", "--agent", "agent"],
        &["status", "--agent", "nowhere"],
    ];
    let said: Vec<_> = cases
        .iter()
        .map(|case| format!("$ lasthop resoa {}\n{}", case.join(" "), said(&lasthop(at, case))))
        .map(|text| text.replace(&library, "LIBC").replace(&at.display().to_string(), "FOLDER"))
        .collect();
    insta::assert_snapshot!("resoa_run_refused", said.join("\n\n"));
    assert!(!at.join("started").exists());
}

/// A program into which the library cannot be loaded runs with seccomp automatically.
#[test]
fn a_static_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    agent(&at.join("agent"), registered());
    fs::write(at.join("seven.c"), "int main(void) { return 7; }\n").expect("room");
    let compiled = Command::new("cc").args(["-static", "-o", "seven", "seven.c"]).current_dir(at).status();
    assert!(compiled.expect("a C compiler").success());
    let run = ["run", "--agent", "agent", "--", "./seven"];
    let expected = "lasthop: ./seven is statically linked: intercepting its calls by seccomp\nstatus 7";
    assert_eq!(said(&lasthop(at, &run)), expected);
}

/// C30: code that the library does not reach gets no IP socket without the agent. Local sockets are
/// the kernel's.
#[test]
fn calls_past_the_library() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    agent(&at.join("agent"), registered());
    let script = format!(
        "import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
for family in (2, 10, 1):
    made = libc.syscall({}, family, 1, 0) >= 0
    print(family, 'made' if made else errno.errorcode[ctypes.get_errno()])",
        libc::SYS_socket
    );
    for count in [&["--count"][..], &[]] {
        let library = library();
        let run = ["run", "--agent", "agent", "--library", &library];
        let run: Vec<_> = run.iter().chain(count).chain(&["--", "python3", "-c", &script]).copied().collect();
        let said = said(&lasthop(at, &run));
        assert!(said.starts_with("2 ENETDOWN\n10 ENETDOWN\n1 made\n"), "{said}");
        assert!(said.ends_with("status 0"), "{said}");
    }
}

/// The command has both variables, with absolute paths, and its exit status is passed on. Libraries
/// that were to be preloaded are still loaded, after lasthop's.
#[test]
fn a_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    agent(&at.join("agent"), registered());
    let library = library();
    let show = "cd /; echo $LD_PRELOAD $LASTHOP_RESOA; exit 7";
    let run = ["run", "--agent", "agent", "--library", &library, "--", "sh", "-c", show];
    let expected = format!("{library} {}/agent\nstatus 7", at.display());
    assert_eq!(said(&lasthop(at, &run)), expected);
    let counted = ["run", "--count", "--agent", "agent", "--library", &library, "sh", "-c", "kill -TERM $$"];
    let output = lasthop(at, &counted);
    assert_eq!(
        said(&output),
        "lasthop: 3 sockets made, 2 of them carried, 1 connections accepted\nstatus 143"
    );
    let behind = Command::new(env!("CARGO_BIN_EXE_lasthop"))
        .args(["resoa", "run", "--agent", "agent", "--library", &library, "sh", "-c", "echo $LD_PRELOAD"])
        .current_dir(at)
        .env("LD_PRELOAD", &library)
        .output()
        .expect("the binary runs");
    assert_eq!(said(&behind), format!("{library}:{library}\nstatus 0"));
}

/// With seccomp: no library is loaded or searched for, static programs are started, and the
/// command's end equals the program's.
#[test]
fn a_command_by_the_kernel() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    agent(&at.join("agent"), registered());
    let show = "echo \"<$LD_PRELOAD>\"; exit 7";
    let run = ["run", "--seccomp", "--count", "--agent", "agent", "--", "sh", "-c", show];
    let counts = "lasthop: 3 sockets made, 2 of them carried, 1 connections accepted";
    assert_eq!(said(&lasthop(at, &run)), format!("<>\n{counts}\nstatus 7"));
    let linger = ["run", "--seccomp", "--linger", "--agent", "agent", "--", "sh", "-c", "kill -TERM $$"];
    assert_eq!(said(&lasthop(at, &linger)), "status killed");
    let refused = lasthop(at, &["run", "--linger", "--agent", "agent", "--", "true"]);
    assert!(said(&refused).contains("--seccomp"), "{}", said(&refused));
}

/// The exit status of `status` tells whether there is a server.
#[test]
fn status() {
    let folder = tempfile::tempdir().expect("a folder");
    agent(&folder.path().join("agent"), registered());
    agent(&folder.path().join("waiting"), Connected::No("refused".into()));
    for (name, expected) in [("agent", 0), ("waiting", 1)] {
        let output = lasthop(folder.path(), &["status", "--agent", name]);
        assert_eq!(output.status.code(), Some(expected), "{}", said(&output));
        let output = lasthop(folder.path(), &["status", "--json", "--agent", name]);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!((&json["agent"]["open"], &json["server"]), (&0.into(), &serde_json::Value::Null));
    }
}
