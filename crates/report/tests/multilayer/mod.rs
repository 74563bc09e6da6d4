//! A multi-layer view of any size that resembles Ludwig's figure 3-6: a bulk transfer over GSM-CSD,
//! with segments of 460 bytes in packets of 519 octets, which the link layer sends at 960 bytes/s.
//! One segment in 200 is lost and retransmitted.

use capture_analysis::layers::graph::{Graph, Layer, Point, Regression, Shape, View};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

/// Data bytes of a segment, and bytes of its packet on the link.
pub const MSS: f64 = 460.0;
const PACKET: f64 = 519.0;
/// Rate of the link layer, in bytes per second.
pub const RATE: f64 = 960.0;
/// Frames per packet: fewer and larger than those of RLP, so that there are as many frames as
/// packets in captures.
const FRAMES: usize = 4;
/// Bytes between two layers.
pub const OFFSET: f64 = 10_000.0;

const GRAPHS: [(&str, Layer, Shape); 10] = [
    ("TcpSnd_Data", Layer::TcpSender, Shape::Dots),
    ("TcpSnd_Ack", Layer::TcpSender, Shape::Crosses),
    ("TcpRcv_Data", Layer::TcpReceiver, Shape::Dots),
    ("TcpRcv_Ack", Layer::TcpReceiver, Shape::Crosses),
    ("RlpSnd_Data", Layer::LinkSender, Shape::Dots),
    ("RlpSnd_Xmit", Layer::LinkSender, Shape::Dots),
    ("RlpSnd_Rst", Layer::LinkSender, Shape::Marks),
    ("RlpRcv_XON", Layer::LinkReceiver, Shape::Marks),
    ("RlpRcv_XOFF", Layer::LinkReceiver, Shape::Marks),
    ("TcpSnd_cwnd", Layer::SenderState, Shape::Steps),
];

/// Returns a view with so many packets in its two captures, plus frames and windows.
pub fn view(packets: usize) -> View {
    let mut random = ChaCha8Rng::seed_from_u64(2001);
    let mut points: BTreeMap<&str, Vec<Point>> =
        GRAPHS.iter().map(|&(label, ..)| (label, Vec::new())).collect();
    let mut note = |label, seconds: f64, bytes: f64| {
        points
            .get_mut(label)
            .expect("a graph")
            .push(Point { time_ns: (seconds * 1e9).round() as i64, bytes });
    };
    let segments = packets / 4;
    let each = PACKET / RATE;
    let (mut octets, mut lost): (f64, Option<(usize, f64)>) = (0.0, None);
    for number in 0..segments {
        // A window of four to eight segments is outstanding: they wait in the queue in front of the
        // link.
        let window = 4 + number % 200 / 50;
        let arrival = (number + 1) as f64 * each + random.random_range(0.0..0.02);
        let departure = (arrival - window as f64 * each).max(number as f64 * 1e-3);
        let again = lost.filter(|(_, when)| departure > *when).map(|(segment, _)| segment);
        let place = if let Some(segment) = again { segment } else { number };
        note("TcpSnd_Data", departure, place as f64 * MSS);
        if again.is_some() {
            lost = None;
        }
        if number % 200 == 199 {
            lost = Some((number, arrival + 3.0 * each));
        } else {
            note("TcpRcv_Data", arrival, place as f64 * MSS);
        }
        let next = lost.map_or(number + 1, |(segment, _)| segment) as f64 * MSS;
        note("TcpRcv_Ack", arrival + random.random_range(1e-5..1e-3), next);
        note("TcpSnd_Ack", arrival + 0.15 + random.random_range(0.0..0.02), next);
        note("TcpSnd_cwnd", arrival + 0.17, window as f64 * MSS);
        for frame in 0..FRAMES {
            let when = (number as f64 + frame as f64 / FRAMES as f64) * each;
            octets += PACKET / FRAMES as f64;
            note("RlpSnd_Data", when, octets.round());
            if random.random_bool(0.02) {
                note("RlpSnd_Xmit", when + 0.2, octets.round());
            }
        }
        match number % 32 {
            8 => note("RlpRcv_XOFF", arrival, number as f64 * PACKET),
            10 => note("RlpRcv_XON", arrival, number as f64 * PACKET),
            _ => {}
        }
        if number % 20_000 == 19_999 {
            note("RlpSnd_Rst", arrival, number as f64 * PACKET);
        }
    }
    let offset = |layer| match layer {
        Layer::LinkSender | Layer::LinkReceiver => 2.0 * OFFSET,
        Layer::TcpReceiver => OFFSET,
        Layer::TcpSender | Layer::Lost | Layer::SenderState => 0.0,
    };
    let graph = |&(label, layer, shape): &(&str, Layer, Shape)| {
        let mut points = points.remove(label).unwrap_or_default();
        points.sort_by_key(|point| point.time_ns);
        Graph { label: label.to_owned(), layer, shape, offset: offset(layer), points }
    };
    let to_ns = (segments as f64 * each * 1e9) as i64;
    let regression = |label: &str, slope: f64| Regression {
        label: label.to_owned(),
        from_ns: 0,
        to_ns,
        bytes: 0.0,
        slope,
    };
    View {
        title: "A bulk transfer over GSM-CSD, synthetic".to_owned(),
        graphs: GRAPHS.iter().map(graph).collect(),
        regressions: vec![regression("RlpSnd_Data", RATE), regression("TcpRcv_Data", RATE * MSS / PACKET)],
        notes: vec!["Nothing of this was measured: the view is synthetic.".to_owned()],
    }
}
