//! Retransmissions that were not necessary: which, how that is known, and what they cost.
//!
//! A retransmission is *spurious* if every byte in it that had been sent before reached the
//! receiver by a transmission before it, and *necessary* if a byte did not. That is Ludwig's
//! competing error recovery (dissertation 3.3.1; LL-27, LL-28, LL-34): TCP sends again what the
//! link still delivers. Whether the receiver had the bytes is decided by sequence numbers and never
//! by times of two machines (L 3.2.1), so clocks need not agree.
//!
//! What is told of each retransmission is an [`Evidence`] each, and they are combined in the order
//! of [`Evidence::RANKS`]: a proof outweighs what is only likely. All is looked at behind the
//! event, from the whole capture; memory grows with its length.
//!
//! | file | what is there |
//! |---|---|
//! | [`flow`] | what one capture shows of one direction: transmissions and acknowledgments |
//! | [`collect`] | from a capture to flows |
//! | [`pair`](mod@pair) | which flow is the sender's side, which the receiver's |
//! | [`delivery`] | from what was delivered to verdicts |
//! | [`arrivals`] | what was delivered, from two captures |
//! | [`truth`] | what was delivered, from the event log of an emulated link; recall and precision |
//! | [`story`] | what a sender's capture answers quickly |
//! | [`timestamps`], [`duplicate_sack`], [`forward`], [`round_trip_bound`], [`gap`], [`alignment`] | evidence in a sender's capture |
//! | [`examine`](mod@examine) | all of it for one direction of a connection |
//! | [`states`] | what the recorded states of the sender say of causes and windows |
//! | [`response`] | what the Eifel response would have saved |
//! | [`utilization`] | what spurious bytes cost a link |

pub mod alignment;
pub mod arrivals;
pub mod collect;
pub mod delivery;
pub mod duplicate_sack;
pub mod examine;
pub mod flow;
pub mod forward;
pub mod gap;
pub mod pair;
pub mod ranges;
pub mod response;
pub mod round_trip_bound;
pub mod states;
pub mod story;
pub mod timestamps;
pub mod truth;
pub mod utilization;

pub use examine::{Examined, Retransmission, examine};
pub use pair::{Sides, pair};
pub use truth::Score;

use serde::Serialize;

/// Whether a retransmission was necessary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The receiver got all of it by an earlier transmission.
    Spurious,
    /// Some of it was lost each time before.
    Necessary,
    /// It cannot be told.
    #[default]
    Unknown,
}

/// How it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// A capture at the receiver: what arrived there, by sequence number ([`arrivals`]).
    Arrivals,
    /// The receiver had told that it has the bytes before they were sent again: ACK and
    /// retransmission crossed on the way.
    Acknowledged,
    /// The acknowledgment echoes a time stamp older than the retransmission's, or its own (Eifel,
    /// RFC 3522; [`timestamps`]).
    Timestamps,
    /// A duplicate SACK tells that it came twice, or none came from a receiver that sends them (RFC
    /// 2883, RFC 3708; [`duplicate_sack`]).
    DuplicateSack,
    /// The acknowledgment came sooner after it than any round trip takes, or filled a hole one
    /// round trip later ([`round_trip_bound`]).
    RoundTrip,
    /// The acknowledgment that filled a hole before it covers it as well: it was there already
    /// ([`gap`]).
    Gap,
    /// After a timeout, data that was not sent again was acknowledged (F-RTO, RFC 5682;
    /// [`forward`]).
    Forward,
    /// Acknowledgments in the order in which what they answer was sent: which was left over
    /// ([`alignment`]).
    Alignment,
}

/// What each evidence says of one retransmission, in the order of [`Evidence::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Signs([Verdict; Evidence::ALL.len()]);

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Spurious, Self::Necessary, Self::Unknown];

    /// `spurious`, `necessary` or `unknown`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spurious => "spurious",
            Self::Necessary => "necessary",
            Self::Unknown => "unknown",
        }
    }
}

impl Evidence {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Arrivals,
        Self::Acknowledged,
        Self::Timestamps,
        Self::DuplicateSack,
        Self::RoundTrip,
        Self::Gap,
        Self::Forward,
        Self::Alignment,
    ];

    /// What decides, the first that says something: the receiver's own capture; then proofs that an
    /// earlier transmission arrived; then signs, the stronger ones first. That a duplicate SACK
    /// outweighs a time stamp that says *necessary* is for originals that come behind their
    /// retransmission: it answered the hole, but they were not lost.
    pub const RANKS: [(Self, Verdict); 14] = [
        (Self::Arrivals, Verdict::Spurious),
        (Self::Arrivals, Verdict::Necessary),
        (Self::Acknowledged, Verdict::Spurious),
        (Self::Timestamps, Verdict::Spurious),
        (Self::DuplicateSack, Verdict::Spurious),
        (Self::Timestamps, Verdict::Necessary),
        (Self::RoundTrip, Verdict::Spurious),
        (Self::Gap, Verdict::Spurious),
        (Self::Forward, Verdict::Spurious),
        (Self::Forward, Verdict::Necessary),
        (Self::RoundTrip, Verdict::Necessary),
        (Self::DuplicateSack, Verdict::Necessary),
        (Self::Alignment, Verdict::Spurious),
        (Self::Alignment, Verdict::Necessary),
    ];

    /// Its name in tables: `arrivals`, `acknowledged`, `timestamps`, `dsack`, `round-trip`, `gap`,
    /// `f-rto` or `alignment`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arrivals => "arrivals",
            Self::Acknowledged => "acknowledged",
            Self::Timestamps => "timestamps",
            Self::DuplicateSack => "dsack",
            Self::RoundTrip => "round-trip",
            Self::Gap => "gap",
            Self::Forward => "f-rto",
            Self::Alignment => "alignment",
        }
    }
}

impl Signs {
    /// What `evidence` says.
    #[must_use]
    pub const fn of(&self, evidence: Evidence) -> Verdict {
        self.0[evidence as usize]
    }

    /// Writes down what `evidence` says.
    pub const fn set(&mut self, evidence: Evidence, verdict: Verdict) {
        self.0[evidence as usize] = verdict;
    }

    /// The verdict of those that `admitted` lets in, and which decided; see [`Evidence::RANKS`].
    #[must_use]
    pub fn combined(&self, admitted: impl Fn(Evidence) -> bool) -> (Verdict, Option<Evidence>) {
        let mut ranks = Evidence::RANKS.into_iter();
        let decided = ranks.find(|&(evidence, verdict)| admitted(evidence) && self.of(evidence) == verdict);
        decided.map_or((Verdict::Unknown, None), |(evidence, verdict)| (verdict, Some(evidence)))
    }
}
