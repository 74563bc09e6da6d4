//! From packets through the shipped limiter, event loop and log to utilization.
//!
//! The unused share is what the trace offered and nobody used, whatever the packet sizes, and
//! however a trace expresses the same rate.

use super::*;
use crate::recording::Recording;
use capture::{Header, LinkId, LinkInfo, Recorder, RecorderOptions, WallTime, WayInfo};
use capture_analysis::layers::limiter::{self, Limiter};
use emulator::simulated::Simulated;
use emulator::{Emulator, Ending, Observer, PortId, WayId, control};
use link::Seed;
use link::profile::LinkProfile;
use link::spec::StageSpec;
use link::stage::bottleneck::mahimahi::{MahimahiTrace, Playback};
use link::stage::bottleneck::theaterq::TheaterqTrace;
use link::stage::bottleneck::{Limit, QueueSpec};
use link::stage::spec::FromFile;
use packet::Frame;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const STARTED: u64 = 1_700_000_000_000_000_000;

fn mahimahi(millis: &[u64]) -> RateSpec {
    let text = millis.iter().map(u64::to_string).collect::<Vec<_>>().join("\n");
    RateSpec::Mahimahi(
        FromFile::with("x", MahimahiTrace::parse("x", &text).expect("a trace")),
        Playback::USUAL,
    )
}

fn theaterq(text: &str) -> RateSpec {
    RateSpec::Theaterq(FromFile::with("x", TheaterqTrace::parse("x", text).expect("a trace")), AtEnd::Loop)
}

fn spec(rate: RateSpec) -> StageSpec {
    let queue = QueueSpec::drop_tail(Limit::Unlimited);
    StageSpec::Bottleneck(BottleneckSpec { rate, queue, ..BottleneckSpec::default() })
}

/// A link with a limiter down.
fn profile(rate: RateSpec) -> LinkProfile {
    let mut profile = LinkProfile::default();
    profile.down.put(spec(rate));
    profile
}

fn built(profile: &LinkProfile) -> Link {
    profile.build(&Seed::campaign(1)).expect("a link")
}

fn info(link: &Link) -> LinkInfo {
    let way = |direction| WayInfo {
        stages: link.stage_names(direction).to_vec(),
        capacity: of(link, direction, Layer::Ip, Time::ZERO, ROOM).into_iter().collect(),
        ..WayInfo::default()
    };
    let (id, name) = (LinkId(0), "air".to_owned());
    let (up, down) = (way(Direction::Up), way(Direction::Down));
    LinkInfo { id, name, layer: Layer::Ip, mtu: 1500, up, down }
}

fn recording(folder: &tempfile::TempDir, info: LinkInfo) -> Recording {
    let header = Header::new("test", WallTime::from_nanos(STARTED), 1, vec![info.clone()]);
    let events = Some(folder.path().join("x.parquet"));
    let options = RecorderOptions { events, memory: 1 << 22, ..RecorderOptions::default() };
    Recording::new(Recorder::start(header, options).expect("a recorder"), vec![info], true)
}

/// Sends packets of these lengths at these nanoseconds to a limiter; returns the limiter from the
/// log.
fn limiter(rate: RateSpec, arrivals: &[(u64, usize)]) -> Limiter {
    let folder = tempfile::tempdir().expect("a folder");
    let link = built(&profile(rate));
    let observer = recording(&folder, info(&link));
    let frame = |&(nanos, bytes): &(u64, usize)| {
        (link::units::Time::from_nanos(nanos), PortId(1), Frame::owned(Layer::Ip, vec![0; bytes]))
    };
    let (_control, controls) = control().expect("an eventfd");
    let world = Simulated::new(arrivals.iter().map(frame).collect());
    let mut emulator = Emulator::new(world, observer);
    emulator.add_link(link, [PortId(0), PortId(1)]);
    let Ending { observer, at, .. } = emulator.run(&controls).expect("no errors");
    observer.into_recorder().close(at).expect("a log");
    let mut limiters = limiter::read(&folder.path().join("x.parquet")).expect("a table");
    assert_eq!(limiters.len(), 1);
    limiters.remove(0)
}

/// Returns the used share of the time from 0 to `to`.
fn utilization(limiter: &Limiter, to: u64) -> f64 {
    assert_eq!(limiter.unmeasured(STARTED, STARTED + to), None);
    let idle: u64 = limiter.gaps(STARTED, STARTED + to).iter().map(|gap| gap.length_ns).sum();
    1.0 - idle as f64 / to as f64
}

/// LL-15: the same rate, 1504 bytes per millisecond, in traces that bundle it differently,
/// saturated by packets of all sizes.
///
/// A packet that fits into one opportunity occupies no time. So a count of the time without packets
/// would take the link for nearly idle.
#[test]
fn ll_15_a_saturated_trace_is_used_whole() {
    let bundled: Vec<u64> = [[10; 10], [20; 10]].concat();
    let uneven: Vec<u64> = [&[3; 3][..], &[4, 4, 4, 7, 7, 10, 11], &[20; 10]].concat();
    for (name, millis) in [("one", vec![1]), ("ten", bundled), ("twenty", vec![20; 20]), ("uneven", uneven)] {
        for bytes in [1500, 1452, 576, 40] {
            let count = 200 * 1504 / (bytes + 4) + 2;
            let limiter = limiter(mahimahi(&millis), &vec![(0, bytes); count]);
            assert_eq!(utilization(&limiter, 200 * MS), 1.0, "{name}, {bytes} bytes");
        }
    }
}

/// LL-15: one packet of one opportunity every 2 ms uses every other opportunity.
#[test]
fn ll_15_half_of_the_opportunities_are_half() {
    let arrivals: Vec<_> = (0..50).map(|place| (place * 2 * MS + 300_000, 1500)).collect();
    let limiter = limiter(mahimahi(&[1]), &arrivals);
    assert_eq!(utilization(&limiter, 100 * MS), 0.5);
    // Each waited for 0.7 ms, and occupied the link for no time.
    assert!(limiter.sent.iter().all(|sent| sent.start == sent.end));
}

/// LL-15: at 12 Mbit/s for 10 ms out of 20, first with packets always waiting. Then with a packet
/// of 1 ms every 4 ms, of which 23 are sent in the 50 ms.
#[test]
fn ll_15_where_the_rate_is_0_nothing_is_idle() {
    let trace = || theaterq("10000,0,12000000,0,0\n10000,0,0,0,0\n");
    assert_eq!(utilization(&limiter(trace(), &[(0, 1500); 60]), 100 * MS), 1.0);
    let arrivals: Vec<_> = (0..25).map(|place| (place * 4 * MS + 300_000, 1500)).collect();
    let used = utilization(&limiter(trace(), &arrivals), 100 * MS);
    assert!((used - 23.0 / 50.0).abs() < 1e-6, "{used}");
}

/// Counts the opportunities after 0 until `to`, inclusive.
fn opportunities(millis: &[u64], to: u64) -> u64 {
    let length = *millis.last().expect("not empty");
    let rounds = (0..=to / length / MS).map(|round| round * length);
    let all = rounds.flat_map(|begin| millis.iter().map(move |millis| (begin + millis) * MS));
    all.filter(|&nanos| nanos > 0 && nanos <= to).count() as u64
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// LL-15: for any trace, packets and times, the used share until the last packet has left is
    /// the packets' bytes divided by those of the opportunities until then.
    #[test]
    fn ll_15_what_is_used_is_bytes_by_opportunities(
        deltas in prop::collection::vec(prop_oneof![Just(0u64), 0..4u64, 0..40u64], 1..30),
        last in 1..30u64,
        packets in prop::collection::vec((prop_oneof![Just(0u64), 0..60_000_000u64], 20..=1500usize), 1..60),
    ) {
        let sums = |steps: &mut dyn Iterator<Item = u64>| -> Vec<u64> {
            steps.scan(0, |sum, step| { *sum += step; Some(*sum) }).collect()
        };
        let millis = sums(&mut deltas.iter().copied().chain([last]));
        let times = sums(&mut packets.iter().map(|packet| packet.0));
        let arrivals: Vec<_> = times.into_iter().zip(packets.iter().map(|packet| packet.1)).collect();
        let limiter = limiter(mahimahi(&millis), &arrivals);
        prop_assert_eq!(limiter.sent.len(), packets.len());
        let to = limiter.sent.last().expect("a packet").end - STARTED;
        let bytes: usize = packets.iter().map(|packet| packet.1 + 4).sum();
        let known = bytes as f64 / (1504 * opportunities(&millis, to)) as f64;
        // Gaps are whole numbers of nanoseconds.
        let error = packets.len() as f64 / to as f64;
        let used = utilization(&limiter, to);
        prop_assert!((used - known).abs() <= error, "{} and not {}", used, known);
    }
}

/// A rate that changes while the link runs is logged once, with its time.
#[test]
fn a_changed_rate_is_logged_with_its_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let (before, after) = (profile(mahimahi(&[1, 2, 4])), profile("8Mbit".parse().expect("a rate")));
    let mut link = built(&before);
    let mut recording = recording(&folder, info(&link));
    let at = |millis: u64| link::units::Time::from_nanos(millis * MS);
    recording.visited(WayId(1), &link, at(5));
    let seed = Seed::campaign(1).direction(Direction::Down);
    before.change_into(&after, Direction::Down, &mut link, &seed, at(7)).expect("it can");
    recording.visited(WayId(1), &link, at(7));
    recording.visited(WayId(1), &link, at(9));
    recording.into_recorder().close(Time::from_nanos(10 * MS)).expect("a log");
    let table = capture::fates::Reader::open(&folder.path().join("x.parquet")).expect("a table");
    let logged = &table.header().link(LinkId(0)).expect("a link").way(Direction::Down).capacity;
    let since: Vec<_> = logged.iter().map(|part| (part.since.as_nanos(), &part.rate)).collect();
    let first = Rate::opportunities(1504, MS, [1, 2, 4].into_iter(), true);
    assert_eq!(since, [(0, &first), (7 * MS, &Rate::Constant { bits_per_second: 8_000_000 })]);
    assert_eq!((logged[0].overhead, logged[1].overhead), (4, 0));
}

#[test]
fn a_trace_that_is_too_long_is_left_out() {
    let link = built(&profile(mahimahi(&[1, 2, 4])));
    let rate = |room| of(&link, Direction::Down, Layer::Ip, Time::ZERO, room).expect("a limiter").rate;
    // [1,1,2],[2,1,1]
    assert_eq!(rate(15), Rate::NotLogged);
    assert_ne!(rate(16), Rate::NotLogged);
}
