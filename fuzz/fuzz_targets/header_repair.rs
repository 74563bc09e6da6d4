//! Mutated segments of a few connections. For any input, bytes change only on acceptance; an
//! accepted segment is correct, carries no flag that is never salvaged and keeps its payload; and
//! every damaged segment ends in exactly one outcome.
//!
//! The input is a script: two bytes of settings, then segments of eight bytes, each with its
//! mutations.

use header_repair::{
    ByteWindow, Handshake, Localization, Mode, Parameters, Policy, Receiver, SegmentVerdict, Settings,
    SocketView, Sockets, Tuple,
};
use packet::checksum::{self, ChecksumStatus as Sum};
use packet::{Field, Headers, Layer, Tcp, TcpHeader};
use std::collections::HashMap;

/// Sequence number and header length of each connection. The local ports are neighbours, and one
/// stream is about to wrap.
const CONNECTIONS: [(u32, usize); 4] = [(1_000_000, 20), (u32::MAX - 900, 32), (1_000_536, 32), (77, 20)];
const S: usize = 536;
const STAMPS: [u8; 12] = [1, 1, 8, 10, 0, 1, 0, 0, 0, 0, 0, 9];
const SACK: [u8; 12] = [1, 1, 5, 10, 0, 0, 16, 0, 0, 0, 32, 0];

struct Host(HashMap<Tuple, SocketView>);

impl Sockets for Host {
    fn view(&self, connection: &Tuple) -> Option<SocketView> {
        self.0.get(connection).copied()
    }
}

/// One input.
pub fn run(script: &[u8]) {
    let Some((&[first, second], script)) = script.split_first_chunk() else { return };
    let policy = Policy::from_number(first % 3).expect("below 3");
    let localization = match second % 3 {
        0 => Localization::Exact,
        1 => Localization::SourcePort,
        _ => Localization::Bits(u32::from(second >> 4)),
    };
    let mode = if first & 0x80 == 0 { Mode::Recovery } else { Mode::Thesis };
    let mut receiver = Receiver::new(Parameters { mode, localization, ..Parameters::default() });
    let window = (first & 0x40 != 0).then_some(ByteWindow { from: 536, len: 5000 });
    let mut host = Host(HashMap::new());
    for (which, (seq, header)) in CONNECTIONS.into_iter().enumerate() {
        let options = (header > 20).then_some(STAMPS);
        let handshake = Handshake { rcv_nxt: seq, ack: 5, window: 500, options, unsupported: false };
        receiver.open(tuple(which), handshake, true);
        let settings = Settings { on: true, policy, window };
        let view = SocketView { rcv_nxt: seq, bytes_received: 0, snd_una: 5, snd_nxt: 1005, settings };
        host.0.insert(tuple(which), view);
    }

    let (segments, _) = script.as_chunks::<8>();
    for (now, segment) in segments.iter().enumerate() {
        step(&mut receiver, &mut host, segment, now as u64, mode);
    }
}

fn step(receiver: &mut Receiver, host: &mut Host, segment: &[u8; 8], now: u64, mode: Mode) {
    let [which, ahead, flags, len, one, bit, two, extra] = *segment;
    let which = usize::from(which) % CONNECTIONS.len();
    let view = host.0.get_mut(&tuple(which)).expect("opened");
    let mut bytes =
        build(which, view.rcv_nxt.wrapping_add(u32::from(ahead % 40) * S as u32), flags, len, extra);
    // Mutations: two bits anywhere in the header, one in the whole segment, a cut.
    let hit = |bytes: &mut Vec<u8>, bit: usize| bytes[20 + bit / 8] ^= 0x80 >> (bit % 8);
    if extra & 1 != 0 {
        hit(&mut bytes, usize::from(one) % 160);
    }
    if extra & 2 != 0 {
        hit(&mut bytes, usize::from(two) % 160);
    }
    if extra & 4 != 0 {
        let bits = (bytes.len() - 20) * 8;
        hit(&mut bytes, usize::from(bit) * 17 % bits);
    }
    if extra & 0x80 != 0 {
        bytes.truncate(bytes.len().saturating_sub(usize::from(bit)));
    }
    if extra & 0x88 == 0x88 {
        receiver.switch(tuple(which), bit & 1 != 0, view.rcv_nxt);
    }

    let before = bytes.clone();
    let merged = (extra & 0xc0 == 0xc0).then_some(u16::from(len));
    let verdict = receiver.packet(&mut bytes, merged, now * 1000, host);
    if let SegmentVerdict::Accept(_) = verdict {
        accepted(&before, &bytes, mode);
    } else {
        assert_eq!(before, bytes);
    }
    let counters = receiver.counters();
    assert_eq!(counters.damaged, counters.accepted + counters.all_discarded());
    // The socket receives data in order.
    let view = host.0.get_mut(&tuple(which)).expect("opened");
    let track = receiver.track(&tuple(which)).expect("open");
    let more = track.contiguous.wrapping_sub(view.rcv_nxt);
    if extra & 8 == 0 && more < 1 << 24 {
        view.rcv_nxt = track.contiguous;
        view.bytes_received += u64::from(more);
    }
}

fn accepted(before: &[u8], after: &[u8], mode: Mode) {
    if mode == Mode::Thesis {
        // This receiver trusts every header, even one that cannot be parsed: only the checksum may
        // differ.
        assert_eq!((&before[..36], &before[38..]), (&after[..36], &after[38..]));
        return;
    }
    let headers = Headers::parse(Layer::Ip, after).expect("accepted");
    assert_eq!(checksum::verify(after, &headers), Sum::Right);
    let tcp = headers.tcp().expect("its header is whole");
    assert!(!tcp.has(Tcp::SYN | Tcp::RST | Tcp::FIN | Tcp::URG) && tcp.has(Tcp::ACK));
    let payload = headers.payload().expect("it has a header");
    assert!(payload < headers.end());
    assert_eq!(before[payload..], after[payload..]);
}

fn tuple(which: usize) -> Tuple {
    let (remote, local) = (([10, 0, 0, 1], 80).into(), ([10, 0, 0, 2], 40000 + which as u16).into());
    Tuple::new(remote, local)
}

/// Returns a correct segment, with SACK blocks if bit 4 of `extra` is set.
fn build(which: usize, seq: u32, flags: u8, len: u8, extra: u8) -> Vec<u8> {
    let mut options = if CONNECTIONS[which].1 > 20 { STAMPS.to_vec() } else { Vec::new() };
    if extra & 0x10 != 0 {
        options.extend(SACK);
    }
    // Most segments are full.
    let payload = if len < 128 { S } else { usize::from(len) - 128 };
    let total = 40 + options.len() + payload;
    let mut bytes = vec![0; total];
    bytes[..20].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes[2..4].copy_from_slice(&(total as u16).to_be_bytes());
    checksum::recompute_ipv4(&mut bytes[..20]);
    for (at, byte) in bytes[40 + options.len()..].iter_mut().enumerate() {
        *byte = (at * 31) as u8;
    }
    bytes[40..40 + options.len()].copy_from_slice(&options);
    let header = TcpHeader::read(&bytes[20..]).expect("20 bytes");
    let fields = [
        (Field::SourcePort, 80),
        (Field::DestinationPort, 40000 + which as u32),
        (Field::Sequence, seq),
        (Field::Acknowledgment, 5),
        (Field::DataOffset, 5 + options.len() as u32 / 4),
        (Field::Window, 500),
    ];
    fields
        .into_iter()
        .fold(header, |header, (field, value)| header.with(field, value))
        .write(&mut bytes[20..]);
    bytes[33] = flags;
    let headers = Headers::parse(Layer::Ip, &bytes).expect("good");
    let sum = checksum::pseudo_header(&bytes, &headers, total - 20);
    bytes[36..38].copy_from_slice(&sum.to_be_bytes());
    assert!(checksum::complete(&mut bytes, 20, 16));
    bytes
}
