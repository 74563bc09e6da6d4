//! A simulated far host: it sends only the segments that a test wants, over a TUN device, so that
//! each answer has one cause.

use crate::ground::{WAYS, Way, enter, join};
use crate::guest::PATIENCE;
use crate::rig::{Rig, Turns};
use netlab::Namespace;
use netlab::tun::{self, Tun};
use packet::checksum::{self, ChecksumStatus};
use packet::segment::Content;
use packet::{Headers, Layer, Segment, Tcp};
use resoa_protocol::message::Operation;
use resoa_protocol::{RsockId, Settings, Value};
use resoa_server::FinHold;
use rustix::io::Errno;
use std::net::{IpAddr, SocketAddr};
use std::ops::{Deref, DerefMut};
use std::os::fd::AsFd;
use std::time::Instant;

/// Name of the device.
const DEVICE: &str = "far0";
/// The far host's port, and its initial sequence number, which soon wraps around.
pub const PORT: u16 = 7000;
const FIRST: u32 = u32::MAX - 5;
/// Sequence number of its first byte.
pub const FIRST_OCTET: u32 = FIRST + 1;
/// Number of turns after which the server has sent everything that it would send.
const QUIET: usize = 60;

/// The far host; see the [module](self).
pub struct Far {
    tun: Tun,
    way: Way,
    here: IpAddr,
    there: IpAddr,
    connection: Connection,
    /// Whether its packets have IP options or an extension header, without meaning.
    pub extends: bool,
}

/// One of its connections.
#[derive(Debug, Clone, Copy)]
pub struct Connection {
    /// Its own port and the server's.
    pub own: u16,
    pub port: u16,
    /// Its own next sequence number, and the one that it expects.
    pub next: u32,
    pub expected: u32,
    /// The server's last time stamp.
    echo: u32,
    clock: u32,
}

impl Connection {
    const NONE: Self = Self { own: PORT, port: 0, next: FIRST, expected: 0, echo: 0, clock: 1000 };
}

impl Deref for Far {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for Far {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

/// Creates the far host and a server, with FINs held at the device or not.
pub fn far(way: Way, holds: bool) -> (Far, Rig) {
    far_with(way, |device| holds.then(|| FinHold::attach(&[device]).expect("FINs are held")))
}

/// The same with this hold.
pub fn far_with(way: Way, hold: impl FnOnce(&str) -> Option<FinHold>) -> (Far, Rig) {
    let namespace = Namespace::current().expect("a namespace");
    let [here, there] = way.addresses();
    let options = tun::TunOptions { name: DEVICE.into(), ..tun::TunOptions::default() };
    let tun = Tun::open(&namespace, &options).expect("a TUN device");
    join(&namespace, tun.index(), here, there);
    rustix::io::ioctl_fionbio(&tun, true).expect("a descriptor");
    let rig = Rig::holding(here, Settings::default(), hold(DEVICE));
    (Far { tun, way, here, there, connection: Connection::NONE, extends: false }, rig)
}

/// Runs a test in every way that this machine permits, with a FIN hold or without.
pub fn in_all_ways(holds: bool, test: impl Fn(Far, Rig)) {
    for way in WAYS {
        if !enter(way) {
            return;
        }
        println!("{way:?}");
        let (far, rig) = far(way, holds);
        test(far, rig);
    }
}

impl Far {
    pub fn address(&self) -> SocketAddr {
        SocketAddr::new(self.there, PORT)
    }

    pub fn way(&self) -> Way {
        self.way
    }

    /// Returns its current connection.
    pub fn talks_by(&self) -> Connection {
        self.connection
    }

    /// Switches to another connection.
    pub fn resumes(&mut self, connection: Connection) {
        self.connection = connection;
    }

    /// Creates a socket that is connected to it. This becomes its current connection.
    pub fn connected(&mut self, rig: &mut Rig) -> RsockId {
        let socket = rig.socket();
        self.takes(rig, socket);
        socket
    }

    /// Connects an existing socket to it.
    pub fn takes(&mut self, rig: &mut Rig, socket: RsockId) {
        let connect = rig.begin(socket, Operation::Connect(self.address()));
        self.answers(rig);
        assert_eq!(rig.until(|rig| rig.ended(connect)), Ok(Value::Done));
    }

    /// Answers a SYN of any socket.
    pub fn answers(&mut self, rig: &mut Rig) {
        self.connection = Connection::NONE;
        let syn = self.hears(rig);
        assert_eq!(syn.tcp.flags & (Tcp::SYN | Tcp::ACK), Tcp::SYN);
        self.port = syn.source_port;
        self.expected = syn.tcp.sequence.wrapping_add(1);
        let (next, agreed) = (self.next, self.agreed());
        self.sends(Tcp::SYN | Tcp::ACK, next, b"", &agreed);
        self.next = self.next.wrapping_add(1);
        let ack = self.hears(rig);
        assert_eq!((ack.tcp.flags, ack.tcp.acknowledgment), (Tcp::ACK, self.next));
    }

    /// Connects from it to a port of the server.
    pub fn connects(&mut self, rig: &mut Rig, port: u16) {
        self.asks(PORT, port);
        self.is_answered(rig);
    }

    /// Sends a SYN from one of its ports to one of the server's.
    pub fn asks(&mut self, own: u16, port: u16) {
        self.connection = Connection { own, port, ..Connection::NONE };
        let (next, agreed) = (self.next, self.agreed());
        self.sends(Tcp::SYN, next, b"", &agreed);
        self.next = self.next.wrapping_add(1);
    }

    /// Expects the answer to its SYN.
    pub fn is_answered(&mut self, rig: &mut Rig) {
        let syn = self.hears(rig);
        assert_eq!(syn.tcp.flags & (Tcp::SYN | Tcp::ACK), Tcp::SYN | Tcp::ACK);
        self.expected = syn.tcp.sequence.wrapping_add(1);
    }

    /// Options of its SYN.
    fn agreed(&self) -> Vec<u8> {
        let sack: &[u8] = if self.way.sack { &[1, 1, 4, 2] } else { &[] };
        [&[2, 4, 5, 0xb4], sack].concat()
    }

    /// Sends new data.
    pub fn tells(&mut self, flags: u8, octets: &[u8]) {
        self.sends(flags | Tcp::ACK, self.next, octets, &[]);
        let fin = u32::from(flags & Tcp::FIN != 0);
        self.next = self.next.wrapping_add(octets.len() as u32 + fin);
    }

    /// Sends a segment from any position of its stream.
    pub fn sends(&mut self, flags: u8, sequence: u32, octets: &[u8], options: &[u8]) {
        let mut options = options.to_vec();
        if self.way.stamps {
            self.clock += 10;
            options.extend([1, 1, 8, 10]);
            options.extend(self.clock.to_be_bytes());
            options.extend(self.echo.to_be_bytes());
        }
        let length = 20 + options.len() + octets.len();
        let mut packet = match (self.there, self.here) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let options: &[u8] = if self.extends { &[1; 8] } else { &[] };
                let header = 20 + options.len();
                let mut packet = vec![0x40 | (header / 4) as u8, 0];
                packet.extend(((header + length) as u16).to_be_bytes());
                packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
                packet.extend(from.octets().into_iter().chain(to.octets()));
                packet.extend(options);
                checksum::recompute_ipv4(&mut packet);
                packet
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let mut packet = vec![0x60, 0, 0, 0];
                // Destination options (RFC 8200 section 4.6): bytes of padding.
                let extension: &[u8] = if self.extends { &[6, 0, 1, 4, 0, 0, 0, 0] } else { &[] };
                packet.extend(((extension.len() + length) as u16).to_be_bytes());
                packet.extend([if self.extends { 60 } else { 6 }, 64]);
                packet.extend(from.octets().into_iter().chain(to.octets()));
                packet.extend(extension);
                packet
            }
            _ => unreachable!("both are of one version"),
        };
        let start = packet.len();
        packet.extend(self.own.to_be_bytes().into_iter().chain(self.port.to_be_bytes()));
        packet.extend(sequence.to_be_bytes().into_iter().chain(self.expected.to_be_bytes()));
        packet.extend([((20 + options.len()) as u8 / 4) << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
        packet.extend(options.iter().chain(octets));
        let headers = Headers::parse(Layer::Ip, &packet).expect("IP");
        let pseudo = checksum::pseudo_header(&packet, &headers, length);
        packet[start + 16..start + 18].copy_from_slice(&pseudo.to_be_bytes());
        assert!(checksum::complete(&mut packet, start, 16));
        assert_eq!(rustix::io::write(&self.tun, &packet), Ok(packet.len()));
    }

    /// Returns the next segment of the server that has arrived, after checking its checksum.
    pub fn found(&mut self) -> Option<Segment> {
        loop {
            let mut octets = vec![0; 2000];
            let length = match rustix::io::read(self.tun.as_fd(), &mut octets) {
                Ok(length) => length,
                Err(Errno::AGAIN) => return None,
                Err(error) => panic!("{error}"),
            };
            octets.truncate(length);
            let Ok(Content::Tcp(segment)) = Segment::read(&octets) else { continue };
            let headers = Headers::parse(Layer::Ip, &octets).expect("IP");
            assert_eq!(checksum::verify(&octets, &headers), ChecksumStatus::Right, "{segment:?}");
            assert_eq!((segment.source, segment.destination), (self.here, self.there));
            assert_options(&octets[headers.segment().start..]);
            let is_reset = segment.tcp.has(Tcp::RST);
            assert!(is_reset || segment.options.timestamps.is_some() == self.way.stamps, "{segment:?}");
            // Each connection has a clock of its own.
            let is_its_own =
                segment.destination_port == self.own && [0, segment.source_port].contains(&self.port);
            if let Some((value, _)) = segment.options.timestamps
                && is_its_own
            {
                assert!(value.wrapping_sub(self.echo) < 1 << 31 || self.echo == 0, "goes back: {segment:?}");
                self.echo = value;
            }
            return Some(segment);
        }
    }

    /// Waits for the next segment of the server.
    pub fn hears(&mut self, rig: &mut Rig) -> Segment {
        let begin = Instant::now();
        loop {
            if let Some(segment) = self.found() {
                return segment;
            }
            assert!(begin.elapsed() < PATIENCE, "the server says nothing");
            rig.turn();
        }
    }

    /// Expects an acknowledgement of exactly everything before this number, without data.
    pub fn hears_ack(&mut self, rig: &mut Rig, number: u32) -> Segment {
        let segment = self.hears(rig);
        let seen = (segment.tcp.flags & !Tcp::PSH, segment.tcp.acknowledgment, segment.payload);
        assert_eq!(seen, (Tcp::ACK, number, 0), "{segment:?}");
        assert_eq!(segment.tcp.sequence, self.expected, "{segment:?}");
        segment
    }

    /// Asserts that the server sends nothing.
    pub fn hears_nothing(&mut self, rig: &mut Rig) {
        for _ in 0..QUIET {
            rig.turn();
            if let Some(segment) = self.found() {
                panic!("nobody asked for {segment:?}");
            }
        }
    }
}

/// Asserts that the header contains only options that a kernel sends, up to its end.
fn assert_options(segment: &[u8]) {
    let header = &segment[..usize::from(segment[12] >> 4) * 4];
    let mut options = &header[20..];
    while let [kind, rest @ ..] = options {
        options = match (kind, rest) {
            (1, _) => rest,
            (2..=5 | 8, [length @ 2..=40, ..]) if usize::from(*length) <= options.len() => {
                &options[usize::from(*length)..]
            }
            _ => panic!("no option of a kernel's: {options:?} in {header:?}"),
        };
    }
}
