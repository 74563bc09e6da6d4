//! A client with a TCP/IP stack of its own, whose remote sockets have its own address (5.3.6): the
//! server uses the address without owning it. The client's network is a TAP device. The test is the
//! client's host at its other end, frame by frame.
//!
//! ```text
//! client's host, 10.2.0.9 ── access0, the server, near0 10.1.0.1 ── 10.1.0.2, far host
//! ```

use crate::cable::{self, Cable};
use crate::guest::PATIENCE;
use crate::site::{Site, policy};
use crate::wire::{connects, is_reached, listens, sends};
use netlab::sysctl;
use netlab::tun::{self, Tun};
use packet::Layer;
use resoa_protocol::message::AddressMode;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Addresses of the client and of the server in the client's network.
const CLIENTS: Ipv4Addr = Ipv4Addr::new(10, 2, 0, 9);
const ACCESS: Ipv4Addr = Ipv4Addr::new(10, 2, 0, 1);
/// Another address of the client's host, used only for ARP requests.
const OTHER: Ipv4Addr = Ipv4Addr::new(10, 2, 0, 8);
/// The client's hardware address.
const HARDWARE: [u8; 6] = [2, 0, 0, 0, 0, 9];
const EVERYBODY: [u8; 6] = [0xff; 6];
/// Operations of ARP (RFC 826).
const REQUEST: u8 = 1;
const REPLY: u8 = 2;

/// Firewall rules: a packet to the client's address goes to the server if it belongs to one of its
/// sockets with that address, and to the client otherwise.
const OWN_SOCKETS: &str = "table inet sockets {
    chain before { type filter hook prerouting priority mangle; policy accept; socket transparent 1 meta mark set 1; }
}
";

/// The client's host.
struct ClientsHost {
    tun: Tun,
    /// Hardware addresses that claimed the client's address in ARP.
    claims: Vec<[u8; 6]>,
}

impl ClientsHost {
    fn writes(&self, to: [u8; 6], kind: [u8; 2], content: &[u8]) {
        let frame = [&to, &HARDWARE, &kind[..], content].concat();
        assert_eq!(rustix::io::write(&self.tun, &frame), Ok(frame.len()));
    }

    fn says(&self, to: [u8; 6], operation: u8, own: Ipv4Addr, other: ([u8; 6], Ipv4Addr)) {
        let fixed = [0, 1, 8, 0, 6, 4, 0, operation];
        let content = [&fixed[..], &HARDWARE, &own.octets(), &other.0, &other.1.octets()].concat();
        self.writes(to, [8, 6], &content);
    }

    /// Returns the server's next frame that is not a request for the client's hardware address.
    /// Answers such requests, and records claims.
    fn hears(&mut self) -> Vec<u8> {
        let begin = Instant::now();
        loop {
            let mut frame = vec![0; 2000];
            match rustix::io::read(&self.tun, &mut frame) {
                Ok(length) => frame.truncate(length),
                Err(rustix::io::Errno::AGAIN) => {
                    assert!(begin.elapsed() < PATIENCE, "the server says nothing");
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                }
                Err(error) => panic!("{error}"),
            }
            if frame[12..14] != [8, 6] {
                return frame;
            }
            let (hardware, sender) = (frame[22..28].try_into().expect("six"), &frame[28..32]);
            if sender == CLIENTS.octets() {
                self.claims.push(hardware);
            }
            if frame[21] == REQUEST && frame[38..42] == CLIENTS.octets() {
                let asked = Ipv4Addr::from(<[u8; 4]>::try_from(sender).expect("four"));
                self.says(hardware, REPLY, CLIENTS, (hardware, asked));
            } else {
                return frame;
            }
        }
    }

    /// Whether anybody answers a probe for the client's address (RFC 5227 section 2.1.1). The
    /// server handles frames in order, so the answer to a later request shows that the probe was
    /// handled.
    fn finds_a_conflict(&mut self) -> bool {
        let before = self.claims.len();
        self.says(EVERYBODY, REQUEST, Ipv4Addr::UNSPECIFIED, ([0; 6], CLIENTS));
        self.says(EVERYBODY, REQUEST, OTHER, ([0; 6], ACCESS));
        loop {
            let frame = self.hears();
            if frame[12..14] == [8, 6] && frame[21] == REPLY && frame[28..32] == ACCESS.octets() {
                return self.claims.len() > before;
            }
        }
    }

    /// Sends a datagram from the client's own stack.
    fn sends_natively(&self, server: [u8; 6], to: (Ipv4Addr, u16), from: u16, octets: &[u8]) {
        let udp = 8 + octets.len() as u16;
        let mut packet = vec![0x45, 0];
        packet.extend((20 + udp).to_be_bytes());
        packet.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
        packet.extend(CLIENTS.octets().into_iter().chain(to.0.octets()));
        packet::checksum::recompute_ipv4(&mut packet);
        // A UDP datagram over IPv4 may have no checksum.
        for field in [from, to.1, udp, 0] {
            packet.extend(field.to_be_bytes());
        }
        packet.extend(octets);
        self.writes(server, [8, 0], &packet);
    }
}

/// Creates the client's network at the server.
fn access(cable: &Cable) -> ClientsHost {
    let options = tun::TunOptions {
        name: "access0".into(),
        layer: Layer::Ethernet,
        hardware_address: [2, 0, 0, 0, 0, 8],
        ..tun::TunOptions::default()
    };
    let tun = Tun::open(&cable.here, &options).expect("a TAP device");
    cable::gains(&cable.here, tun.index(), ACCESS.into());
    for address in [CLIENTS, OTHER] {
        cable::leads(&cable.here, tun.index(), address.into());
    }
    sysctl::write(&cable.here, "net.ipv4.ip_forward", "1").expect("the kernel has it");
    ClientsHost { tun, claims: Vec::new() }
}

/// Runs a command with this input in the namespace of this thread.
fn command(words: &str, input: &str) {
    let mut words = words.split_whitespace();
    let mut child = Command::new(words.next().expect("a command"))
        .args(words)
        .stdin(Stdio::piped())
        .spawn()
        .expect("iproute2 and nftables are installed");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("is read");
    assert!(child.wait().expect("ends").success());
}

/// C09: a client brings its own address. The far host sees it on streams and datagrams of remote
/// sockets, and reaches a remote listener at it. The client's own stack keeps using the same
/// address through the same server, and only the client's host claims the address in its network. A
/// server that owns the address shows that the test would detect a conflict.
#[test]
fn a_client_and_its_server_have_one_address() {
    let Some(cable) = cable::lay(false) else { return };
    let mut host = access(&cable);
    cable.leads_to(CLIENTS.into());
    command("nft -f -", OWN_SOCKETS);
    command("ip rule add fwmark 1 lookup 100", "");
    command("ip route add local default dev lo table 100", "");

    let mut site = Site::new(policy(&format!("[clients.a]\nkey = \"KEY1\"\nbrings = [\"{CLIENTS}\"]\n")));
    let guest = site.registered(1, AddressMode::Brought(CLIENTS.into()));
    let own = IpAddr::from(CLIENTS);
    assert_eq!(connects(&mut site, guest, &cable), own);
    assert_eq!(sends(&mut site, guest, &cable), own);
    let listener = listens(&mut site, guest, own).expect("the port is free");
    is_reached(&mut site, guest, listener, own, &cable);

    let far = cable.far_datagrams();
    let IpAddr::V4(there) = cable.there else { unreachable!("of version 4") };
    let port = far.local_addr().expect("is bound").port();
    host.sends_natively([2, 0, 0, 0, 0, 8], (there, port), 5000, b"natively");
    let mut octets = [0; 8];
    assert_eq!(far.recv_from(&mut octets).expect("arrives"), (8, (CLIENTS, 5000).into()));
    assert_eq!(octets, *b"natively");
    far.send_to(b"answered", (CLIENTS, 5000)).expect("is taken");
    while !host.hears().ends_with(b"answered") {}

    assert!(!host.finds_a_conflict());
    assert!(host.claims.is_empty(), "{:?}", host.claims);
    command(&format!("ip route add local {CLIENTS} dev lo"), "");
    assert!(host.finds_a_conflict());
}
