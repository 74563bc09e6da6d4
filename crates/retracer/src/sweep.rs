//! Link-layer recovery with frames of every size (LL-11): throughput, retransmissions, the best
//! size.

use crate::RetraceError;
use crate::replay::{Channel, Start, Transfer, Unit};
use link::blocks::BlockTrace;
use link::units::{ByteCount, Span};

/// The link on which a trace was recorded, as far as frames depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Duration of a block.
    pub period: Span,
    /// Octets per block.
    pub octets: ByteCount,
    /// Octets of overhead per frame, which carry no user data.
    pub overhead: u64,
}

/// The transfer with frames of one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// The replayed transfer.
    pub transfer: Transfer,
    /// Throughput relative to that of frames of one block; `None` if no such frame ever arrives.
    pub gain: Option<f64>,
}

/// A transfer with frames of every size.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// The requested sizes, by number of blocks; `None` if no frame of a size ever arrives.
    pub frames: Vec<(u32, Option<Frame>)>,
    /// The transfer with frames of one block, requested or not; `None` if no such frame ever
    /// arrives.
    pub single: Option<Transfer>,
}

impl Link {
    /// GSM-CSD at 9.6 kbit/s: 30 octets per 20 ms. A frame uses 2 for its header, 3 for its
    /// checksum and 1 for the status octet (ambiguities 3 and 4 of the specification). So frames of
    /// one block give 1200 octets per second.
    pub const GSM: Self =
        Self { period: BlockTrace::GSM_PERIOD, octets: BlockTrace::GSM_PAYLOAD, overhead: 6 };

    /// Returns the link of `trace`, with frames that have `overhead` octets of overhead.
    #[must_use]
    pub fn of(trace: &BlockTrace, overhead: u64) -> Self {
        Self { period: trace.period, octets: trace.payload, overhead }
    }

    /// Returns a frame of this many blocks.
    pub fn frame(&self, blocks: u32) -> Result<Unit, RetraceError> {
        let octets = u64::from(blocks) * self.octets.get();
        match octets.checked_sub(self.overhead).filter(|payload| *payload > 0) {
            Some(payload) => Ok(Unit { blocks, payload }),
            None => Err(RetraceError::NoRoom { blocks, octets, overhead: self.overhead }),
        }
    }
}

/// Returns the smallest transfer size in octets that uses the whole trace with frames of every
/// size: the octets that fit into its blocks (LL-13).
#[must_use]
pub fn covering_size(channel: &Channel, link: &Link) -> u64 {
    channel.blocks() as u64 * link.octets.get()
}

/// Replays a transfer of `size` octets of user data with frames of each of these numbers of blocks.
pub fn sweep(
    channel: &Channel,
    link: &Link,
    size: u64,
    start: Start,
    frames: impl IntoIterator<Item = u32>,
) -> Result<Sweep, RetraceError> {
    let transfer = |blocks| channel.transfer(link.frame(blocks)?, size, start);
    let single = transfer(1)?;
    let row = |blocks| {
        let transfer = if blocks == 1 { single } else { transfer(blocks)? };
        let frame = transfer.map(|transfer| {
            let gain = single.map(|single| transfer.throughput(link) / single.throughput(link));
            Frame { transfer, gain }
        });
        Ok((blocks, frame))
    };
    let frames = frames
        .into_iter()
        .map(|blocks| if blocks == 0 { Err(RetraceError::NoFrames) } else { row(blocks) })
        .collect::<Result<Vec<_>, _>>()?;
    if frames.is_empty() { Err(RetraceError::NoFrames) } else { Ok(Sweep { frames, single }) }
}

impl Sweep {
    /// Returns the frames with the highest throughput, and the smaller size of two that are equal.
    /// `None` if no frame of any size ever arrives.
    #[must_use]
    pub fn best(&self) -> Option<Frame> {
        let mut best: Option<Frame> = None;
        for frame in self.frames.iter().filter_map(|row| row.1) {
            // The size of the transfer is the same, so the fewest blocks mean the highest
            // throughput.
            let better = |best: Frame| {
                let (new, old) = (frame.transfer, best.transfer);
                (new.blocks(), new.unit.blocks) < (old.blocks(), old.unit.blocks)
            };
            if best.is_none_or(better) {
                best = Some(frame);
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::even;
    use proptest::prelude::*;

    const BLOCKS: usize = 774_000;

    fn throughputs(
        erased: &[bool],
        size: Option<u64>,
        frames: impl IntoIterator<Item = u32>,
    ) -> Vec<(u32, f64)> {
        let channel = Channel::new(erased).expect("blocks");
        let size = size.unwrap_or_else(|| covering_size(&channel, &Link::GSM));
        let sweep = sweep(&channel, &Link::GSM, size, Start::Block(0), frames).expect("can be replayed");
        sweep
            .frames
            .iter()
            .map(|(blocks, frame)| (*blocks, frame.expect("comes through").transfer.throughput(&Link::GSM)))
            .collect()
    }

    /// LL-10: T(m) = (1500 - 300/m)(1 - m b) on even traces, within 0.1 %, for all m <= 1/b.
    #[test]
    fn ll_10_closed_forms_on_even_traces() {
        for rate in [0.001, 0.005, 0.01, 0.05] {
            let erased = even(BLOCKS, (BLOCKS as f64 * rate) as usize);
            // A hundred times the trace, so that it does not matter where in its last round the
            // transfer ends.
            for (m, found) in throughputs(&erased, Some(100 * 30 * BLOCKS as u64), 1..=(0.9 / rate) as u32) {
                let m = f64::from(m);
                let expected = (1500.0 - 300.0 / m) * (1.0 - m * rate);
                assert!(
                    (found / expected - 1.0).abs() < 1e-3,
                    "b = {rate}, m = {m}: {found}, expected {expected}"
                );
            }
        }
    }

    /// The table after the closed forms in section 6; the best m is sqrt(0.2 / b) (LL-11).
    #[test]
    fn ll_11_best_sizes_and_gains_of_even_traces() {
        for (rate, sizes, best, single, gain) in [
            (0.001, [14, 14], 1458.0, 1199.0, 1.22),
            (0.005, [6, 7], 1406.5, 1194.0, 1.18),
            (0.01, [4, 5], 1368.0, 1188.0, 1.15),
            (0.05, [2, 2], 1215.0, 1140.0, 1.07),
        ] {
            let channel = Channel::new(&even(BLOCKS, (BLOCKS as f64 * rate) as usize)).expect("blocks");
            let size = covering_size(&channel, &Link::GSM);
            let sweep = sweep(&channel, &Link::GSM, size, Start::Block(0), 1..=100).expect("can be replayed");
            let found = sweep.best().expect("comes through");
            assert!(sizes.contains(&found.transfer.unit.blocks), "b = {rate}: {found:?}");
            let throughput = found.transfer.throughput(&Link::GSM);
            assert!((throughput / best - 1.0).abs() < 1e-3, "b = {rate}: {throughput}");
            let one = sweep.single.expect("comes through").throughput(&Link::GSM);
            assert!((one / single - 1.0).abs() < 1e-3, "b = {rate}: {one}");
            assert!((found.gain.expect("against one block") - gain).abs() < 0.005, "b = {rate}: {found:?}");
        }
    }

    /// Results of the reference program of section 6, to the digits that it prints.
    #[test]
    fn ll_10_reference_program() {
        let found = throughputs(&even(12_900, 129), Some(300_000), [1, 2, 4, 5, 10]);
        let found: Vec<String> = found.iter().map(|(m, found)| format!("{m}: {found:.1}")).collect();
        assert_eq!(found, ["1: 1187.9", "2: 1322.8", "4: 1367.6", "5: 1367.4", "10: 1321.6"]);
    }

    /// LL-11: with independent erasures, a share of (1 - b)^m arrives; tested within five standard
    /// deviations.
    #[test]
    fn ll_11_independent_erasures() {
        use rand::RngExt;
        let mut stream = link::Seed::campaign(3).stage("erasures").stream();
        let rate: f64 = 0.01;
        let erased: Vec<bool> = (0..BLOCKS).map(|_| stream.random::<f64>() < rate).collect();
        for (m, found) in throughputs(&erased, None, 1..=30) {
            let m = f64::from(m);
            let share = (1.0 - rate).powf(m);
            let frames = BLOCKS as f64 / m;
            let deviation = (share * (1.0 - share) / frames).sqrt() / share;
            let expected = (1500.0 - 300.0 / m) * share;
            assert!(
                (found / expected - 1.0).abs() < 5.0 * deviation + 1e-4,
                "m = {m}: {found}, expected {expected}"
            );
        }
    }

    proptest! {
        /// LL-11: no frame size gains more than 25 % over frames of one block, or gives more than
        /// 1500 octets per second.
        #[test]
        fn ll_11_ceiling(erased in prop::collection::vec(prop::bool::weighted(0.1), 1..300)) {
            let channel = Channel::new(&erased).expect("blocks");
            // So many rounds of the trace that it does not matter where the transfer ends in it.
            let size = 1000 * covering_size(&channel, &Link::GSM);
            let sweep = sweep(&channel, &Link::GSM, size, Start::Every, 1..=40).expect("can be replayed");
            for frame in sweep.frames.iter().filter_map(|row| row.1) {
                prop_assert!(frame.transfer.throughput(&Link::GSM) < 1500.0);
                // A frame arrives if each of its blocks does. So frames of one block lose the
                // least, and larger ones can only gain the overhead.
                let gain = frame.gain.expect("where a frame gets through, so does a block");
                prop_assert!(gain < 1.2501, "{:?}", frame);
            }
            if let Some(best) = sweep.best() {
                prop_assert!(sweep.frames.iter().filter_map(|row| row.1).all(|frame| frame.transfer.blocks() >= best.transfer.blocks()));
            }
        }
    }

    /// LL-11: with the same number of erasures in bursts, the best frame is larger and gives more.
    #[test]
    fn ll_11_bursts_make_the_best_frame_larger() {
        let best = |erased: &[bool]| {
            let found = throughputs(erased, None, 1..=60);
            found.into_iter().max_by(|one, other| one.1.total_cmp(&other.1)).expect("sizes")
        };
        let even = even(100_000, 1000);
        // The same number of erasures, ten in a row.
        let bursts: Vec<bool> = (0..100_000).map(|place| place % 1000 < 10).collect();
        let (even, bursts) = (best(&even), best(&bursts));
        assert!(bursts.0 > even.0 && bursts.1 > even.1, "{even:?}, {bursts:?}");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let channel = Channel::new(&[true; 5]).expect("blocks");
        let sweep =
            |link: Link, frames: &[u32]| sweep(&channel, &link, 100, Start::Every, frames.iter().copied());
        assert_eq!(sweep(Link::GSM, &[]), Err(RetraceError::NoFrames));
        assert_eq!(sweep(Link::GSM, &[1, 0]), Err(RetraceError::NoFrames));
        let heavy = sweep(Link { overhead: 30, ..Link::GSM }, &[1]).expect_err("no room").to_string();
        assert!(
            heavy.starts_with("a frame of 30 octets (1 x the block) with an overhead of 30 has no room"),
            "{heavy}"
        );
        let nothing = sweep(Link::GSM, &[1, 2]).expect("nothing comes through");
        assert_eq!((nothing.best(), &nothing.frames[..]), (None, &[(1, None), (2, None)][..]));
    }
}
