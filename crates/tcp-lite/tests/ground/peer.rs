//! The other host of a connection, simulated: sends the segments that a test wants, damaged as it
//! wants, through a TUN device.
//!
//! It never retransmits by itself: what is lost stays lost unless the test repeats it.

use netlab::Namespace;
use netlab::address::{self, Address};
use netlab::route::{self, Metrics, Prefix, Route};
use netlab::tun::{self, Tun};
use packet::{Field, TcpHeader, checksum};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Longest wait for anything here, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// Name of the device.
pub const DEVICE: &str = "lite0";

/// A host on the other side of a TUN device.
pub struct Peer {
    tun: Tun,
    /// The kernel's address.
    pub here: IpAddr,
    /// The peer's address.
    pub there: IpAddr,
}

impl Peer {
    /// Creates the device in `namespace`, with IPv4 or IPv6 addresses.
    pub fn new(namespace: &Namespace, is_ipv6: bool) -> Self {
        let options = tun::TunOptions { name: DEVICE.into(), ..tun::TunOptions::default() };
        let tun = Tun::open(namespace, &options).expect("a TUN device");
        let (here, there, prefix_length): (IpAddr, IpAddr, u8) = if is_ipv6 {
            ("fd00::1".parse().expect("an address"), "fd00::2".parse().expect("an address"), 128)
        } else {
            ([10, 1, 0, 1].into(), [10, 1, 0, 2].into(), 32)
        };
        let index = tun.index();
        address::add(namespace, Address { index, address: here, prefix_length }).expect("an address");
        let metrics = Metrics { congestion_control: "reno".into(), ..Metrics::default() };
        route::add(namespace, &Route::on_link(Prefix::host(there), index, metrics)).expect("a route");
        Self { tun, here, there }
    }

    /// Hands a packet to the kernel.
    pub fn send(&self, packet: &[u8]) {
        assert_eq!(rustix::io::write(self.tun.as_fd(), packet).expect("the kernel takes it"), packet.len());
    }

    /// Waits for a segment from the kernel that `wanted` accepts.
    pub fn wait_for(&self, what: &str, mut wanted: impl FnMut(&Segment) -> bool) -> Segment {
        let end = Instant::now() + PATIENCE;
        let mut seen = Vec::new();
        while Instant::now() < end {
            let mut ready = [rustix::event::PollFd::new(&self.tun, rustix::event::PollFlags::IN)];
            let wait = rustix::time::Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            if rustix::event::poll(&mut ready, Some(&wait)).expect("poll") == 0 {
                continue;
            }
            let mut bytes = vec![0; 2000];
            let len = rustix::io::read(self.tun.as_fd(), &mut bytes).expect("a packet");
            let Some(segment) = Segment::read(&bytes[..len]) else { continue };
            if wanted(&segment) {
                return segment;
            }
            seen.push(segment.header.get(Field::Acknowledgment));
        }
        panic!("the kernel did not send {what}; it sent acknowledgements {seen:?}");
    }

    /// Connects to a listener of the kernel; `damage` is applied to the SYN.
    pub fn connect(
        &self,
        port: u16,
        from: u16,
        time_stamps: bool,
        damage: impl FnOnce(&mut [u8]),
    ) -> Conversation<'_> {
        let mut conversation = Conversation {
            peer: self,
            port: from,
            their_port: port,
            // Far from those of other connections, like real initial sequence numbers (RFC 6528).
            first: 1_000_000_001_u32.wrapping_add(u32::from(from).wrapping_mul(0x9e37_79b1)),
            ack: 0,
            time_stamps,
            clock: 1000,
            echo: 0,
        };
        let mut options = vec![2, 4, 5, 0xb4];
        if time_stamps {
            options.extend(conversation.stamps());
        }
        let syn = conversation.segment_with(u64::MAX, Field::Syn, &options, &[]);
        let mut damaged = syn.clone();
        damage(&mut damaged);
        self.send(&damaged);
        let answer = self.wait_for("SYN-ACK", |segment| segment.header.get(Field::Syn) == 1);
        conversation.ack = answer.header.get(Field::Sequence).wrapping_add(1);
        conversation.echo = answer.stamp.unwrap_or_default();
        let ack = conversation.segment(0, &[]);
        self.send(&ack);
        conversation
    }
}

/// A segment from the kernel.
pub struct Segment {
    pub header: TcpHeader,
    /// Its time stamp.
    pub stamp: Option<u32>,
    pub payload: usize,
}

impl Segment {
    fn read(packet: &[u8]) -> Option<Self> {
        let at = if packet.first()? >> 4 == 6 { 40 } else { 20 };
        if packet[if at == 40 { 6 } else { 9 }] != 6 {
            return None;
        }
        let segment = &packet[at..];
        let header = TcpHeader::read(segment)?;
        let options = segment.get(20..header.header_len())?;
        let stamp = options.windows(6).find(|bytes| bytes[0] == 8 && bytes[1] == 10);
        let stamp = stamp.map(|bytes| u32::from_be_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]));
        Some(Self { payload: segment.len() - header.header_len(), header, stamp })
    }
}

/// A connection of the peer.
pub struct Conversation<'a> {
    peer: &'a Peer,
    port: u16,
    their_port: u16,
    /// Sequence number of the first byte.
    first: u32,
    ack: u32,
    time_stamps: bool,
    /// Time of the peer's stamps, which advances by one per segment.
    clock: u32,
    echo: u32,
}

impl Conversation<'_> {
    /// Returns a right segment with these bytes of the stream, starting at `offset`.
    pub fn segment(&mut self, offset: u64, payload: &[u8]) -> Vec<u8> {
        self.flagged(offset, Field::Ack, payload)
    }

    /// Returns such a segment with an additional flag. Its time stamp makes it one whose damage TCP
    /// Lite can see.
    pub fn flagged(&mut self, offset: u64, flag: Field, payload: &[u8]) -> Vec<u8> {
        loop {
            self.clock += 1;
            let options = if self.time_stamps { self.stamps() } else { Vec::new() };
            let packet = self.segment_with(offset, flag, &options, payload);
            if !self.time_stamps || is_verifiable(&packet) {
                return packet;
            }
        }
    }

    fn stamps(&self) -> Vec<u8> {
        [&[1, 1, 8, 10][..], &self.clock.to_be_bytes(), &self.echo.to_be_bytes()].concat()
    }

    fn segment_with(&self, offset: u64, flag: Field, options: &[u8], payload: &[u8]) -> Vec<u8> {
        let mut segment = vec![0; 20];
        TcpHeader::read(&[0; 20])
            .expect("20 bytes")
            .with(Field::SourcePort, self.port.into())
            .with(Field::DestinationPort, self.their_port.into())
            .with(Field::Sequence, self.first.wrapping_add(offset as u32))
            .with(Field::Acknowledgment, self.ack)
            .with(Field::DataOffset, 5 + options.len() as u32 / 4)
            .with(Field::Ack, u32::from(self.ack != 0))
            .with(flag, 1)
            .with(Field::Window, 2000)
            .write(&mut segment);
        segment.extend(options);
        segment.extend(payload);
        in_ip(self.peer.there, self.peer.here, segment)
    }

    /// Hands a packet to the kernel.
    pub fn send(&self, packet: &[u8]) {
        self.peer.send(packet);
    }

    /// Sends these bytes of the stream in segments of 1000. `damage` is applied to each, with its
    /// number.
    pub fn say(&mut self, from: u64, bytes: &[u8], damage: impl Fn(usize, &mut [u8])) {
        for (number, piece) in bytes.chunks(1000).enumerate() {
            let mut packet = self.segment(from + number as u64 * 1000, piece);
            damage(number, &mut packet);
            self.send(&packet);
        }
    }

    /// Waits until the kernel has acknowledged this many bytes of the stream. A FIN counts as one.
    pub fn wait_for_ack(&self, bytes: u64) -> Segment {
        let wanted = self.first.wrapping_add(bytes as u32);
        self.peer
            .wait_for("this acknowledgement", |segment| segment.header.get(Field::Acknowledgment) == wanted)
    }

    /// Returns the peer's socket address.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::new(self.peer.there, self.port)
    }
}

/// Returns the offset of the TCP segment.
pub fn tcp_at(packet: &[u8]) -> usize {
    if packet[0] >> 4 == 6 { 40 } else { 20 }
}

/// Damages only the checksum field (TL-13).
pub fn spoil(packet: &mut [u8]) {
    let at = tcp_at(packet) + 16;
    packet[at] ^= SPOILED_BITS;
}

/// The bits that [`spoil`] flips.
const SPOILED_BITS: u8 = 0x55;

/// Whether damage to this segment shows. It does not if the checksum, as it is or spoiled, is the
/// sum of the pseudo-header by accident, as of one in 32768: TCP Lite then takes it for a segment
/// whose checksum was left to a device.
fn is_verifiable(packet: &[u8]) -> bool {
    let at = tcp_at(packet) + 16;
    let [high, low] = pseudo_sum(packet).to_be_bytes();
    packet[at + 1] != low || (packet[at] != high && packet[at] ^ SPOILED_BITS != high)
}

/// Flips a bit of the last byte.
pub fn hit_data(packet: &mut [u8]) {
    *packet.last_mut().expect("there are data") ^= HIT;
}

/// The bit that [`hit_data`] flips.
pub const HIT: u8 = 0x20;

/// Changes a field, and leaves the checksum wrong.
pub fn hit_field(packet: &mut [u8], field: Field, change: impl FnOnce(u32) -> u32) {
    let at = tcp_at(packet);
    let header = TcpHeader::read(&packet[at..]).expect("a header");
    header.with(field, change(header.get(field))).write(&mut packet[at..]);
}

/// Corrects the checksum.
pub fn complete(packet: &mut [u8]) {
    let at = tcp_at(packet);
    packet[at + 16..at + 18].fill(0);
    let sum = checksum::add(pseudo_sum(packet), checksum::sum(&packet[at..]));
    packet[at + 16..at + 18].copy_from_slice(&(!sum).to_be_bytes());
}

/// Returns the sum of the pseudo-header (RFC 9293 section 3.1).
fn pseudo_sum(packet: &[u8]) -> u16 {
    let at = tcp_at(packet);
    let mut pseudo = packet[if at == 40 { 8 } else { 12 }..at].to_vec();
    pseudo.extend([0, 6]);
    pseudo.extend(((packet.len() - at) as u16).to_be_bytes());
    checksum::sum(&pseudo)
}

/// Returns the segment with a right checksum in an IP packet.
fn in_ip(from: IpAddr, to: IpAddr, segment: Vec<u8>) -> Vec<u8> {
    let len = segment.len() as u16;
    let mut packet = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let mut header = vec![0x45, 0];
            header.extend((len + 20).to_be_bytes());
            header.extend([0, 7, 0x40, 0, 64, 6, 0, 0]);
            header.extend(from.octets());
            header.extend(to.octets());
            checksum::recompute_ipv4(&mut header);
            header
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let mut header = vec![0x60, 0, 0, 0];
            header.extend(len.to_be_bytes());
            header.extend([6, 64]);
            header.extend(from.octets());
            header.extend(to.octets());
            header
        }
        _ => unreachable!("both are of one family"),
    };
    packet.extend(segment);
    complete(&mut packet);
    packet
}
