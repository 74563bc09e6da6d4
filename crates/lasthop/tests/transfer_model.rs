//! V1 of the thesis on remote sockets: the arrival of each packet by the virtual clock, against the
//! equations (crate `transfer-model`).
//!
//! Both agree to 1e-6 where their assumptions do. The equations get the sizes of the packets that
//! are captured, because a SYN has 60 bytes today: it offers the scaling of windows and SACK. Where
//! runs differ from the assumptions:
//!
//! * The server writes a response in pieces of 64 KiB, and TCP ends a segment with each of them. So
//!   responses above 45 segments have a header more for each piece.
//! * A window that is not a multiple of a segment makes TCP send short segments when it is full:
//!   with a buffer for 8 segments, the client advertises 10 220 bytes.
//! * With remote sockets, messages have their own headers, and the server reports to the client
//!   that the far host has acknowledged the request. System calls cost a fraction of a microsecond.
//! * Spurious timeouts send segments twice (Eq. 10.4), as over 9600 bit/s with a delay of 0.25 s.

mod lab;
#[path = "transfer_model/messages.rs"]
mod messages;

use capture::packets::Reader;
use lab::Lab;
use packet::Tcp;
use packet::segment::{Content, Segment};
use std::fs;
use std::iter::zip;
use transfer_model::{ConnectMode, Hop, Path, Proxy, TcpSizes, Timeline, Transfer, end_to_end, proxy};

/// Bytes of the data of a full segment.
const DATA: u32 = 1448;
/// Window of the receivers in segments: the largest without window scaling.
const WINDOW: u32 = 45;

/// A response of full segments over two hops.
#[derive(Debug, Clone, Copy)]
struct Scenario {
    path: Path,
    segments: u32,
}

/// A packet in the capture at the client's end of the wireless hop.
struct Captured {
    /// Seconds since the client's first packet.
    at: f64,
    /// Bytes with the IP header.
    length: f64,
    is_sent: bool,
    payload: u32,
    tcp: Tcp,
}

impl Scenario {
    /// Creates a scenario from bit rates in bit/s, and delays of one direction in seconds.
    fn new(wireless: (f64, f64), internet: (f64, f64), segments: u32) -> Self {
        let hop = |(rate, delay)| Hop::new(rate, delay);
        Self { path: Path { wireless: hop(wireless), internet: hop(internet) }, segments }
    }

    fn transfer(self) -> Transfer {
        Transfer { segments: self.segments, window: WINDOW }
    }

    /// Runs the scenario. `nodes` are the plan's `[[scenario.nodes]]`: they say how the client
    /// `client` and the access point `access` communicate.
    fn run(self, lab: &Lab, nodes: &str) -> Vec<Captured> {
        let link = |name: &str, ends: [&str; 2], hop: Hop| {
            let direction =
                format!("rate={}bit,delay={}us,queue=inf", hop.bits_per_second, (hop.delay * 1e6).round());
            format!(
                "[[scenario.links]]\nname = \"{name}\"\nbetween = {ends:?}\n\
                 up = \"{direction}\"\ndown = \"{direction}\"\n"
            )
        };
        let (air, internet) = (self.path.wireless, self.path.internet);
        let plan = format!(
            // IPv6's multicast reports would be traffic of others.
            "seed = 1\n[scenario]\nstack = \"ns-2\"\nreceive-window = \"{}B\"\n\
             sysctls = {{ \"net.ipv6.conf.all.disable_ipv6\" = 1 }}\n{nodes}\n{}{}\
             [[workloads]]\nname = \"web\"\nkind = \"request\"\nfrom = \"client\"\nto = \"server\"\n\
             request = \"100B\"\nresponse = \"{}B\"\n",
            WINDOW * DATA,
            link("air", ["client", "access"], air),
            link("internet", ["access", "server"], internet),
            self.segments * DATA,
        );
        let _ = fs::remove_dir_all(lab.path("out"));
        lab.succeed(&plan, lab::VIRTUAL);
        captured(lab)
    }
}

/// Returns the TCP packets at the first end of the first link, the client's.
fn captured(lab: &Lab) -> Vec<Captured> {
    let mut reader = Reader::open(&lab.path("out/captures/c000-r00.pcapng")).expect("a capture");
    let (mut captured, mut first) = (Vec::new(), None);
    while let Some(view) = reader.view() {
        let view = view.expect("a packet");
        if view.number != 0 {
            continue;
        }
        let Ok(Content::Tcp(segment)) = Segment::read(view.bytes) else { continue };
        let (start, port) = *first.get_or_insert((view.time.as_nanos(), segment.source_port));
        captured.push(Captured {
            at: (view.time.as_nanos() - start) as f64 / 1e9,
            length: f64::from(view.length),
            is_sent: segment.source_port == port,
            payload: segment.payload,
            tcp: segment.tcp,
        });
    }
    captured
}

/// Sizes of TCP's packets in a run.
fn sizes(captured: &[Captured]) -> TcpSizes {
    let length = |what: &str, is: &dyn Fn(&Captured) -> bool| {
        captured.iter().find(|packet| is(packet)).unwrap_or_else(|| panic!("no {what}")).length
    };
    let syn = |packet: &Captured| packet.tcp.flags & Tcp::SYN != 0;
    TcpSizes {
        syn: length("SYN", &|packet| packet.is_sent && syn(packet)),
        syn_acknowledgement: length("SYN with acknowledgement", &|packet| !packet.is_sent && syn(packet)),
        acknowledgement: length("acknowledgement", &|packet| packet.payload == 0 && !syn(packet)),
        request: length("request", &|packet| packet.is_sent && packet.payload > 0),
        segment: length("segment", &|packet| !packet.is_sent && packet.payload > 0),
    }
}

/// Times at which the client got data.
fn arrivals(captured: &[Captured]) -> Vec<f64> {
    captured.iter().filter(|packet| !packet.is_sent && packet.payload > 0).map(|packet| packet.at).collect()
}

/// Compares each arrival with the model.
fn agree(scenario: Scenario, arrivals: &[f64], model: &Timeline) {
    assert_eq!(arrivals.len(), model.arrivals.len(), "{scenario:?}");
    for (number, (ours, expected)) in zip(arrivals, &model.arrivals).enumerate() {
        let off = ours / expected - 1.0;
        assert!(off.abs() <= 1e-6, "{scenario:?}, segment {number}: {ours} s and {expected} s, {off:e}");
    }
}

/// Fig. 10.6, and scenarios of Figs. 10.9, 10.12, 10.18 and 10.19: either hop is the slower one, by
/// far or not.
fn scenarios() -> [Scenario; 9] {
    [
        Scenario::new((384e3, 0.1), (100e6, 0.025), 1),
        Scenario::new((384e3, 0.1), (100e6, 0.025), 2),
        Scenario::new((384e3, 0.1), (100e6, 0.025), 7),
        Scenario::new((384e3, 0.1), (100e6, 0.025), 35),
        Scenario::new((9600.0, 0.3), (2e6, 0.04), 7),
        Scenario::new((384e3, 0.1), (192e3, 0.04), 45),
        Scenario::new((11e6, 0.001), (5.5e6, 0.04), 45),
        Scenario::new((11e6, 0.1), (100e6, 0.001), 45),
        Scenario::new((100e6, 0.05), (384e3, 0.1), 45),
    ]
}

#[test]
fn v1_end_to_end_tcp_is_that_of_the_equations() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    for scenario in scenarios() {
        let captured = scenario.run(&lab, "");
        let model = end_to_end(&scenario.path, &sizes(&captured), scenario.transfer());
        let established = captured.iter().find(|packet| !packet.is_sent).expect("an answer").at;
        assert!((established / model.established - 1.0).abs() <= 1e-6, "{scenario:?}: {established}");
        agree(scenario, &arrivals(&captured), &model);
    }
}

/// The first 45 segments of a long response agree, too. Then the pieces in which the server writes
/// end in short segments, and their headers are all that makes the response longer.
#[test]
fn v1_a_long_response_has_more_headers() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let scenario = Scenario::new((384e3, 0.1), (100e6, 0.025), 276);
    let captured = scenario.run(&lab, "");
    let sizes = sizes(&captured);
    let (arrivals, model) = (arrivals(&captured), end_to_end(&scenario.path, &sizes, scenario.transfer()));
    let first = Scenario { segments: WINDOW, ..scenario };
    agree(first, &arrivals[..WINDOW as usize], &end_to_end(&first.path, &sizes, first.transfer()));
    let more = arrivals.len() - scenario.segments as usize;
    assert!((1..=7).contains(&more), "{more}");
    let headers = more as f64 * scenario.path.wireless.sending(sizes.acknowledgement);
    let (ours, expected) = (arrivals.last().expect("an arrival"), model.completion() + headers);
    assert!((ours / expected - 1.0).abs() <= 1e-6, "{ours} s and {expected} s with {more} headers");
}

/// The other half of V1: TCP runs at the access point, and messages cross the wireless hop.
const REMOTE: &str =
    "[[scenario.nodes]]\nname = \"client\"\nsockets = { at = \"access\", carrier = \"bare\" }\n";

/// Equations 8.5 and 10.3. Our encoding enters them as sizes of messages. So do the report of the
/// server's acknowledgement, which segments may have to wait for, and the fraction of a microsecond
/// that system calls cost in virtual time.
#[test]
fn v1_remote_sockets_are_those_of_the_equations() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    for scenario in scenarios() {
        scenario.run(&lab, REMOTE);
        let exchange = messages::exchange(&lab);
        let messages::Exchange { messages, handling, report, .. } = exchange;
        let remote = Proxy { messages, handling, report, ..Proxy::new(ConnectMode::Confirmed) };
        let model = proxy(&scenario.path, &exchange.tcp, &remote, scenario.transfer());
        let off = exchange.established / model.established - 1.0;
        assert!(off.abs() <= 1e-6, "{scenario:?}: {} and {}", exchange.established, model.established);
        agree(scenario, &exchange.arrivals, &model);
    }
}
