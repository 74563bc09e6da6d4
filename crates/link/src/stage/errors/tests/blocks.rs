//! LL-06: tests of a block erasure trace replayed in time, with wrap-around. Erasures are exactly
//! where the trace says.

use super::*;
use crate::blocks::BlockTrace;
use crate::stage::spec::FromFile;
use proptest::prelude::*;

const BLOCK: u64 = 20_000_000;

fn replay(digits: &str) -> ErrorSpec {
    let trace = BlockTrace::parse("a.blocks", digits, Some(Span::from_nanos(BLOCK))).expect("a trace");
    ErrorSpec::new(ProcessSpec::Blocks { file: FromFile::with("a.blocks", trace), tick: None })
}

fn digits(blocks: &[bool]) -> String {
    blocks.iter().map(|&erased| if erased { '1' } else { '0' }).collect()
}

proptest! {
    /// Any trace, including its wrap-around, at any instants.
    #[test]
    fn ll_06_erasures_are_where_the_trace_says(
        blocks in prop::collection::vec(any::<bool>(), 1..40),
        mut instants in prop::collection::vec(0_u64..10_000 * BLOCK / 10, 1..200),
    ) {
        instants.sort_unstable();
        let mut stage = Driven::new(replay(&digits(&blocks)), 1);
        for nanos in instants {
            let place = (nanos / BLOCK) as usize % blocks.len();
            prop_assert_eq!(stage.hits(Time::from_nanos(nanos)), blocks[place], "at {} ns", nanos);
        }
    }

    /// Over its transmission interval, a packet is hit exactly if it overlaps an erased block.
    #[test]
    fn ll_06_a_packet_is_hit_by_any_block_that_it_overlaps(
        blocks in prop::collection::vec(prop::bool::weighted(0.2), 1..40),
        lengths in prop::collection::vec((0_u64..3 * BLOCK, 1_u64..6 * BLOCK), 1..60),
    ) {
        let spec = ErrorSpec { sampled: Sampled::Interval, ..replay(&digits(&blocks)) };
        let mut stage = Driven::new(spec, 1);
        let mut now = 0;
        for (pause, length) in lengths {
            let (start, end) = (now + pause, now + pause + length);
            now = end;
            let expected = (start / BLOCK..=(end - 1) / BLOCK).any(|block| blocks[block as usize % blocks.len()]);
            let sending = Sending { start: Time::from_nanos(start), end: Time::from_nanos(end) };
            prop_assert_eq!(stage.hits_sent(sending), expected, "{}..{} ns", start, end);
        }
    }
}

/// Edges: an erased block includes its start but not its end. A trace without erasures, or without
/// blocks, hits no packet.
#[test]
fn ll_06_edges() {
    let mut stage = Driven::new(replay("0100"), 1);
    let hits = [19.999_999, 20.0, 39.999_999, 40.0, 99.999_999, 100.0, 120.0].map(|ms| stage.hits(at(ms)));
    assert_eq!(hits, [false, true, true, false, false, true, false]);
    for nothing in ["", "000"] {
        let mut stage = Driven::new(replay(nothing), 1);
        assert!((0..1000).all(|n| !stage.hits(at(f64::from(n) * 7.0))));
    }
    let mut always = Driven::new(replay("1"), 1);
    assert!((0..1000).all(|n| always.hits(at(f64::from(n) * 7.0))));
}

/// A process that is set while the link runs begins with the first block of the trace.
#[test]
fn ll_06_a_trace_that_is_set_later_begins_then() {
    let mut stage = Driven::new(replay("1"), 1);
    stage.stage.set(replay("01"), at(30.0)).expect("a spec");
    assert_eq!([49.0, 50.0, 69.0, 70.0].map(|ms| stage.hits(at(ms))), [false, true, true, false]);
}

#[test]
fn a_profile_names_the_file() {
    let read = |text: &str, file: &str| {
        let mut spec = spec(text);
        let loaded = spec.load(&mut |name| {
            assert_eq!(name, "a.blocks");
            Ok(file.to_owned())
        });
        loaded.map(|()| spec).map_err(|error| error.to_string())
    };
    let bare = "process = { blocks = \"a.blocks\" }";
    let spec = read(bare, "# block-period: 10ms\n01").expect("it reads");
    assert_eq!([9.0, 10.0].map(|ms| Driven::new(spec.clone(), 1).hits(at(ms))), [false, true]);
    assert_eq!(spec.to_string(), "at the erased blocks of a.blocks, over and over; lost");
    assert!(read(bare, "01").expect_err("no period").contains("block-period"));
    let ticks = "process = { blocks = \"a.blocks\", tick = \"10ms\" }";
    let spec = read(ticks, "01").expect("it reads");
    assert!(toml::to_string(&spec).expect("a table").contains("tick = \"10ms\""));
    assert!(
        refused("process = { blocks = \"a\", repeat = \"2s\" }")
            .contains("repeat cannot be combined with blocks")
    );
    assert!(refused(bare).contains("not been read"));
}
