//! Congestion controls in the running kernel: loaded, used, unloaded, refused; no objects are left
//! behind.

mod ground;

use congestion::algorithms::{self, AlgorithmError, CATALOGUE, Setting};
use ground::objects;
use ground::{Cable, transfer};
use netlab::tcp;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

const MEGABYTES: usize = 1 << 20;

/// A name unique to this process, unloaded when the test ends in any way.
struct Name(String);

impl Name {
    fn new(what: &str) -> Self {
        let name = format!("{what}_{:x}", std::process::id());
        assert!(name.len() <= algorithms::LONGEST_NAME, "{name}");
        Self(name)
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let _ = algorithms::unload(&self.0);
    }
}

fn settings(texts: &[&str]) -> Vec<Setting> {
    texts.iter().map(|text| text.parse().expect("a setting")).collect()
}

fn said<T: std::fmt::Debug>(result: Result<T, AlgorithmError>) -> String {
    result.expect_err("it should have been refused").to_string()
}

/// Each algorithm carries data over a path that loses every hundredth packet, shows its parameters,
/// and can be unloaded. A connection keeps it until it is closed.
#[test]
fn every_algorithm_carries_a_transfer() {
    let Some(cable) = Cable::new() else { return };
    cable.lose(100);
    let before = objects::now();
    for algorithm in CATALOGUE {
        let name = Name::new(&algorithm.name[..4]);
        algorithms::load(algorithm.name, Some(&name.0), &[]).expect(algorithm.name);
        assert!(algorithms::available().expect("a list").contains(&name.0));
        assert!(algorithms::allowed().expect("a list").contains(&name.0), "every user may choose it");
        let info = algorithms::info(&name.0).expect("it is loaded");
        assert_eq!((info.algorithm.name, info.users), (algorithm.name, 0));
        let defaults: Vec<_> = algorithm.parameters.iter().map(|known| (known.name, known.default)).collect();
        assert_eq!(info.parameters, defaults);
        assert!(algorithms::loaded().expect("a list").iter().any(|loaded| loaded.name == name.0));

        let (mut from, mut to) = cable.connection(&name.0);
        assert_eq!(tcp::congestion_control(&from).expect("a name"), name.0);
        transfer(&mut from, &mut to, 4 * MEGABYTES);
        assert!(tcp::info(&from).expect("info").retransmissions > 0, "{}: nothing was lost", algorithm.name);
        assert_eq!(algorithms::info(&name.0).expect("it is loaded").users, 1);

        assert_eq!(algorithms::unload(&name.0).expect("it is loaded"), 1);
        assert!(!algorithms::available().expect("a list").contains(&name.0));
        transfer(&mut from, &mut to, MEGABYTES);
        drop((from, to));
        objects::wait_until_only(&before);
    }
    assert!(!Path::new("/sys/fs/bpf/lasthop/congestion").exists(), "the last one takes the folders along");
}

/// A refused load leaves nothing behind: no link, no program, no map, no pin.
#[test]
fn refusals_leave_nothing() {
    let Some(_cable) = Cable::new() else { return };
    let name = Name::new("taken");
    algorithms::load("newreno", Some(&name.0), &[]).expect("it loads");
    let before = objects::now();
    let load = |algorithm, name: &str, texts: &[&str]| {
        said(algorithms::load(algorithm, Some(name), &settings(texts)))
    };

    let error = load("newzag", &name.0, &[]);
    assert!(error.starts_with(&format!("`{}` is already registered by lasthop", name.0)), "{error}");
    let error = load("newzag", "reno", &[]);
    assert!(error.starts_with("`reno` is already registered by the kernel"), "{error}");
    assert!(load("newzga", "x", &[]).contains("did you mean `newzag`?"));
    assert!(load("newzag", "x", &["gian=3"]).contains("did you mean `gain`?"));
    assert!(load("newzag", "x", &["gain=9"]).contains("expected 2 to 8"));
    for wrong in ["", "with-dash", "with.dot", "sixteen_letters_", "a/b"] {
        assert!(load("newzag", wrong, &[]).starts_with(&format!("`{wrong}` cannot be the name")));
        assert!(said(algorithms::unload(wrong)).starts_with("lasthop has not loaded a congestion control"));
    }
    let error = said(algorithms::unload("nosuch"));
    assert!(error.contains(&format!("loaded are {}", name.0)), "{error}");
    assert!(
        said(algorithms::unload("reno")).starts_with("lasthop has not loaded a congestion control `reno`")
    );

    // It registers, but cannot be pinned, because the folder exists already.
    let blocked = Name::new("block");
    let folder = Path::new("/sys/fs/bpf/lasthop/congestion").join(&blocked.0);
    std::fs::create_dir(&folder).expect("a folder");
    let error = load("newzag", &blocked.0, &[]);
    assert!(error.contains("cannot create /sys/fs/bpf/lasthop/congestion"), "{error}");
    std::fs::remove_dir(&folder).expect("it was left alone");
    objects::wait_until_only(&before);
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while algorithms::available().expect("a list").contains(&blocked.0) {
        assert!(std::time::Instant::now() < end, "it is still registered");
        std::thread::yield_now();
    }
}

/// `wireless_percent` sets the window after a wireless loss: with 1 %, the threshold is the
/// minimum, 2 segments, after any loss.
#[test]
fn parameters_take_effect() {
    let Some(cable) = Cable::new() else { return };
    cable.lose(100);
    // The border of a spike is too high to reach, so all losses are wireless.
    let threshold = |percent: u32| {
        let name = Name::new("param");
        let texts = ["spike_start_us=10000000".to_owned(), format!("wireless_percent={percent}")];
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        algorithms::load("spike", Some(&name.0), &settings(&texts)).expect("it loads");
        let info = algorithms::info(&name.0).expect("it is loaded");
        assert!(info.parameters.contains(&("wireless_percent", percent)), "{:?}", info.parameters);
        let (mut from, mut to) = cable.connection(&name.0);
        transfer(&mut from, &mut to, 2 * MEGABYTES);
        let info = tcp::info(&from).expect("info");
        assert!(info.retransmissions > 0, "nothing was lost");
        info.slow_start_threshold
    };
    assert_eq!(threshold(1), 2);
    assert!(threshold(100) > 4, "a window that loses nothing is larger than the least one");
}

/// Connections of a namespace use its default, and the namespace counts as a user.
#[test]
fn a_namespace_can_have_one_as_its_default() {
    let Some(cable) = Cable::new() else { return };
    let before = objects::now();
    let name = Name::new("deflt");
    algorithms::load("newzag", Some(&name.0), &[]).expect("it loads");
    algorithms::set_default(&cable.sender, &name.0).expect("it may be a default");
    assert_eq!(algorithms::default_of(&cable.sender).expect("a name"), name.0);
    assert_eq!(algorithms::info(&name.0).expect("it is loaded").users, 1);
    let (from, to) = cable.local_connection();
    assert_eq!(tcp::congestion_control(&from).expect("a name"), name.0);
    // The namespace and both ends of the connection; the listener is closed by now.
    assert_eq!(algorithms::info(&name.0).expect("it is loaded").users, 3);
    assert_eq!(algorithms::unload(&name.0).expect("it is loaded"), 3);
    drop((from, to, cable));
    objects::wait_until_only(&before);
}

/// Unprivileged users may choose the algorithm, like any program of the machine.
#[test]
fn an_unprivileged_user_may_choose_it() {
    const NOBODY: u32 = 65_534;
    const PROGRAM: &str = "\
import os, socket, sys
assert os.geteuid() != 0
s = socket.socket()
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[1].encode())
print(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b'\\0').decode())";
    let Some(_cable) = Cable::new() else { return };
    let name = Name::new("nobdy");
    algorithms::load("newzag", Some(&name.0), &[]).expect("it loads");
    let mut python = Command::new("python3");
    python.args(["-c", PROGRAM, &name.0]).uid(NOBODY).gid(NOBODY);
    let done = python.output().expect("python3 is installed");
    assert_eq!(
        String::from_utf8_lossy(&done.stdout).trim(),
        name.0,
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}
