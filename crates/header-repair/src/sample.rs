//! Segments for tests, built by etherparse, and a host with their sockets.

use crate::{Handshake, Parameters, Policy, Receiver, SegmentVerdict, Settings, SocketView, Sockets, Tuple};
use etherparse::{IpNumber, Ipv4Header, Ipv6FlowLabel, Ipv6Header, PacketBuilder, TcpHeader};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::ops::Range;

/// Returns time stamps as Linux writes them, with this `TSval`.
pub fn stamps(value: u32) -> [u8; 12] {
    let mut options = [1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0x30, 0x39];
    options[4..8].copy_from_slice(&value.to_be_bytes());
    options
}

/// One SACK block behind two NOPs.
pub fn sack() -> [u8; 12] {
    [1, 1, 5, 10, 0, 0, 0x10, 0, 0, 0, 0x20, 0]
}

/// Returns `len` bytes whose pattern does not repeat soon.
pub fn text(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 31 + n / 251) as u8).collect()
}

/// A segment that arrives.
#[derive(Debug, Clone)]
pub struct Sample {
    pub ipv6: bool,
    pub remote_port: u16,
    pub local_port: u16,
    pub seq: u32,
    pub ack: u32,
    pub window: u16,
    /// Bits as in byte 13 of the header.
    pub flags: u8,
    pub options: Vec<u8>,
    pub payload: Vec<u8>,
}

pub const ACK: u8 = 0x10;
pub const PSH: u8 = 0x08;
pub const FIN: u8 = 0x01;
pub const S: u16 = 536;
/// First sequence number of the stream that [`Line`] receives.
pub const FIRST: u32 = 0x1357_9bdf;
/// Acknowledgment number of that stream's first segment.
pub const ACKED: u32 = 0x2468_ace0;

impl Default for Sample {
    /// The first segment of the stream.
    fn default() -> Self {
        Self {
            ipv6: false,
            remote_port: 80,
            local_port: 40000,
            seq: FIRST,
            ack: ACKED,
            window: 502,
            flags: ACK,
            options: Vec::new(),
            payload: text(usize::from(S)),
        }
    }
}

impl Sample {
    pub fn tuple(&self) -> Tuple {
        let [remote, local]: [std::net::IpAddr; 2] = if self.ipv6 {
            [[1; 16].into(), [2; 16].into()]
        } else {
            [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()]
        };
        Tuple::new(SocketAddr::new(remote, self.remote_port), SocketAddr::new(local, self.local_port))
    }

    /// Returns the offset of the TCP header.
    pub fn transport(&self) -> usize {
        if self.ipv6 { 40 } else { 20 }
    }

    /// Returns the position of the payload.
    pub fn data(&self) -> Range<usize> {
        let start = self.transport() + 20 + self.options.len();
        start..start + self.payload.len()
    }

    pub fn build(&self) -> Vec<u8> {
        let mut tcp = TcpHeader::new(self.remote_port, self.local_port, self.seq, self.window);
        tcp.acknowledgment_number = self.ack;
        let has = |bit: u8| self.flags >> bit & 1 == 1;
        (tcp.fin, tcp.syn, tcp.rst, tcp.psh) = (has(0), has(1), has(2), has(3));
        (tcp.ack, tcp.urg, tcp.ece, tcp.cwr) = (has(4), has(5), has(6), has(7));
        tcp.set_options_raw(&self.options).expect("whole words");
        let step = if self.ipv6 {
            PacketBuilder::ip(etherparse::IpHeaders::Ipv6(
                Ipv6Header {
                    traffic_class: 0,
                    flow_label: Ipv6FlowLabel::ZERO,
                    payload_length: 0,
                    next_header: IpNumber::TCP,
                    hop_limit: 60,
                    source: [1; 16],
                    destination: [2; 16],
                },
                etherparse::Ipv6Extensions::default(),
            ))
        } else {
            let ip = Ipv4Header::new(0, 60, IpNumber::TCP, [10, 0, 0, 1], [10, 0, 0, 2]).expect("fits");
            PacketBuilder::ip(etherparse::IpHeaders::Ipv4(ip, etherparse::Ipv4Extensions::default()))
        };
        let mut packet = Vec::new();
        step.tcp_header(tcp).write(&mut packet, &self.payload).expect("fits");
        packet
    }
}

/// Returns the packet with one wrong bit in its TCP segment; bit 0 is the most significant bit of
/// the source port.
pub fn hit(packet: &[u8], transport: usize, bit: usize) -> Vec<u8> {
    let mut packet = packet.to_vec();
    packet[transport + bit / 8] ^= 0x80 >> (bit % 8);
    packet
}

/// Sockets by their connection.
#[derive(Debug, Clone, Default)]
pub struct Host(pub HashMap<Tuple, SocketView>);

impl Sockets for Host {
    fn view(&self, connection: &Tuple) -> Option<SocketView> {
        self.0.get(connection).copied()
    }
}

pub fn on(policy: Policy) -> Settings {
    Settings { on: true, policy, window: None }
}

/// Returns a socket that expects this segment, and has no unacknowledged data in flight.
pub fn view(first: &Sample, settings: Settings) -> SocketView {
    SocketView { rcv_nxt: first.seq, bytes_received: 0, snd_una: first.ack, snd_nxt: first.ack, settings }
}

/// A receiver with connections whose streams start at [`FIRST`], and their sockets.
#[derive(Debug, Clone)]
pub struct Line {
    pub receiver: Receiver,
    pub host: Host,
}

impl Line {
    pub fn new(parameters: Parameters) -> Self {
        Self { receiver: Receiver::new(parameters), host: Host::default() }
    }

    /// Opens the connection of `first` with Lite on, and with its options if they have 12 bytes or
    /// more.
    pub fn open(&mut self, first: &Sample, policy: Policy) {
        let options = first.options.first_chunk().copied();
        let handshake = Handshake {
            rcv_nxt: first.seq,
            ack: first.ack,
            window: first.window,
            options,
            unsupported: false,
        };
        self.receiver.open(first.tuple(), handshake, true);
        let view = view(first, on(policy));
        self.host.0.insert(first.tuple(), view);
    }

    /// Returns a line with the connection of `first` after that segment arrived undamaged, so that
    /// S is known.
    pub fn after(first: &Sample, policy: Policy) -> Self {
        let mut line = Self::new(Parameters::default());
        line.open(first, policy);
        assert_eq!(line.take(&mut first.build()), SegmentVerdict::Pass);
        line.receive(&first.tuple(), first.payload.len());
        line
    }

    pub fn take(&mut self, packet: &mut [u8]) -> SegmentVerdict {
        self.receiver.packet(packet, None, 0, &self.host)
    }

    /// The socket takes in `len` more bytes.
    pub fn receive(&mut self, connection: &Tuple, len: usize) {
        let view = self.view(connection);
        view.rcv_nxt = view.rcv_nxt.wrapping_add(len as u32);
        view.bytes_received += len as u64;
    }

    /// The socket has taken in `bytes` in total.
    pub fn received(&mut self, connection: &Tuple, bytes: usize) {
        let more = bytes as u64 - self.view(connection).bytes_received;
        self.receive(connection, more as usize);
    }

    pub fn view(&mut self, connection: &Tuple) -> &mut SocketView {
        self.host.0.get_mut(connection).expect("opened")
    }
}
