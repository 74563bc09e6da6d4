//! States of a link for tests: a download at 1 Mbit/s over a downlink of 2 Mbit/s.

use crate::remote::{FlowStatus, FlowWay, Running, Status, WayStatus};

/// Returns the state after this many tenths of a second.
pub fn status(tenth: u64) -> Status {
    let packets = 10 * tenth;
    let down = WayStatus {
        rate: Some(2_000_000),
        delay_ns: 30_000_000,
        packets,
        bytes: packets * 1250,
        delivered: packets,
        delivered_bytes: packets * 1250,
        waiting: 1,
        delay_sum_ns: packets * 40_000_000,
        queueing_sum_ns: packets * 10_000_000,
        channel: Some("good".to_owned()),
        ..WayStatus::default()
    };
    let link = Running {
        id: "1".to_owned(),
        pid: 1,
        command: "curl -O http://host.lasthop/".to_owned(),
        seconds: tenth / 10,
        up: "delay: 30ms".to_owned(),
        down: "bottleneck: 2Mbit/s counted at IP, drop-tail 50p; delay: 30ms".to_owned(),
        packets: (0, packets),
        lost: (0, 0),
    };
    let flow = FlowStatus {
        protocol: "tcp".to_owned(),
        inside: "10.0.0.2:4000".to_owned(),
        outside: "10.0.0.1:80".to_owned(),
        up: FlowWay::default(),
        down: FlowWay { packets, bytes: packets * 1250, lost: 0 },
    };
    let up = WayStatus { delay_ns: 30_000_000, ..WayStatus::default() };
    Status { link, at_ns: tenth * 100_000_000, up, down, capture: None, flows: vec![flow] }
}
