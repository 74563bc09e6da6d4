//! Several attachments of TCP Lite at once, and what remains when one is dropped.

mod ground;

use ground::Ground;
use ground::peer::{DEVICE, Peer, hit_data};
use ground::raw_option::{has_no_lite, refusal, set};
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use tcp_lite::{Lite, Mode, Policy, Settings, option};

fn attach(group: &Path, interface: &str) -> Lite {
    let mut lite = Lite::attach(group, &Settings::on_request(Mode::Recovery)).expect("TCP Lite");
    lite.add_interface(interface).expect("TCP Lite at the interface");
    lite
}

/// Each attachment keeps its own settings, and both apply what a program sets. The first one at the
/// interface repairs, so the second finds no damage. A program reads the counters of the one that
/// has seen damage.
#[test]
fn two_attachments_to_a_group_agree() {
    let Some(ground) = Ground::new() else { return };
    let peer = Peer::new(&ground.namespace, false);
    let work = || {
        let (first, second) = (attach(ground.group(), DEVICE), attach(ground.group(), DEVICE));
        let listener = TcpListener::bind((peer.here, 80)).expect("a listener");
        let mut conversation = peer.connect(80, 40_001, true, |_| {});
        let (mut program, _) = listener.accept().expect("the peer's connection");
        assert_eq!(refusal(set(&program, libc::IPPROTO_TCP, 0x4c54, &2_i32.to_ne_bytes())), libc::EINVAL);
        option::set_policy(&program, Policy::Bold).expect("an option");
        option::switch(&program, true).expect("an option");
        assert!(option::is_on(&program).expect("an option"));
        assert_eq!(option::policy(&program).expect("an option"), Policy::Bold);

        let mut read = |len| program.read_exact(&mut vec![0; len]).expect("the bytes are delivered");
        conversation.say(0, &[7; 3000], |_, packet| hit_data(packet));
        conversation.wait_for_ack(3000);
        read(3000);
        let accepted = |lite: &Lite| lite.totals().expect("a map").accepted;
        assert_eq!((accepted(&first), accepted(&second)), (3, 0));
        assert_eq!(option::stats(&program).expect("an option").accepted, 3);
        assert_eq!(option::ranges(&program).expect("an option").ranges.len(), 3);

        // The remaining one continues.
        drop(first);
        conversation.say(3000, &[7; 2000], |_, packet| hit_data(packet));
        conversation.wait_for_ack(5000);
        assert!(option::is_on(&program).expect("an option"));
        assert_eq!(accepted(&second), 2);
        option::switch(&program, false).expect("an option");
        assert!(!option::is_on(&program).expect("an option"));
        drop(second);
        has_no_lite(&program);
        Ok(())
    };
    ground.namespace.enter(work).expect("the namespace is there");
}

/// All programs attached to an interface see its packets, whatever their control group.
#[test]
fn an_attachment_of_another_group_is_not_in_the_way() {
    let Some(ground) = Ground::new() else { return };
    let peer = Peer::new(&ground.namespace, false);
    let work = || {
        // Removed with its parent group.
        let empty = ground.group().join("empty");
        fs::create_dir(&empty).expect("a control group");
        let (_other, lite) = (attach(&empty, DEVICE), attach(ground.group(), DEVICE));
        let listener = TcpListener::bind((peer.here, 80)).expect("a listener");
        let mut conversation = peer.connect(80, 40_001, true, |_| {});
        let (program, _) = listener.accept().expect("the peer's connection");
        option::switch(&program, true).expect("an option");
        conversation.say(0, &[7; 3000], |_, packet| hit_data(packet));
        conversation.wait_for_ack(3000);
        assert_eq!(lite.totals().expect("a map").accepted, 3);
        Ok(())
    };
    ground.namespace.enter(work).expect("the namespace is there");
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    let Some(ground) = Ground::new() else { return };
    let work = || {
        let mut lite = Lite::attach(ground.group(), &Settings::on_request(Mode::Recovery)).expect("TCP Lite");
        for name in ["none", "", "a/b", "sixteen-letters-"] {
            let error = lite.add_interface(name).expect_err("it is not there").to_string();
            assert!(
                error.starts_with(&format!("cannot attach TCP Lite to the interface `{name}`: ")),
                "{error}"
            );
        }
        Ok(())
    };
    ground.namespace.enter(work).expect("the namespace is there");
}

#[test]
fn nothing_is_left_when_it_is_dropped() {
    let Some(ground) = Ground::new() else { return };
    let work = || {
        let lite = attach(ground.group(), "lo");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
        let mut client =
            TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        let (mut accepted, _) = listener.accept().expect("the same connection");
        for socket in [listener.as_fd(), client.as_fd(), accepted.as_fd()] {
            option::switch(socket, true).expect("an option");
        }
        let group = fs::metadata(ground.group()).expect("the group").ino();
        let objects = ground::objects::of_group(group);
        assert_eq!((objects.links.len(), objects.programs.len()), (4, 4), "{objects:?}");
        drop(lite);
        for socket in [listener.as_fd(), client.as_fd(), accepted.as_fd()] {
            has_no_lite(socket);
        }
        objects.wait_until_gone();
        // The connection continues.
        client.write_all(b"hello").expect("room");
        accepted.read_exact(&mut [0; 5]).expect("the bytes");
        Ok(())
    };
    ground.namespace.enter(work).expect("the namespace is there");
}
