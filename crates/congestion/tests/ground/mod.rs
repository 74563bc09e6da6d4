//! Common ground of the tests: two namespaces joined by a cable that can lose segments, and the
//! kernel's eBPF objects.
#![allow(dead_code, reason = "each user uses a part of it")]

pub mod objects;

use netlab::address::{self, Address};
use netlab::offload::{self, Offloads};
use netlab::route::{self, Metrics, Prefix, Route};
use netlab::{Namespace, interface, tcp, veth};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

const SENDER: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
pub const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);

/// Registered names are the machine's, so tests take turns.
static TURN: Mutex<()> = Mutex::new(());

/// A sender, a receiver, and the cable between them.
pub struct Cable {
    pub sender: Namespace,
    pub receiver: Namespace,
    _turn: MutexGuard<'static, ()>,
}

impl Cable {
    /// Makes a cable; returns `None` and prints why if that is impossible here.
    pub fn new() -> Option<Self> {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        if !rustix::process::geteuid().is_root() {
            skip::skip!("eBPF programs and namespaces need root");
            return None;
        }
        if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
            skip::skip!("this kernel does not describe itself");
            return None;
        }
        let (sender, receiver) =
            (Namespace::new().expect("a namespace"), Namespace::new().expect("a namespace"));
        let end =
            |namespace, name, last| veth::End { namespace, name, hardware_address: [2, 0, 0, 0, 9, last] };
        veth::pair(end(&sender, "sender0", 1), end(&receiver, "receiver0", 2)).expect("a cable");
        for (namespace, name, own, peer) in
            [(&sender, "sender0", SENDER, RECEIVER), (&receiver, "receiver0", RECEIVER, SENDER)]
        {
            interface::loopback_up(namespace).expect("loopback");
            // So that each packet is one segment, and is lost alone.
            offload::set(namespace, name, Offloads::NONE).expect("offloads");
            let index = interface::find(namespace, name).expect("the device").index;
            interface::change(namespace, index, &interface::Change::up()).expect("up");
            address::add(namespace, Address { index, address: own.into(), prefix_length: 32 })
                .expect("an address");
            let metrics = Metrics { congestion_control: "reno".into(), ..Metrics::default() };
            route::add(namespace, &Route::on_link(Prefix::host(peer.into()), index, metrics))
                .expect("a route");
            netlab::sysctl::write(namespace, "net.ipv4.tcp_no_metrics_save", "1").expect("a sysctl");
        }
        Some(Self { sender, receiver, _turn: turn })
    }

    /// Drops every `one_in`th packet that reaches the receiver from now on.
    pub fn lose(&self, one_in: u32) {
        let rules = format!(
            "add table inet loss; add chain inet loss input {{ type filter hook input priority 0; }}; \
             add rule inet loss input numgen inc mod {one_in} == {} drop",
            one_in - 1
        );
        self.receiver
            .enter(|| {
                let done = Command::new("nft").arg(rules).status().expect("nftables is installed");
                assert!(done.success(), "nft refuses the rule");
                Ok(())
            })
            .expect("the namespace is there");
    }

    /// Connects from the sender, with this congestion control, to the receiver.
    pub fn connection(&self, congestion_control: &str) -> (TcpStream, TcpStream) {
        let listener = self.receiver.enter(|| Ok(TcpListener::bind((RECEIVER, 0)).expect("listen")));
        let (from, to) = self.connect(&listener.expect("the namespace is there"));
        tcp::set_congestion_control(&from, congestion_control).expect("it is registered");
        (from, to)
    }

    /// Connects within the sender's namespace, where no route sets a congestion control.
    pub fn local_connection(&self) -> (TcpStream, TcpStream) {
        let listener = self.sender.enter(|| Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("listen")));
        self.connect(&listener.expect("the namespace is there"))
    }

    fn connect(&self, listener: &TcpListener) -> (TcpStream, TcpStream) {
        let to = listener.local_addr().expect("an address");
        let from = self.sender.enter(|| Ok(TcpStream::connect(to).expect("connect"))).expect("a connection");
        (from, listener.accept().expect("accept").0)
    }
}

/// Sends `bytes` bytes and checks that they arrive unchanged.
pub fn transfer(from: &mut TcpStream, to: &mut TcpStream, bytes: usize) {
    let sent: Vec<u8> = (0..bytes).map(|place| (place * 31 / 7) as u8).collect();
    let received = std::thread::scope(|scope| {
        scope.spawn(|| from.write_all(&sent).expect("send"));
        let mut received = vec![0; bytes];
        to.read_exact(&mut received).expect("receive");
        received
    });
    assert!(received == sent, "other bytes have arrived than were sent");
}
