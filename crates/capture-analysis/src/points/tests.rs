use super::*;
use capture::WallTime;
use capture::pcapng::{Interface as End, Packet, Writer};
use etherparse::PacketBuilder;

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];

/// A segment of the client with this number and length, or an acknowledgment of the server.
fn segment(back: bool, sequence: u32, acknowledges: u32, length: usize, identification: u16) -> Vec<u8> {
    let (from, to, ports) = if back { (SERVER, CLIENT, (80, 1111)) } else { (CLIENT, SERVER, (1111, 80)) };
    let builder = PacketBuilder::ipv4(from, to, 64).tcp(ports.0, ports.1, sequence, 8000).ack(acknowledges);
    let mut bytes = Vec::new();
    builder.write(&mut bytes, &vec![7; length]).expect("a packet");
    bytes[4..6].copy_from_slice(&identification.to_be_bytes());
    // The header's checksum has the identification in it, and nothing here checks it.
    bytes
}

/// The first packet of either side; data begins at number 1.
fn syn(back: bool) -> Vec<u8> {
    let (from, to, ports) = if back { (SERVER, CLIENT, (80, 1111)) } else { (CLIENT, SERVER, (1111, 80)) };
    let builder = PacketBuilder::ipv4(from, to, 64).tcp(ports.0, ports.1, 0, 8000).syn();
    let builder = if back { builder.ack(1) } else { builder };
    let mut bytes = Vec::new();
    builder.write(&mut bytes, &[]).expect("a packet");
    bytes
}

/// Writes packets, each with its interface and its time in milliseconds.
fn written(packets: &[(u32, u64, Vec<u8>)]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let mut writer = Writer::new(file.reopen().expect("the file"), "test", 65_535).expect("a writer");
    for name in ["client", "middle", "server"] {
        let end = End { name, description: "", layer: Layer::Ip, bits_per_second: None };
        writer.interface(&end).expect("an interface");
    }
    for (interface, at, bytes) in packets {
        let packet = Packet {
            interface: *interface,
            time: WallTime::from_nanos(1_000_000_000 + at * 1_000_000),
            length: bytes.len() as u32,
            bytes,
            comment: "",
            inbound: false,
            wrong_checksum: false,
        };
        writer.packet(&packet).expect("a packet");
    }
    drop(writer);
    file
}

/// Three segments: the first is lost behind the middle and sent again, which is necessary. The
/// second is sent again although it has arrived. The last is lost before the middle.
#[test]
fn each_point_counts_what_passed_there() {
    let (one, two, three) = (1, 101, 201);
    let data = |number: u32, identification| segment(false, number, 1, 100, identification);
    let packets = [
        (0, 0, data(one, 1)),
        (1, 10, data(one, 1)),
        (0, 1, data(two, 2)),
        (1, 11, data(two, 2)),
        (2, 21, data(two, 2)),
        (0, 2, data(three, 3)),
        (0, 300, data(one, 4)),
        (1, 310, data(one, 4)),
        (2, 320, data(one, 4)),
        (0, 301, data(two, 5)),
        (1, 311, data(two, 5)),
        (2, 321, data(two, 5)),
        (0, 302, data(three, 6)),
        (1, 312, data(three, 6)),
        (2, 322, data(three, 6)),
        (2, 323, segment(true, 1, 301, 0, 7)),
        (1, 333, segment(true, 1, 301, 0, 7)),
        (0, 343, segment(true, 1, 301, 0, 7)),
    ];
    let handshake = [(0, false), (10, false), (20, false), (20, true), (30, true), (40, true)];
    let points = [0, 1, 2, 2, 1, 0];
    let handshake = points.into_iter().zip(handshake).map(|(point, (at, back))| (point, at, syn(back)));
    let later = packets.into_iter().map(|(point, at, bytes)| (point, at + 100, bytes));
    let mut packets: Vec<_> = handshake.chain(later).collect();
    packets.sort_by_key(|(_, at, _)| *at);
    let file = written(&packets);
    let points = read(file.path()).expect("points");
    let of = |name: &str| {
        let mut those = points.iter().filter(|point| point.name == name && point.from.port() == 1111);
        those.next().expect("a flow").counts
    };
    let counts = |counts: PointCounts| {
        (counts.packets, counts.data_bytes, counts.retransmissions, counts.spurious, counts.undecided)
    };
    assert_eq!(counts(of("client")), (7, 600, 3, 1, 0), "all three are sent again");
    assert_eq!(counts(of("middle")), (6, 500, 2, 1, 0), "the last one is new here");
    assert_eq!(counts(of("server")), (5, 400, 1, 1, 0), "what came twice had been received");
    assert_eq!(of("client").bytes, 40 + 6 * 140);
    let back = points.iter().filter(|point| point.from.port() == 80).map(|point| point.counts.packets);
    assert_eq!(back.collect::<Vec<_>>(), [2, 2, 2]);
}

#[test]
fn datagrams_are_flows_of_their_ports() {
    let mut datagram = Vec::new();
    let builder = PacketBuilder::ipv4(CLIENT, SERVER, 64).udp(4000, 5000);
    builder.write(&mut datagram, &[0; 12]).expect("a packet");
    let file = written(&[(1, 0, datagram.clone()), (1, 1, datagram)]);
    let [only] = &read(file.path()).expect("points")[..] else { panic!("one flow") };
    assert_eq!((only.protocol, only.connection, only.name.as_str()), (Protocol::Udp, None, "middle"));
    assert_eq!((only.from.port(), only.to.port()), (4000, 5000));
    assert_eq!((only.counts.packets, only.counts.bytes, only.counts.data_packets), (2, 80, 0));
}
