//! State of lasthop's congestion controls: their measurements, and how they classified the last
//! loss.
//!
//! The private states of all of them (`crates/congestion/algorithms/state.h`) begin with the same
//! words, of which the first is a mark. Observers read these words from the socket, whichever
//! algorithm it uses. Senders with other congestion controls have no such state.

use loss_differentiation::{LossVerdict, Reason};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Number of words of the state.
pub const WORDS: usize = 14;

/// The mark without the algorithm's number: `LH`, and the version of the layout.
const MARK: u32 = 0x4c48_0100;

/// An algorithm, identified by the number in the mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Algorithm {
    /// NewReno, without loss differentiation.
    NewReno,
    /// NewZag with its adjusted rule (ltcp-newzag 3.3.3).
    NewZag,
    /// NewZag with its original rule (ltcp-newzag 3.3.2).
    NewZagV1,
    /// ZigZag, by round-trip times (ltcp-newzag 3.2.4).
    ZigZag,
    /// Biaz, by times between acknowledgements (ltcp-newzag 3.2.1).
    Biaz,
    /// mBiaz (ltcp-newzag 3.2.2).
    MBiaz,
    /// Spike, by round-trip times (ltcp-newzag 3.2.3).
    Spike,
    /// Veno (ltcp-newzag 3.2.5).
    Veno,
    /// Westwood+ (ltcp-newzag 4.6).
    Westwood,
    /// Vegas (ltcp-newzag 4.3).
    Vegas,
}

/// The state. Names in parentheses are those in `state.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossState {
    /// The algorithm (`mark`).
    pub algorithm: Algorithm,
    /// Mean of the round-trip times in nanoseconds (`mean`); zero before the first.
    pub mean_ns: u64,
    /// Deviation of the round-trip times in nanoseconds (`dev`).
    pub dev_ns: u64,
    /// Last round-trip time in microseconds (`rtt`).
    pub rtt_us: u32,
    /// Number of round-trip times so far; wraps (`samples`).
    pub samples: u32,
    /// Minimum round-trip time in microseconds. For Biaz and mBiaz, minimum time between segments
    /// in 1/256 us (`least`).
    pub least: u32,
    /// Biaz, mBiaz: span around the last loss in microseconds. Spike: 1 in a spike. Veno: backlog
    /// in 1/256 segments (`span`).
    pub span: u32,
    /// Biaz, mBiaz: segments delivered in that span (`spanned`).
    pub spanned: u32,
    /// Number of lost segments of the last loss event (`n`).
    pub n: u16,
    /// Classification of the last loss event; `None` before the first (`verdict`).
    pub verdict: Option<LossVerdict>,
    /// Reason of the classification (`reason`).
    pub reason: Option<Reason>,
    /// Congestion window at the last loss event, in segments (`base`).
    pub base: u32,
    /// The value that decided the verdict, in 1/256 of the algorithm's unit (`limit`).
    pub limit: u32,
    /// Number of retransmission timeouts; wraps (`timeouts`).
    pub timeouts: u16,
    /// Number of reductions for the reason [`Reason::Local`]; wraps (`local`).
    pub local: u16,
    /// Number of classified loss events (`events`).
    pub events: u32,
    /// Number of loss events classified as wireless (`wireless`).
    pub wireless: u32,
}

impl LossState {
    /// State of a connection without measurements and losses.
    pub const NOTHING_YET: Self = Self {
        algorithm: Algorithm::NewReno,
        mean_ns: 0,
        dev_ns: 0,
        rtt_us: 0,
        samples: 0,
        least: 0,
        span: 0,
        spanned: 0,
        n: 0,
        verdict: None,
        reason: None,
        base: 0,
        limit: 0,
        timeouts: 0,
        local: 0,
        events: 0,
        wireless: 0,
    };

    /// Reads the words; `None` if they do not begin with our mark.
    #[must_use]
    pub fn read(words: &[u32; WORDS]) -> Option<Self> {
        let number = words[0].checked_sub(MARK)?;
        let algorithm = *Algorithm::ALL.get(usize::try_from(number).ok()?)?;
        let [
            _,
            mean,
            dev,
            rtt_us,
            samples,
            least,
            span,
            spanned,
            judged,
            base,
            limit,
            counts,
            events,
            wireless,
        ] = *words;
        let [n_low, n_high, verdict, reason] = judged.to_le_bytes();
        let [timeouts_low, timeouts_high, local_low, local_high] = counts.to_le_bytes();
        Some(Self {
            algorithm,
            mean_ns: nanoseconds(mean),
            dev_ns: nanoseconds(dev),
            rtt_us,
            samples,
            least,
            span,
            spanned,
            n: u16::from_le_bytes([n_low, n_high]),
            verdict: usize::from(verdict)
                .checked_sub(1)
                .and_then(|place| LossVerdict::ALL.get(place))
                .copied(),
            reason: usize::from(reason).checked_sub(1).and_then(|place| Reason::ALL.get(place)).copied(),
            base,
            limit,
            timeouts: u16::from_le_bytes([timeouts_low, timeouts_high]),
            local: u16::from_le_bytes([local_low, local_high]),
            events,
            wireless,
        })
    }
}

/// Converts a time in 1/256 microseconds to nanoseconds.
fn nanoseconds(time: u32) -> u64 {
    u64::from(time) * 1000 / 256
}

impl Algorithm {
    /// All algorithms, in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::NewReno,
        Self::NewZag,
        Self::NewZagV1,
        Self::ZigZag,
        Self::Biaz,
        Self::MBiaz,
        Self::Spike,
        Self::Veno,
        Self::Westwood,
        Self::Vegas,
    ];

    /// Returns its name. The kernel uses the same name unless the algorithm was loaded under
    /// another.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NewReno => "newreno",
            Self::NewZag => "newzag",
            Self::NewZagV1 => "newzag_v1",
            Self::ZigZag => "zigzag",
            Self::Biaz => "biaz",
            Self::MBiaz => "mbiaz",
            Self::Spike => "spike",
            Self::Veno => "veno",
            Self::Westwood => "westwood",
            Self::Vegas => "vegas",
        }
    }

    /// Returns the algorithm with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// Tells whether it distinguishes wireless losses from congestion. The others treat every loss
    /// as congestion.
    #[must_use]
    pub const fn differentiates(self) -> bool {
        !matches!(self, Self::NewReno | Self::Westwood | Self::Vegas)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A state of newzag; every word has a different number.
    const WORDS_OF_NEWZAG: [u32; WORDS] = [
        0x4c48_0101,
        55 * 256_000,
        8 * 256_000 + 64,
        54_321,
        77,
        50_000,
        1,
        2,
        u32::from_le_bytes([3, 1, 1, 2]),
        105,
        55 * 256_000,
        u32::from_le_bytes([5, 0, 6, 1]),
        9,
        4,
    ];

    #[test]
    fn words_are_where_the_programs_put_them() {
        let expected = LossState {
            algorithm: Algorithm::NewZag,
            mean_ns: 55_000_000,
            dev_ns: 8_000_250,
            rtt_us: 54_321,
            samples: 77,
            least: 50_000,
            span: 1,
            spanned: 2,
            n: 259,
            verdict: Some(LossVerdict::Wireless),
            reason: Some(Reason::NoSample),
            base: 105,
            limit: 14_080_000,
            timeouts: 5,
            local: 262,
            events: 9,
            wireless: 4,
        };
        assert_eq!(LossState::read(&WORDS_OF_NEWZAG), Some(expected));
    }

    #[test]
    fn others_have_no_such_state() {
        for mark in [0, 0x4c48_00ff, 0x4c48_010a, 0x4c49_0101, u32::MAX] {
            let mut words = WORDS_OF_NEWZAG;
            words[0] = mark;
            assert_eq!(LossState::read(&words), None, "{mark:#x}");
        }
    }

    #[test]
    fn before_the_first_loss_there_is_no_verdict() {
        let mut words = [0; WORDS];
        words[0] = 0x4c48_0109;
        let state = LossState::read(&words).expect("a state");
        assert_eq!((state.algorithm, state.verdict, state.reason), (Algorithm::Vegas, None, None));
    }

    #[test]
    fn names_are_those_that_are_read() {
        assert!(Algorithm::ALL.into_iter().all(|each| Algorithm::from_name(each.name()) == Some(each)));
    }
}
