//! Spurious retransmissions: which ones, how that is known, and what they cost.
//!
//! A retransmission is *spurious* if every byte in it that had been sent before reached the
//! receiver by an earlier transmission, and *necessary* if some byte did not. Ludwig calls this
//! competing error recovery (dissertation 3.3.1; LL-27, LL-28, LL-34): TCP retransmits what the
//! link still delivers. Sequence numbers decide whether the receiver had the bytes, never the times
//! of two machines (L 3.2.1). So clocks need not agree.
//!
//! Each kind of [`Evidence`] gives a verdict on each retransmission. [`Evidence::RANKS`] is the
//! order in which they are combined: a proof outweighs an indication. The analysis runs afterwards,
//! over the whole capture, so memory grows with the capture's length.
//!
//! | file | contents |
//! |---|---|
//! | [`flow`] | what one capture shows of one direction: transmissions and acknowledgments |
//! | [`collect`] | from a capture to flows |
//! | [`pair`](mod@pair) | which flow is the sender's side, and which the receiver's |
//! | [`delivery`] | from what was delivered to verdicts |
//! | [`arrivals`] | what was delivered, from two captures |
//! | [`truth`] | what was delivered, from an emulated link's event log; recall and precision |
//! | [`story`] | fast queries on a sender's capture |
//! | [`timestamps`], [`duplicate_sack`], [`forward`], [`round_trip_bound`], [`gap`], [`alignment`] | evidence in a sender's capture |
//! | [`examine`](mod@examine) | all evidence on one direction of a connection |
//! | [`states`] | causes and windows, from the recorded states of the sender |
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
pub enum SpuriousVerdict {
    /// The receiver got all of it by earlier transmissions.
    Spurious,
    /// Some of it had been lost in every earlier transmission.
    Necessary,
    /// Not known.
    #[default]
    Unknown,
}

/// Kind of evidence for a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// A capture at the receiver shows what arrived there, by sequence number ([`arrivals`]).
    Arrivals,
    /// The receiver had acknowledged the bytes before they were sent again: acknowledgment and
    /// retransmission crossed on the way.
    Acknowledged,
    /// The acknowledgment echoes a time stamp that is older than the retransmission's, or the
    /// retransmission's own (Eifel, RFC 3522; [`timestamps`]).
    Timestamps,
    /// A duplicate SACK reports that it arrived twice, or a receiver that sends such reports sent
    /// none (RFC 2883, RFC 3708; [`duplicate_sack`]).
    DuplicateSack,
    /// The acknowledgment followed sooner than any round trip takes, or it filled a hole one round
    /// trip later ([`round_trip_bound`]).
    RoundTrip,
    /// The acknowledgment that filled a hole below it covers it as well, so it was there already
    /// ([`gap`]).
    Gap,
    /// After a timeout, data that was not retransmitted was acknowledged (F-RTO, RFC 5682;
    /// [`forward`]).
    Forward,
    /// Acknowledgments and the transmissions that they answer, matched in order: a transmission
    /// that is left over was lost ([`alignment`]).
    Alignment,
}

/// Verdicts of all evidence on one retransmission, in the order of [`Evidence::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Signs([SpuriousVerdict; Evidence::ALL.len()]);

impl SpuriousVerdict {
    /// All verdicts.
    pub const ALL: [Self; 3] = [Self::Spurious, Self::Necessary, Self::Unknown];

    /// Returns `spurious`, `necessary` or `unknown`.
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
    /// All kinds.
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

    /// Order in which evidence decides: the first entry whose evidence gives its verdict.
    ///
    /// First comes the receiver's own capture, then proofs that an earlier transmission arrived,
    /// then indications, the stronger ones first. A duplicate SACK outweighs a time stamp that says
    /// *necessary*, because an original can arrive after its retransmission. Then the
    /// retransmission filled the hole, but the original was not lost.
    pub const RANKS: [(Self, SpuriousVerdict); 14] = [
        (Self::Arrivals, SpuriousVerdict::Spurious),
        (Self::Arrivals, SpuriousVerdict::Necessary),
        (Self::Acknowledged, SpuriousVerdict::Spurious),
        (Self::Timestamps, SpuriousVerdict::Spurious),
        (Self::DuplicateSack, SpuriousVerdict::Spurious),
        (Self::Timestamps, SpuriousVerdict::Necessary),
        (Self::RoundTrip, SpuriousVerdict::Spurious),
        (Self::Gap, SpuriousVerdict::Spurious),
        (Self::Forward, SpuriousVerdict::Spurious),
        (Self::Forward, SpuriousVerdict::Necessary),
        (Self::RoundTrip, SpuriousVerdict::Necessary),
        (Self::DuplicateSack, SpuriousVerdict::Necessary),
        (Self::Alignment, SpuriousVerdict::Spurious),
        (Self::Alignment, SpuriousVerdict::Necessary),
    ];

    /// Returns its name in tables: `arrivals`, `acknowledged`, `timestamps`, `dsack`, `round-trip`,
    /// `gap`, `f-rto` or `alignment`.
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
    /// Returns the verdict of `evidence`.
    #[must_use]
    pub const fn of(&self, evidence: Evidence) -> SpuriousVerdict {
        self.0[evidence as usize]
    }

    /// Stores the verdict of `evidence`.
    pub const fn set(&mut self, evidence: Evidence, verdict: SpuriousVerdict) {
        self.0[evidence as usize] = verdict;
    }

    /// Returns the joint verdict of the evidence that `admitted` accepts, and the evidence that
    /// decided.
    ///
    /// See [`Evidence::RANKS`].
    #[must_use]
    pub fn combined(&self, admitted: impl Fn(Evidence) -> bool) -> (SpuriousVerdict, Option<Evidence>) {
        let mut ranks = Evidence::RANKS.into_iter();
        let decided = ranks.find(|&(evidence, verdict)| admitted(evidence) && self.of(evidence) == verdict);
        decided.map_or((SpuriousVerdict::Unknown, None), |(evidence, verdict)| (verdict, Some(evidence)))
    }
}
