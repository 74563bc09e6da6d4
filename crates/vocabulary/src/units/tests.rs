use super::*;
use proptest::prelude::*;

fn reads<T: std::str::FromStr<Err = UnitError>>(text: &str) -> T {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn forms_people_write() {
    assert_eq!(reads::<Span>("70ms"), Span::from_millis(70));
    assert_eq!(reads::<Span>("1.5s"), Span::from_millis(1500));
    assert_eq!(reads::<Span>("0"), Span::ZERO);
    assert_eq!(reads::<Span>("inf"), Span::MAX);
    assert_eq!(reads::<BitRate>("384kbit").as_bits_per_second(), 384_000);
    assert_eq!(reads::<BitRate>("2mbit").as_bits_per_second(), 2_000_000);
    assert_eq!(reads::<BitRate>("9.6kb/s").as_bits_per_second(), 9_600);
    assert_eq!(reads::<BitRate>("125kB/s").as_bits_per_second(), 1_000_000);
    assert_eq!(reads::<ByteCount>("64KiB").get(), 65_536);
    assert_eq!(Probability::new(0.1), Some(reads("10%")));
    assert_eq!(BitErrorRatio::new(1e-5), Some(reads("1e-5")));
}

#[test]
fn wrong_forms_say_what_would_be_right() {
    let error = "70".parse::<Span>().expect_err("no unit");
    assert_eq!(
        error.to_string(),
        "`70` is not a length of time: write it like 70ms, 1.5s, 20us, 200ns, 5min or inf"
    );
    assert!("-1ms".parse::<Span>().is_err());
    assert!("0kbit".parse::<BitRate>().is_err());
    assert!("12".parse::<BitRate>().is_err());
    assert!("120%".parse::<Probability>().is_err());
    assert!("-0.1".parse::<Probability>().is_err());
    assert!("1e-5x".parse::<BitErrorRatio>().is_err());
    for too_much in ["1e20s", "1e99ms"] {
        assert!(too_much.parse::<Span>().is_err(), "{too_much} is not for ever");
    }
    assert!("1e20bit".parse::<BitRate>().is_err());
    assert!("1e20B".parse::<ByteCount>().is_err());
}

/// tc(8) reads `mbps` as megabytes a second and `k` as 1024. mahimahi and iperf3 read the first
/// differently, and SI the second.
#[test]
fn what_other_programs_read_in_two_ways_is_refused_with_both() {
    let said = |error: UnitError| error.to_string();
    assert_eq!(
        said("2mbps".parse::<BitRate>().expect_err("bits or bytes")),
        "`2mbps` has two meanings: write 2mbit for bits a second, or 16mbit for the bytes a second that tc means by it"
    );
    for (rate, both) in
        [("9.6kbps", ["9.6kbit", "76.8kbit"]), ("1Gbps", ["1Gbit", "8Gbit"]), ("8bps", ["8bit", "64bit"])]
    {
        let error = said(rate.parse::<BitRate>().expect_err(rate));
        assert!(both.iter().all(|word| error.contains(&format!(" {word} "))), "{error}");
    }
    assert!(said("2xbps".parse::<BitRate>().expect_err("no unit")).contains("is not a rate"));
    assert_eq!(
        said("64k".parse::<ByteCount>().expect_err("1000 or 1024")),
        "`64k` has two meanings: write 64kB for steps of 1000, or 64KiB for the steps of 1024 that tc and iperf3 mean by it"
    );
    for size in ["300K", "64KB", "64kb", "1.5M", "2G"] {
        let error = said(size.parse::<ByteCount>().expect_err(size));
        assert!(error.contains("two meanings") && error.contains("iB "), "{error}");
    }
    assert_eq!(reads::<ByteCount>("1.5MB").get(), 1_500_000);
}

#[test]
fn a_576_byte_packet_takes_480_ms_on_gsm() {
    // tcp-lite 10.2, derived constants.
    let rate = reads::<BitRate>("9600bit");
    assert_eq!(rate.time_for(ByteCount::new(576)), Span::from_millis(480));
    assert_eq!(reads::<BitRate>("384kbit").time_for(ByteCount::new(576)), Span::from_millis(12));
}

#[test]
fn bit_error_ratio_gives_the_packet_error_rates_of_fig_d1() {
    // ReSoA evaluation Fig. D.1: 1000-byte packets.
    for (ratio, expected) in [(1e-6, 0.0080), (1e-5, 0.0769), (5e-5, 0.3297), (1e-4, 0.5507)] {
        let hit = BitErrorRatio::new(ratio).expect("in range").hits(8000).get();
        assert!((hit - expected).abs() < 5e-5, "{ratio}: {hit}");
    }
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(nanos in any::<u64>(), bits in 1u64..1 << 50, bytes in 0u64..1 << 50) {
        let span = Span::from_nanos(nanos % (1 << 50));
        prop_assert_eq!(reads::<Span>(&span.to_string()), span);
        let rate = BitRate::from_bits_per_second(bits).expect("not 0");
        prop_assert_eq!(reads::<BitRate>(&rate.to_string()), rate);
        let size = ByteCount::new(bytes);
        prop_assert_eq!(reads::<ByteCount>(&size.to_string()), size);
    }

    #[test]
    fn sending_is_never_early(bits in 1u64..1 << 40, bytes in 1u64..1 << 20) {
        let rate = BitRate::from_bits_per_second(bits).expect("not 0");
        let size = ByteCount::new(bytes);
        prop_assert!(rate.bytes_in(rate.time_for(size)) >= size);
        prop_assert!(rate.bytes_in(rate.time_for(size) - Span::from_nanos(1)) <= size);
    }
}
