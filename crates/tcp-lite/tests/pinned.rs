//! Attachments that outlive their process: pinned, listed and detached by name.

mod ground;

use ground::Ground;
use ground::peer::{DEVICE, Peer, hit_data};
use ground::raw_option::refusal;
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use tcp_lite::{Lite, LiteError, Mode, Policy, Settings, option, pinned};

const FILE_SYSTEM: &str = "/sys/fs/bpf";

/// A name unique to this process, detached when the test ends in any way.
struct Name(String);

impl Name {
    fn new(what: &str) -> Self {
        Self(format!("test-{what}-{}", std::process::id()))
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let _ = pinned::detach(&self.0);
    }
}

/// Returns the device and the entries of the BPF file system. The device differs if it is not
/// mounted.
fn file_system() -> (u64, Vec<String>) {
    let mut names: Vec<_> = fs::read_dir(FILE_SYSTEM)
        .expect("the kernel makes the directory")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    (fs::metadata(FILE_SYSTEM).expect("a directory").dev(), names)
}

fn said(result: Result<impl Sized, LiteError>) -> String {
    result.err().expect("it should have been refused").to_string()
}

#[test]
fn kept_listed_and_detached() {
    let Some(ground) = Ground::new() else { return };
    let peer = Peer::new(&ground.namespace, false);
    let before = file_system();
    let (name, other) = (Name::new("one"), Name::new("two"));
    let work = || {
        let index = netlab::interface::find(&ground.namespace, DEVICE)?.index;
        let attach = |mode| {
            let mut lite =
                Lite::attach(ground.group(), &Settings::for_every_connection(mode, Policy::Normal))
                    .expect("TCP Lite");
            lite.add_interface(DEVICE).expect("TCP Lite at the device");
            lite
        };
        pinned::keep(attach(Mode::Recovery), &name.0).expect("it is kept");
        // Now only the kernel holds it, and it works.
        let listener = TcpListener::bind((peer.here, 80)).expect("a listener");
        let mut conversation = peer.connect(80, 40_001, true, |_| {});
        let (mut program, _) = listener.accept().expect("the peer's connection");
        conversation.say(0, &[7; 2000], |_, packet| hit_data(packet));
        conversation.wait_for_ack(2000);
        program.read_exact(&mut [0; 2000]).expect("the bytes are delivered");

        let find =
            |name: &Name| pinned::list().expect("the file system").into_iter().find(|its| its.name == name.0);
        let group = fs::metadata(ground.group()).expect("the group").ino();
        let listed = find(&name).expect("it is listed");
        assert_eq!((listed.mode, listed.control_group), (Mode::Recovery, group));
        assert_eq!((listed.connections, listed.lite), (1, 1));
        assert_eq!((listed.totals.damaged, listed.totals.accepted), (2, 2));
        assert_eq!(listed.interfaces, [index]);

        // The name is taken: the first stays, and the second is detached.
        let objects = ground::objects::of_group(group);
        assert_eq!((objects.links.len(), objects.programs.len()), (4, 4), "{objects:?}");
        let error = said(pinned::keep(attach(Mode::Recovery), &name.0));
        assert!(error.contains(&format!("attachment `{}` already exists", name.0)), "{error}");
        assert_eq!(find(&name), Some(listed));
        ground::objects::wait_for_links(group, &objects.links);

        pinned::keep(attach(Mode::Thesis), &other.0).expect("it is kept");
        assert_eq!(find(&other).expect("it is listed").mode, Mode::Thesis);
        pinned::detach(&other.0).expect("it was there");
        assert_eq!(find(&other), None);
        ground::objects::wait_for_links(group, &objects.links);

        pinned::detach(&name.0).expect("it was there");
        assert_eq!(find(&name), None);
        objects.wait_until_gone();
        assert_eq!(refusal(option::is_on(&program)), libc::ENOPROTOOPT);
        let error = said(pinned::detach(&name.0));
        assert!(error.contains(&format!("there is no attachment `{}`", name.0)), "{error}");
        Ok(())
    };
    ground.namespace.enter(work).expect("the namespace is there");
    assert_eq!(file_system(), before);
}

#[test]
fn wrong_names_are_refused_and_leave_nothing() {
    let Some(ground) = Ground::new() else { return };
    let before = file_system();
    let long = "n".repeat(65);
    for name in ["", ".", "..", "a/b", "../lasthop", "dot.dot", "a b", "ä", &long] {
        let lite = Lite::attach(ground.group(), &Settings::on_request(Mode::Recovery)).expect("TCP Lite");
        for error in [said(pinned::keep(lite, name)), said(pinned::detach(name))] {
            assert!(error.starts_with(&format!("`{name}` cannot be the name of an attachment")), "{error}");
        }
    }
    let nobodys = Name::new("nobodys");
    let error = said(pinned::detach(&nobodys.0));
    assert!(error.contains("there is no attachment"), "{error}");
    assert_eq!(file_system(), before);
}
