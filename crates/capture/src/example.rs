//! Records for tests: fixed ones, and strategies that generate any.

use crate::event::{EndedPacket, Fate, Flow, Header, LinkInfo, Outcome};
use crate::event::{Reason, WayInfo};
use crate::units::{Span, Time, WallTime};
use packet::Layer;
use proptest::prelude::*;
use std::net::IpAddr;
use vocabulary::{ChannelState, Direction, LinkId, Loss, Sending};

/// A run that started at 1 700 000 000.000 000 007 s. Link 0 is `wlan` over IP, link 1 is `lan`
/// over Ethernet.
pub fn header() -> Header {
    let way = |profile: &str, rate, stages: &[&str]| WayInfo {
        profile: profile.to_owned(),
        bits_per_second: rate,
        stages: stages.iter().map(|&name| name.to_owned()).collect(),
        ..WayInfo::default()
    };
    let links = vec![
        LinkInfo {
            id: LinkId(0),
            name: "wlan".to_owned(),
            layer: Layer::Ip,
            mtu: 1500,
            up: way("umts", Some(64_000), &["queue", "rate", "delay"]),
            down: way("umts", Some(384_000), &["queue", "rate", "errors", "delay"]),
        },
        LinkInfo {
            id: LinkId(1),
            name: "lan".to_owned(),
            layer: Layer::Ethernet,
            mtu: 1500,
            up: way("", None, &[]),
            down: way("", None, &["errors"]),
        },
    ];
    Header::new("0.1.0", WallTime::from_nanos(1_700_000_000_000_000_007), 7, links)
}

/// Packet `number` of link 0, down, delivered undamaged.
pub fn delivered(number: u64, arrived: u64, left: u64) -> EndedPacket {
    let at = Time::from_nanos(arrived);
    EndedPacket::untouched(LinkId(0), Direction::Down, number, 60, at, Time::from_nanos(left))
}

/// Generates any end of any packet.
pub fn ended() -> impl Strategy<Value = EndedPacket> {
    let times = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>()).prop_map(|(a, b, c, d)| {
        let mut times = [a, b, c, d].map(|time| Time::from_nanos(u64::from(time)));
        times.sort_unstable();
        times
    });
    let outcome = prop_oneof![
        Just(Outcome::Delivered),
        prop::sample::select(Loss::ALL.to_vec()).prop_map(Outcome::Lost),
    ];
    let channel = prop::sample::select(vec![None, Some(ChannelState::Good), Some(ChannelState::Bad)]);
    let place = (0_u16..2, prop::sample::select(Direction::BOTH.to_vec()), 0_u64..1000, any::<bool>());
    let effects = (any::<u32>(), any::<bool>(), any::<bool>(), any::<u32>(), any::<u32>());
    let found_by = prop::option::of(prop::sample::select(packet::Check::ALL.to_vec()));
    (place, any::<u32>(), times, outcome, prop::option::of(0_u8..5), channel, (effects, found_by)).prop_map(
        |(
            (link, direction, number, copy),
            length,
            [arrived, start, end, left],
            outcome,
            stage,
            channel,
            effects,
        )| {
            let (effects, found_by) = effects;
            let (bits_flipped, checksum_spoiled, congestion_marked, held, overtaken) = effects;
            EndedPacket {
                link: LinkId(link),
                direction,
                number,
                copy,
                length,
                arrived,
                sending: Sending { start, end },
                left,
                outcome,
                stage,
                channel,
                bits_flipped,
                checksum_spoiled,
                found_by,
                congestion_marked,
                held: Span::from_nanos(u64::from(held)),
                overtaken,
            }
        },
    )
}

/// Generates any flow.
pub fn flow() -> impl Strategy<Value = Flow> {
    let address =
        || prop_oneof![any::<[u8; 4]>().prop_map(IpAddr::from), any::<[u8; 16]>().prop_map(IpAddr::from)];
    (
        address(),
        address(),
        any::<u8>(),
        any::<Option<(u16, u16)>>(),
        any::<Option<u32>>(),
        any::<Option<u32>>(),
    )
        .prop_map(|(source, destination, protocol, ports, tcp_sequence, payload)| Flow {
            source,
            destination,
            protocol,
            ports,
            tcp_sequence,
            payload,
        })
}

/// Generates any row of the log, including reasons that this version does not know.
pub fn fate() -> impl Strategy<Value = Fate> {
    (ended(), prop::option::of("[a-z.0-9]{1,8}"), prop::option::of(flow()), prop::option::of("x-[a-z]{0,6}"))
        .prop_map(|(ended, stage, flow, other)| {
            let mut fate = ended.fate(stage.as_deref(), flow);
            if let (Some(_), Some(name)) = (&fate.lost, other) {
                fate.lost = Some(Reason::Other(name));
            }
            fate
        })
}
