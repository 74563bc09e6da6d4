//! LL-01, LL-09, LL-36: written traces parse to the same traces, rates are exact, and errors name
//! the place and the value.

use super::*;
use crate::units::{ByteCount, Span};
use proptest::prelude::*;
use vocabulary::link_layer::{Event, Way};

fn blocks(erased: Vec<bool>) -> BlockTrace {
    BlockTrace {
        header: Header::default(),
        period: BlockTrace::GSM_PERIOD,
        payload: BlockTrace::GSM_PAYLOAD,
        erased,
    }
}

fn header() -> impl Strategy<Value = Header> {
    let text = "[a-z0-9(][a-zA-Z0-9 :#=.-]{0,20}[a-z)]";
    let bars = (1_u8..=5, 1_u8..=5)
        .prop_map(|(one, two)| SignalStrength { least: one.min(two), most: one.max(two) });
    let origin = prop_oneof![Just(Origin::Synthetic), Just(Origin::Measured)];
    let notes = prop::collection::vec(("x-[a-z0-9-]{0,8}", text), 0..4);
    let option = prop::option::of::<BoxedStrategy<String>>;
    (option(text.boxed()), prop::option::of(bars), option(text.boxed()), prop::option::of(origin), notes)
        .prop_map(|(category, signal_strength, start, origin, notes)| Header {
            category,
            signal_strength,
            start,
            origin,
            notes,
        })
}

fn record() -> impl Strategy<Value = RlpRecord> {
    let event = (0..Event::ALL.len()).prop_map(|place| Event::ALL[place]);
    let number = || prop::option::of(0_u8..62);
    let way = prop_oneof![Just(Way::Sent), Just(Way::Received)];
    (any::<u64>(), way, event, number(), number(), any::<Option<u64>>())
        .prop_map(|(time_us, way, event, ns, nr, aux)| RlpRecord { time_us, way, event, ns, nr, aux })
}

proptest! {
    /// LL-01: round trip of block erasure traces, including the header.
    #[test]
    fn block_traces_come_back(header in header(), erased: Vec<bool>, micros in 1_u64..100_000, payload in 1_u64..2000) {
        let trace = BlockTrace { header, period: Span::from_micros(micros), payload: ByteCount::new(payload), erased };
        prop_assert_eq!(BlockTrace::parse("x", &trace.to_string(), None), Ok(trace));
    }

    /// LL-01: round trip of bit error traces, and their ratio.
    #[test]
    fn bit_traces_come_back(header in header(), wrong: Vec<bool>) {
        let trace = BitTrace::new(header, wrong.iter().copied());
        let read = BitTrace::parse("x", &trace.to_string());
        prop_assert_eq!(read.as_ref(), Ok(&trace));
        let errors = wrong.iter().filter(|&&wrong| wrong).count();
        prop_assert_eq!((trace.bits(), trace.errors()), (wrong.len() as u64, errors as u64));
    }

    /// LL-36: round trip of RLP traces.
    #[test]
    fn rlp_traces_come_back(header in header(), mut records in prop::collection::vec(record(), 0..50)) {
        records.sort_by_key(|record| record.time_us);
        let trace = RlpTrace { header, period: BlockTrace::GSM_PERIOD, records };
        prop_assert_eq!(RlpTrace::parse("x", &trace.to_string()), Ok(trace));
    }

    /// Every text that parses is written so that it parses to the same trace, including prose and
    /// odd white space.
    #[test]
    fn what_reads_reads_again(
        lines in prop::collection::vec("(# [a-z-]{1,5}: \\PC{0,9}|#\\PC{0,9}|# block-pa[y]load: 7B|[01, \t\r]{0,9}|[0-9 ]{1,6}|[0-3] [SR] (DATA|OK) - 3 -)", 0..9),
    ) {
        let text = lines.join("\n");
        if let Ok(trace) = BlockTrace::parse("x", &text, Some(Span::from_millis(20))) {
            prop_assert_eq!(BlockTrace::parse("x", &trace.to_string(), None), Ok(trace.clone()));
        }
        if let Ok(trace) = BitTrace::parse("x", &text) {
            prop_assert_eq!(BitTrace::parse("x", &trace.to_string()), Ok(trace.clone()));
        }
        if let Ok(trace) = RlpTrace::parse("x", &text) {
            prop_assert_eq!(RlpTrace::parse("x", &trace.to_string()), Ok(trace.clone()));
            let blocks = trace.blocks();
            prop_assert!(BlockTrace::parse("x", &blocks.to_string(), None).is_ok());
        }
    }

    /// A block of a bit trace is erased if it has more wrong bits than the code can repair.
    #[test]
    fn bits_make_blocks(wrong: Vec<bool>, bits in 1_u64..20, correctable in 0_u64..5) {
        let expected: Vec<bool> = wrong
            .chunks_exact(bits as usize)
            .map(|block| block.iter().filter(|&&wrong| wrong).count() as u64 > correctable)
            .collect();
        let trace = BitTrace::new(Header::default(), wrong);
        prop_assert_eq!(trace.blocks(bits, correctable), Some(expected));
    }
}

/// LL-01: BLER and BER of known traces are exact.
#[test]
fn rates_are_shares() {
    let trace =
        BlockTrace::parse("x", "0001 0011, 0111\n1000", Some(Span::from_millis(20))).expect("a trace");
    assert_eq!((trace.erased.len(), trace.erasures()), (16, 7));
    assert!((trace.block_erasure_rate().get() - 7.0 / 16.0).abs() < f64::EPSILON);
    assert_eq!(trace.duration(), Span::from_millis(320));
    assert_eq!(trace.bursts(), Bursts { count: 3, longest: 4 });
    assert_eq!(trace.runs().collect::<Vec<_>>(), [(3, 1), (6, 2), (9, 4)]);
    let bits = BitTrace::parse("x", "96 1\n2,1 # and no more").expect("a trace");
    assert!((bits.bit_error_ratio().get() - 0.02).abs() < f64::EPSILON);
    assert_eq!(blocks(Vec::new()).block_erasure_rate().get().to_bits(), 0);
}

#[test]
fn a_file_looks_like_this() {
    let mut trace = blocks([vec![false; 49], vec![true; 3]].concat());
    trace.header = Header {
        category: Some("stationary".to_owned()),
        signal_strength: Some(SignalStrength { least: 1, most: 2 }),
        start: Some("2001-03-04\n10:15".to_owned()),
        origin: Some(Origin::Synthetic),
        notes: vec![("seed".to_owned(), "7".to_owned())],
    };
    let text = format!(
        "# format: block-erasures\n# version: 1\n# block-period: 20ms\n# block-payload: 30B\n# category: stationary\n\
         # signal-strength: 1-2\n# start: 2001-03-04 10:15\n# origin: synthetic\n# seed: 7\n{}1\n11\n",
        "0".repeat(49)
    );
    assert_eq!(trace.to_string(), text);
    assert_eq!(Format::of(&text), Some(Format::BlockErasures));
    assert_eq!(trace.header.note("seed"), Some("7"));
}

/// The received blocks of an RLP trace form a block erasure trace (LL-36).
#[test]
fn an_rlp_trace_has_its_blocks() {
    let text = "# format: rlp\n# origin: measured\n0 S DATA 61 0 24\n0 R OK - 5 -\n9 R ERAS - - -\n9 S ERAS - - -\n10 R SREJ 4 5 -\n11 R OK - - -";
    let trace = RlpTrace::parse("x", text).expect("a trace");
    assert_eq!(trace.records.len(), 6);
    assert_eq!(trace.records[4].ns, Some(4));
    let blocks = trace.blocks();
    assert_eq!(blocks.erased, [false, true, false]);
    assert_eq!(blocks.header.origin, Some(Origin::Measured));
}

/// Prose above the blocks is not a header, and neither is a key below the first block.
#[test]
fn prose_is_no_header() {
    let text = "# See https://example.org: a trace.\n# Taken by hand: version: 3\n01\n# version: 9\n1";
    let trace = BlockTrace::parse("x", text, Some(Span::from_millis(10))).expect("a trace");
    assert_eq!((trace.header, trace.erased), (Header::default(), vec![false, true, true]));
}

#[test]
fn errors_name_file_line_field_and_value() {
    let wrong = |text: &str| BlockTrace::parse("a.blocks", text, None).expect_err(text).to_string();
    let at_20 = |text: &str| {
        BlockTrace::parse("a.blocks", text, Some(Span::from_millis(20))).expect_err(text).to_string()
    };
    assert_eq!(
        wrong("00\n"),
        "a.blocks:1: block-period ``: is missing: add a line `# block-period: 20ms` above the blocks"
    );
    assert_eq!(
        wrong("#\n# block-period: 20\n"),
        "a.blocks:2: block-period `20`: must be a time above 0, such as 20ms"
    );
    assert!(wrong("# block-period: 0ms\n").contains("above 0"));
    assert!(wrong("# block-period: inf\n").contains("above 0"));
    assert!(
        wrong("# block-period: 1ms\n# block-period: 1ms\n")
            .starts_with("a.blocks:2: block-period `1ms`: is already in the header")
    );
    assert!(at_20("# block-period: 10ms\n").contains("remove one of the two"));
    assert!(at_20("# block-payload: 0B\n").contains("must be above 0 and at most 1 MiB"));
    assert_eq!(at_20("# format: rlp\n"), "a.blocks:1: format `rlp`: must be block-erasures here");
    assert!(at_20("# version: 2\n").contains("later version"));
    assert!(at_20("# origin: made up\n").contains("synthetic or measured"));
    assert!(at_20("# category: a\n# category: b\n").starts_with("a.blocks:2: category `b`"));
    for bars in ["0", "6", "4-3", "2-", "x"] {
        assert!(at_20(&format!("# signal-strength: {bars}\n")).contains("1 to 5"), "{bars}");
    }
    assert_eq!(at_20("01\n012\n"), "a.blocks:2: block `2`: must be 0 (arrived) or 1 (lost)");

    let wrong = |text: &str| BitTrace::parse("a.bits", text).expect_err(text).to_string();
    assert!(wrong("5 0 5").starts_with("a.bits:1: run `0`: must be"));
    assert!(wrong("0\n-1").starts_with("a.bits:2: run `-1`"));
    assert!(wrong("18446744073709551615 1").contains("too long"));

    let wrong = |text: &str| RlpTrace::parse("a.rlp", text).expect_err(text).to_string();
    assert!(wrong("0 S DATA 0 0").contains("six fields"));
    assert!(wrong("x S DATA 0 0 -").starts_with("a.rlp:1: time_us `x`"));
    assert!(wrong("0 T DATA 0 0 -").contains("dir `T`"));
    assert!(wrong("0 S NULL 0 0 -").contains("event `NULL`"));
    assert!(wrong("0 S DATA 62 0 -").contains("ns `62`: must be a frame number, 0 to 61"));
    assert!(wrong("0 S DATA 0 63 -").contains("nr `63`"));
    assert!(wrong("0 S DATA 0 0 1.5").contains("aux `1.5`"));
    assert!(wrong("7 S DATA 0 0 -\n6 S DATA 0 0 -").starts_with("a.rlp:2: time_us `6`: must not be earlier"));
}
