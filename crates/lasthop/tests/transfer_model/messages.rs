//! What a run with remote sockets over `bare:` shows at the client and at the access point: the
//! packets of TCP on the Internet, and the messages over the wireless hop.

use crate::lab::Lab;
use capture::packets::Reader;
use packet::Tcp;
use packet::segment::{Content, Segment};
use transfer_model::{Handling, ProxySizes, Report, TcpSizes};

/// Interfaces of the capture.
const CLIENT: usize = 0;
const ACCESS_TO_CLIENT: usize = 1;
const ACCESS_TO_SERVER: usize = 2;

/// Length of the headers of IPv4 and UDP, and of the carrier: one byte (`resoa_carrier::bare`).
const HEADERS: usize = 20 + 8;
/// First byte of a datagram with the last part of a message.
const LAST: u8 = 3;
/// The kind of an UPDATE, without the version, and what it is about (`resoa_protocol::message`).
const UPDATE: u8 = 4;
const SEND_FREED: u8 = 2;
const DATA: u8 = 3;

/// A packet.
#[derive(Debug, Clone)]
struct Seen {
    /// Nanoseconds since 1970.
    at: u64,
    /// Bytes with the IP header.
    length: f64,
    /// Whether the client, or the access point to the server, sent it.
    is_upward: bool,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Tcp {
        flags: u8,
        payload: u32,
    },
    /// Kind and operation of a message.
    Message(u8, u8),
    Other,
}

/// What the equations need of a run, and what they are compared with.
#[derive(Debug)]
pub struct Exchange {
    pub tcp: TcpSizes,
    pub messages: ProxySizes,
    pub handling: Handling,
    pub report: Option<Report>,
    /// When the client knows that the connection is established, in seconds since it asked for it.
    pub established: f64,
    /// When each message with data reaches the client.
    pub arrivals: Vec<f64>,
}

impl Seen {
    fn is_update(&self, operation: u8) -> bool {
        matches!(self.what, What::Message(UPDATE, op) if op == operation)
    }

    fn is_syn(&self) -> bool {
        matches!(self.what, What::Tcp { flags, .. } if flags & Tcp::SYN != 0)
    }

    fn has_data(&self) -> bool {
        matches!(self.what, What::Tcp { payload: 1.., .. })
    }
}

/// Reads the packets at an interface, in the order of time.
fn seen(lab: &Lab, interface: usize) -> Vec<Seen> {
    let mut reader = Reader::open(&lab.path("out/captures/c000-r00.pcapng")).expect("a capture");
    let mut all = Vec::new();
    while let Some(view) = reader.view() {
        let view = view.expect("a packet");
        if view.number != interface {
            continue;
        }
        let bytes = view.bytes;
        let what = match Segment::read(bytes) {
            Ok(Content::Tcp(segment)) => What::Tcp { flags: segment.tcp.flags, payload: segment.payload },
            _ => match bytes.get(HEADERS..) {
                Some([LAST, kind, operation, ..]) => What::Message(kind & 0xf, *operation),
                _ => What::Other,
            },
        };
        // Addresses follow the order of the nodes in the plan: client, access point, server.
        let is_upward = bytes[15] < bytes[19];
        let (at, length) = (view.time.as_nanos(), f64::from(view.length));
        all.push(Seen { at, length, is_upward, what });
    }
    all
}

/// Reads the capture of the only exchange of a run.
pub fn exchange(lab: &Lab) -> Exchange {
    let [client, air, internet] = [CLIENT, ACCESS_TO_CLIENT, ACCESS_TO_SERVER].map(|end| seen(lab, end));
    let find = |all: &[Seen], what: &str, is: &dyn Fn(&Seen) -> bool| {
        all.iter().find(|packet| is(packet)).unwrap_or_else(|| panic!("no {what}: {all:#?}")).clone()
    };
    let syn = find(&internet, "SYN", &|packet| packet.is_upward && packet.is_syn());
    let answer = find(&internet, "answer", &|packet| !packet.is_upward && packet.is_syn());
    let acknowledgement = find(&internet, "acknowledgement", &|packet| {
        packet.is_upward && !packet.is_syn() && !packet.has_data()
    });
    let asked = find(&internet, "request", &|packet| packet.is_upward && packet.has_data());
    let segment = find(&internet, "segment", &|packet| !packet.is_upward && packet.has_data());
    // The hop keeps the order and loses nothing: message n of one end is message n of the other.
    let upward = |all: &[Seen]| -> Vec<Seen> { all.iter().filter(|seen| seen.is_upward).cloned().collect() };
    let (sent, arrived) = (upward(&client), upward(&air));
    let connect = arrived.iter().rposition(|message| message.at <= syn.at).expect("a wish to connect");
    let start = sent[connect].at;
    let since = |at: u64| (at - start) as f64 / 1e9;
    let between = |from: u64, to: u64| (to - from) as f64 / 1e9;
    let confirmation = find(&air, "confirmation", &|message| !message.is_upward && message.at >= answer.at);
    let confirmed =
        find(&client, "confirmation", &|message| !message.is_upward && message.at > confirmation.at);
    let request = sent.iter().position(|message| message.at >= confirmed.at).expect("a request");
    let with_data = |all: &[Seen]| -> Vec<Seen> {
        all.iter().filter(|seen| !seen.is_upward && seen.is_update(DATA)).cloned().collect()
    };
    let first = &with_data(&air)[0];
    let downward: Vec<&Seen> = air.iter().filter(|message| !message.is_upward).collect();
    let report = downward.iter().position(|message| message.is_update(SEND_FREED));
    let report = report.map(|place| Report {
        behind: downward[..place].iter().filter(|message| message.is_update(DATA)).count(),
        at: since(downward[place].at),
        bytes: downward[place].length,
    });
    Exchange {
        tcp: TcpSizes {
            syn: syn.length,
            syn_acknowledgement: answer.length,
            acknowledgement: acknowledgement.length,
            request: asked.length,
            segment: segment.length,
        },
        messages: ProxySizes {
            connect: sent[connect].length,
            confirmation: confirmation.length,
            request: sent[request].length,
            segment: first.length,
        },
        handling: Handling {
            connect: between(arrived[connect].at, syn.at),
            confirmation: between(answer.at, confirmation.at),
            client: between(confirmed.at, sent[request].at),
            request: between(arrived[request].at, asked.at),
            segment: between(segment.at, first.at),
        },
        report,
        established: since(confirmed.at),
        arrivals: with_data(&client).iter().map(|message| since(message.at)).collect(),
    }
}
