//! A server in a network namespace of the test's thread, and a far host's kernel at the other end
//! of a cable.

use crate::guest::PATIENCE;
use netlab::address::{self, Address};
use netlab::route::{self, Metrics, Prefix, Route};
use netlab::veth::{self, End};
use netlab::{Namespace, interface, sysctl};
use resoa_protocol::message::Family;
use rustix::thread::UnshareFlags;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// Both ends of the cable; see the [module](self).
pub struct Cable {
    pub here: Namespace,
    far: Namespace,
    /// Indices of the interfaces.
    index: u32,
    far_index: u32,
    /// Addresses of the server and of the far host.
    pub near: IpAddr,
    pub there: IpAddr,
}

pub fn family(address: IpAddr) -> Family {
    if address.is_ipv4() { Family::V4 } else { Family::V6 }
}

fn numbered(is_ipv6: bool, last: u8) -> IpAddr {
    if is_ipv6 { [0xfd00, 0, 0, 0, 0, 0, 0, last.into()].into() } else { [10, 1, 0, last].into() }
}

/// Moves this thread into a namespace of its own, with a cable to a far host. Without root it
/// prints the reason and returns `None`.
#[expect(unsafe_code, reason = "a thread's own namespace")]
pub fn lay(is_ipv6: bool) -> Option<Cable> {
    if !rustix::process::geteuid().is_root() {
        skip::skip!("namespaces need root");
        return None;
    }
    // SAFETY: the descriptor table stays shared, and the thread belongs to the test.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.expect("a namespace");
    let (here, far) = (Namespace::current().expect("a namespace"), Namespace::new().expect("a namespace"));
    for namespace in [&here, &far] {
        interface::loopback_up(namespace).expect("loopback");
        sysctl::calm(namespace).expect("the kernel's settings");
    }
    let end = |namespace, name, last| End { namespace, name, hardware_address: [2, 0, 0, 0, 0, last] };
    veth::pair(end(&here, "near0", 1), end(&far, "far0", 2)).expect("a cable");
    let [index, far_index] = [(&here, "near0"), (&far, "far0")].map(|(namespace, name)| {
        let index = interface::find(namespace, name).expect("was made").index;
        interface::change(namespace, index, &interface::Change::up()).expect("an interface");
        index
    });
    let [near, there] = [1, 2].map(|last| numbered(is_ipv6, last));
    let cable = Cable { here, far, index, far_index, near, there };
    gains(&cable.far, far_index, there);
    leads(&cable.here, index, there);
    cable.server_has(near);
    Some(cable)
}

/// Adds an address to an interface and waits until it can be used.
pub fn gains(namespace: &Namespace, index: u32, address: IpAddr) {
    let prefix_length = if address.is_ipv4() { 32 } else { 128 };
    address::add(namespace, Address { index, address, prefix_length }).expect("an address");
    // The kernel takes a moment to accept a new IPv6 address as its own.
    let begin = Instant::now();
    let knows = || {
        let socket = UdpSocket::bind((address, 0));
        Ok(socket.is_ok_and(|socket| socket.connect((address, 1)).is_ok()))
    };
    while !namespace.enter(knows).expect("a namespace") {
        assert!(begin.elapsed() < PATIENCE, "{address} cannot be reached from itself");
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub fn leads(namespace: &Namespace, index: u32, to: IpAddr) {
    let route = Route::on_link(Prefix::host(to), index, Metrics::default());
    route::add(namespace, &route).expect("a route");
}

impl Cable {
    pub fn family(&self) -> Family {
        family(self.near)
    }

    /// Adds another address to the server and returns it.
    pub fn has_also(&self, last: u8) -> IpAddr {
        let address = numbered(self.near.is_ipv6(), last);
        self.server_has(address);
        address
    }

    fn server_has(&self, address: IpAddr) {
        gains(&self.here, self.index, address);
        leads(&self.far, self.far_index, address);
    }

    /// Makes the far host send packets for an address through the server.
    pub fn leads_to(&self, address: IpAddr) {
        let route = Route::by_way_of(Prefix::host(address), self.near, self.far_index, Metrics::default());
        route::add(&self.far, &route).expect("a route");
    }

    /// Runs a function at the far host, in a thread of its own.
    pub fn at_the_far_host<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.far.enter(|| Ok(work())).expect("a namespace")
    }

    /// Opens a listener at the far host.
    pub fn listener(&self) -> TcpListener {
        self.at_the_far_host(|| TcpListener::bind((self.there, 0)).expect("its own address"))
    }

    /// Opens a datagram socket at the far host.
    pub fn far_datagrams(&self) -> UdpSocket {
        self.at_the_far_host(|| UdpSocket::bind((self.there, 0)).expect("its own address"))
    }

    /// Connects from the far host.
    pub fn far_connects(&self, to: SocketAddr) -> TcpStream {
        self.at_the_far_host(|| TcpStream::connect(to).expect("somebody listens"))
    }
}
