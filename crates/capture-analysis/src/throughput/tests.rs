use super::*;
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

/// A segment of 1000 bytes every 100 ms, each acknowledged 50 ms later; the last acknowledgement
/// ends the connection.
fn regular(segments: u64) -> Throughput {
    let mut meter = Meter::new();
    for segment in 0..segments {
        let time = segment * SECOND / 10;
        meter.sent(time, 1 + 1000 * segment, 1000);
        meter.arrived(time + SECOND / 20, 1, 1001 + 1000 * segment);
    }
    meter.finish((segments - 1) * SECOND / 10 + SECOND / 20).expect("data")
}

#[test]
fn a_regular_transfer_has_its_rate_in_every_bin() {
    // 99.95 s: five segments take 499.75 ms, and 250 bins 399.8 ms each.
    let throughput = regular(1000);
    assert_eq!((throughput.bin_ns, throughput.bins.len()), (SECOND / 2, 200));
    let rates = |rate| Rates { sent: rate, delivered: rate, average: rate };
    assert!(throughput.bins[..199].iter().all(|bin| *bin == rates(80_000)));
    // The last one is 450 ms long: 40 000 bit in 0.45 s, and 8 000 000 bit in 99.95 s.
    assert_eq!(throughput.bins[199], Rates { sent: 88_888, delivered: 88_888, average: 80_040 });
}

#[test]
fn a_bin_has_several_segments_however_slow_the_link_is() {
    // 21 segments in 2.05 s: five take 488 ms on average; the remaining 50 ms belong to the bin
    // before.
    let throughput = regular(21);
    assert_eq!(throughput.bin_ns, SECOND / 2);
    assert_eq!(
        throughput.bins.iter().map(|bin| bin.sent).collect::<Vec<_>>(),
        [80_000, 80_000, 80_000, 87_272]
    );
}

#[test]
fn bytes_count_once_when_they_are_told_first() {
    let mut delivered = Delivered { end: 10_001, ..Delivered::default() };
    assert_eq!(delivered.add(1, 1001), 1000);
    assert_eq!(delivered.add(2001, 3001), 1000, "by SACK");
    assert_eq!(delivered.add(2001, 4001), 1000, "the block grows");
    assert_eq!(delivered.add(6001, 7001), 1000);
    assert_eq!(delivered.add(501, 801), 0, "a duplicate SACK");
    assert_eq!(delivered.add(1, 5001), 2000, "the hole of 1000, and 1000 behind the block");
    assert_eq!(delivered.add(1, 10_002), 4000, "all but what SACK told; the FIN is no byte");
    assert_eq!(delivered.ranges, BTreeMap::from([(1, 10_001)]));
    assert_eq!(delivered.add(20_000, 10), 0, "no range");
}

#[test]
fn sent_again_is_sent_but_not_delivered_again() {
    let mut meter = Meter::new();
    meter.sent(0, 1, 1000);
    meter.sent(SECOND, 1, 1000);
    meter.arrived(2 * SECOND, 1, 1001);
    let throughput = meter.finish(2 * SECOND).expect("data");
    assert_eq!(throughput.bins, [Rates { sent: 8000, delivered: 4000, average: 4000 }]);
}

#[test]
fn nothing_sent_is_no_throughput() {
    let mut meter = Meter::new();
    meter.sent(0, 1, 0);
    meter.arrived(5, 1, 2);
    assert_eq!(meter.finish(SECOND), None);
}

proptest! {
    #[test]
    fn bins_are_few_and_hold_every_byte(
        packets in prop::collection::vec((0_u64..200_000_000_000, 1_u64..3000), 1..400),
        tail in 0_u64..10_000_000_000_000,
    ) {
        let mut meter = Meter::new();
        let (mut time, mut first, mut all) = (0, 1, 0);
        for (gap, bytes) in packets {
            time += gap;
            meter.sent(time, first, bytes);
            first += bytes;
            all += bytes;
            meter.arrived(time, 1, first);
        }
        let end = time + tail + 1;
        let throughput = meter.finish(end).expect("data");
        prop_assert!(throughput.bins.len() as u64 <= MOST_BINS);
        prop_assert!(throughput.bin_ns >= MILLISECOND);
        let last = throughput.bins.len() as u64 - 1;
        let length = |place| if place == last { end - place * throughput.bin_ns } else { throughput.bin_ns };
        let bits: f64 = (0..).zip(&throughput.bins).map(|(place, bin)| bin.sent as f64 * length(place) as f64 / 1e9).sum();
        // Each rate is rounded down by less than 1 bit/s.
        let error = end as f64 / 1e9 + 1.0;
        prop_assert!((bits - 8.0 * all as f64).abs() <= error, "{} bytes, {} bits", all, bits);
        let average = throughput.bins.last().expect("a bin").average;
        let expected = u128::from(all) * 8_000_000_000 / u128::from(end);
        prop_assert_eq!(u128::from(average), expected);
    }
}
