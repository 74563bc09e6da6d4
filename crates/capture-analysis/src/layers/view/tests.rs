use super::*;
use crate::layers::cause::tests::with;
use crate::layers::monitor::{Event, Record};
use crate::spurious::collect::Interface;

const MS: u64 = 1_000_000;
/// The same for times on an axis, which are signed.
const AXIS_MS: i64 = 1_000_000;

fn labels(view: &View) -> Vec<(&str, f64)> {
    view.graphs.iter().map(|graph| (graph.label.as_str(), graph.offset)).collect()
}

fn points(view: &View, label: &str) -> Vec<(i64, f64)> {
    let graph = view.graphs.iter().find(|graph| graph.label == label).expect("the graph");
    graph.points.iter().map(|point| (point.time_ns / AXIS_MS, point.bytes)).collect()
}

/// Three segments of 460 bytes, one per second, each acknowledged half a second later. The
/// receiver's clock is an hour ahead, and its SYN is another 200 ms later.
fn ends() -> [Interface; 2] {
    let mut sender = with(
        &[(1000, 1, 461), (2000, 461, 921), (3000, 921, 1381)],
        &[(1500, 461), (2500, 921), (3500, 1381)],
    );
    let mut receiver = with(
        &[(1250, 1, 461), (2250, 461, 921), (3250, 921, 1381)],
        &[(1250, 461), (2250, 921), (3250, 1381)],
    );
    let ahead = 3_600_000 * MS;
    sender.sampled = Some(500 * MS);
    receiver.began = ahead + 200 * MS;
    receiver.base.0 = 7;
    sender.base.0 = 10;
    for sent in &mut receiver.transmissions {
        // Its numbers begin three lower, so they are three higher here.
        *sent = crate::spurious::flow::Transmission {
            time: sent.time + ahead,
            first: sent.first + 3,
            end: sent.end + 3,
            ..*sent
        };
    }
    for ack in &mut receiver.acknowledgments {
        ack.time += ahead;
        ack.number += 3;
    }
    let interface = |flow| Interface { title: "x".to_owned(), flows: vec![flow] };
    [interface(sender), interface(receiver)]
}

fn sources(ends: &[Interface; 2], alignment: Alignment) -> Sources<'_> {
    let side = |place: usize| (&ends[place], &ends[place].flows[0]);
    let sides = Sides { sender: side(0), receiver: Some(side(1)) };
    Sources { sides, ends: &[], limiters: &[], states: &[], receiver_window: None, alignment, span: None }
}

/// LL-17: layers are 10 000 bytes apart, the receiver's numbers are converted to the sender's, and
/// its times are earlier by the SYN's delay.
#[test]
fn ll_17_each_end_has_its_own_time_zero() {
    let ends = ends();
    let tracing = view(&sources(&ends, Alignment::Syn));
    let expected =
        [("TcpSnd_Data", 0.0), ("TcpSnd_Ack", 0.0), ("TcpRcv_Data", OFFSET), ("TcpRcv_Ack", OFFSET)];
    assert_eq!(labels(&tracing.view), expected);
    assert_eq!(points(&tracing.view, "TcpSnd_Data"), [(1000, 461.0), (2000, 921.0), (3000, 1381.0)]);
    assert_eq!(points(&tracing.view, "TcpSnd_Ack"), [(1500, 461.0), (2500, 921.0), (3500, 1381.0)]);
    assert_eq!(points(&tracing.view, "TcpRcv_Data"), [(1050, 461.0), (2050, 921.0), (3050, 1381.0)]);
    assert_eq!(tracing.syn_delay_ns, Some(3_600_200 * AXIS_MS));
    let trips: Vec<_> = tracing.timings.rtt.iter().map(|trip| (trip.time_ns / AXIS_MS, trip.us)).collect();
    assert_eq!(trips, [(1500, 500_000), (2500, 500_000), (3500, 500_000)]);
}

/// LL-17: on a common clock the receiver is an hour late; estimated clocks remove the hour.
#[test]
fn ll_17_clocks_can_be_common_or_compared() {
    let ends = ends();
    let common = view(&sources(&ends, Alignment::Common));
    assert_eq!(points(&common.view, "TcpRcv_Data")[0], (3_601_250, 461.0));
    let compared = view(&sources(&ends, Alignment::Estimated));
    // The delay is 250 ms in each direction.
    assert_eq!(points(&compared.view, "TcpRcv_Data")[0], (1250, 461.0));
    let clocks = compared.clocks.expect("an estimate");
    assert!((clocks.offset_ns + 200.0 * MS as f64).abs() < 1.0, "an hour is in the zeros: {clocks:?}");
    assert!(clocks.drift.abs() < 1e-9 && (clocks.error_ns - 250.0 * MS as f64).abs() < 1.0, "{clocks:?}");
}

/// LL-17, LL-18: with a monitor below, TCP's graphs are another 10 000 bytes higher; slopes are
/// those within the span.
#[test]
fn ll_18_all_layers_with_their_rates() {
    let ends = ends();
    let frame =
        |place: u64| Record { time: place * 20 * MS, sent: true, event: Event::Data, number: 0, octets: 24 };
    let records: Vec<Record> = (0..175).map(frame).collect();
    let end = crate::layers::monitor::End { title: "network".to_owned(), period_ns: 20 * MS, records };
    let monitors = [end];
    let span = Some((0, 3_100 * AXIS_MS));
    let tracing = view(&Sources { ends: &monitors, span, ..sources(&ends, Alignment::Syn) });
    let expected = [
        ("RlpSnd_Data", 0.0),
        ("TcpSnd_Data", OFFSET),
        ("TcpSnd_Ack", OFFSET),
        ("TcpRcv_Data", 2.0 * OFFSET),
        ("TcpRcv_Ack", 2.0 * OFFSET),
    ];
    assert_eq!(labels(&tracing.view), expected);
    let slopes: Vec<_> =
        tracing.view.regressions.iter().map(|line| (line.label.as_str(), line.slope.round())).collect();
    assert_eq!(slopes, [("TcpSnd_Ack", 460.0), ("RlpSnd_Data", 1200.0), ("TcpRcv_Data", 460.0)]);
    assert_eq!(tracing.below.as_deref(), Some("network"));
    assert_eq!(tracing.used.expect("a monitor").period.utilization(), Some(1.0));
    assert!(tracing.view.notes.is_empty(), "{:?}", tracing.view.notes);
    let untimed = [crate::layers::monitor::End { period_ns: 0, ..monitors[0].clone() }];
    let tracing = view(&Sources { ends: &untimed, ..sources(&ends, Alignment::Syn) });
    assert_eq!((tracing.used, tracing.view.notes.len()), (None, 1));
}

#[test]
fn what_is_not_there_is_said() {
    let ends = ends();
    let both = sources(&ends, Alignment::Estimated);
    let tracing = view(&Sources { sides: Sides { receiver: None, ..both.sides }, ..both });
    assert_eq!(labels(&tracing.view), [("TcpSnd_Data", 0.0), ("TcpSnd_Ack", 0.0)]);
    assert_eq!(tracing.view.notes.len(), 2, "{:?}", tracing.view.notes);
    assert_eq!((tracing.used, tracing.syn_delay_ns), (None, None));
}

/// Karn: a segment that was sent twice gives no round-trip time, and neither does an acknowledgment
/// of a part of a segment.
#[test]
fn retransmissions_give_no_round_trip_time() {
    let segments = [(0, 1, 461), (10, 461, 921), (1000, 1, 461), (1100, 921, 1381), (1110, 1381, 1841)];
    let flow = with(&segments, &[(1050, 461), (1300, 1000), (1400, 1841)]);
    let axis = Axis::from_zero(0);
    let trips: Vec<_> =
        round_trips(&flow, &axis).iter().map(|trip| (trip.time_ns / AXIS_MS, trip.us / 1000)).collect();
    assert_eq!(trips, [(1400, 290)]);
}

/// A spurious retransmission that was itself lost cost the link nothing, if the receiver's capture
/// shows the loss.
#[test]
fn what_did_not_arrive_was_not_on_the_link() {
    let packet =
        |place: u16, flow: &mut Flow| flow.transmissions[usize::from(place)].identification = Some(place);
    let mut sender = with(&[(0, 1, 461), (900, 1, 461), (1000, 461, 921)], &[(950, 461), (1500, 921)]);
    (0..3).for_each(|place| packet(place, &mut sender));
    sender.transmissions[1].again = Some(crate::retransmission::Cause::Timeout);
    let arrived = |segments: &[usize]| {
        let all = [(200, 1, 461), (1100, 1, 461), (1200, 461, 921)];
        let segments: Vec<_> = segments.iter().map(|&place| (place, all[place])).collect();
        let shown: Vec<_> = segments.iter().map(|(_, segment)| *segment).collect();
        let mut flow = with(&shown, &[(200, 461), (1200, 921)]);
        for (sent, (place, _)) in flow.transmissions.iter_mut().zip(&segments) {
            sent.identification = Some(*place as u16);
        }
        flow
    };
    let cost = |receiver: Flow| {
        let interface = |flow| Interface { title: String::new(), flows: vec![flow] };
        let ends = [interface(sender.clone()), interface(receiver)];
        let side = |place: usize| (&ends[place], &ends[place].flows[0]);
        let examined = examine(&Sides { sender: side(0), receiver: Some(side(1)) }, None);
        let lost = super::lost(&examined, side(0).1, Some(side(1).1));
        let sides = Sides { sender: side(0), receiver: Some(side(1)) };
        let tracing = view(&Sources { sides, ..sources(&ends, Alignment::Syn) });
        let shown = tracing.view.graphs.iter().any(|graph| graph.label == LOST);
        assert_eq!(shown, !lost.is_empty());
        let drawn = if shown { points(&tracing.view, LOST) } else { Vec::new() };
        (super::spurious(&examined, &lost), drawn)
    };
    assert_eq!(cost(arrived(&[0, 1, 2])), ((1, 512), vec![]));
    // Lost segments are drawn where they were sent.
    assert_eq!(cost(arrived(&[0, 2])), ((0, 0), vec![(900, 461.0)]));
    assert_eq!(cost(arrived(&[1, 2])), ((0, 0), vec![(0, 461.0)]), "it was necessary");
}
