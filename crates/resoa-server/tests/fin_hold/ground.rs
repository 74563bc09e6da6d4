//! Network namespace of the test's thread, for a server.

use crate::guest::PATIENCE;
use netlab::address::{self, Address};
use netlab::route::{self, Metrics, Prefix, Route};
use netlab::{Namespace, interface, sysctl};
use rustix::thread::UnshareFlags;
use std::net::{IpAddr, UdpSocket};
use std::time::{Duration, Instant};

/// A combination of conditions that each test is repeated for.
#[derive(Debug, Clone, Copy)]
pub struct Way {
    pub is_ipv6: bool,
    pub stamps: bool,
    pub sack: bool,
}

/// Both IP versions with all options of acknowledgements, and with fewer.
pub const WAYS: [Way; 4] = [
    Way { is_ipv6: false, stamps: true, sack: true },
    Way { is_ipv6: true, stamps: true, sack: true },
    Way { is_ipv6: false, stamps: false, sack: true },
    Way { is_ipv6: true, stamps: false, sack: false },
];

impl Way {
    /// Addresses of the server and of the far host.
    pub fn addresses(self) -> [IpAddr; 2] {
        if self.is_ipv6 {
            [1, 2].map(|last| [0xfd00, 0, 0, 0, 0, 0, 0, last].into())
        } else {
            [1, 2].map(|last| [10, 1, 0, last].into())
        }
    }
}

/// Moves this thread into a namespace of its own and sets the options of all its connections.
/// Without root it prints the reason and returns false.
pub fn enter(way: Way) -> bool {
    if !rustix::process::geteuid().is_root() {
        skip::skip!("eBPF programs and namespaces need root");
        return false;
    }
    // SAFETY: the descriptor table stays shared, and the thread belongs to the test.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.expect("a namespace");
    let here = Namespace::current().expect("a namespace");
    interface::loopback_up(&here).expect("loopback");
    prepare(&here, way);
    true
}

pub fn prepare(namespace: &Namespace, way: Way) {
    sysctl::calm(namespace).expect("the kernel's settings");
    let write = |key: &str, value: bool| {
        sysctl::write(namespace, key, if value { "1" } else { "0" }).expect("the kernel has it");
    };
    write("net.ipv4.tcp_timestamps", way.stamps);
    write("net.ipv4.tcp_sack", way.sack);
    write("net.ipv4.tcp_dsack", way.sack);
}

/// Adds the address `here` and a route to `there` at the interface with this index.
pub fn join(namespace: &Namespace, index: u32, here: IpAddr, there: IpAddr) {
    let prefix_length = if here.is_ipv4() { 32 } else { 128 };
    address::add(namespace, Address { index, address: here, prefix_length }).expect("an address");
    let metrics = Metrics { congestion_control: "reno".into(), ..Metrics::default() };
    route::add(namespace, &Route::on_link(Prefix::host(there), index, metrics)).expect("a route");
    // The kernel takes a moment to accept a new IPv6 address as its own.
    let begin = Instant::now();
    let knows = || {
        let socket = UdpSocket::bind((here, 0)).expect("it is there");
        Ok(socket.connect((here, 1)).is_ok())
    };
    while !namespace.enter(knows).expect("a namespace") {
        assert!(begin.elapsed() < PATIENCE, "{here} cannot be reached from itself");
        std::thread::sleep(Duration::from_millis(1));
    }
}
