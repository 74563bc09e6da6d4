//! What a link did to a packet, and why.
//!
//! The fate of a packet is the row of [`Mark`]s it collected. At most one of them is a loss, and
//! then it is the last. This is the ground truth from which the accuracy of loss differentiation is
//! computed, so every stage that changes, delays out of turn or discards a packet leaves a mark.

use crate::units::{Span, Time};
use arrayvec::ArrayVec;
use std::fmt;
use std::ops::Deref;
use vocabulary::Loss;

/// The marks that a packet has collected, oldest first. A packet that four stages touched loses the
/// oldest mark to the next.
///
/// Most packets have none, and every packet is moved several times on its way: marks live outside
/// of the packet.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Marks(Option<Box<ArrayVec<Mark, 4>>>);

impl Marks {
    /// Adds a mark.
    pub fn push(&mut self, mark: Mark) {
        let marks = self.0.get_or_insert_default();
        if marks.is_full() {
            marks.remove(0);
        }
        marks.push(mark);
    }

    /// The marks that no stage has signed yet.
    pub(crate) fn unsigned(&mut self) -> impl Iterator<Item = &mut Mark> {
        let marks = self.0.as_mut().map_or(&mut [][..], |marks| marks.as_mut_slice());
        marks.iter_mut().filter(|mark| mark.stage == Mark::BY_CURRENT_STAGE)
    }
}

impl Deref for Marks {
    type Target = [Mark];

    fn deref(&self) -> &[Mark] {
        self.0.as_ref().map_or(&[], |marks| marks.as_slice())
    }
}

impl<'a> IntoIterator for &'a Marks {
    type Item = &'a Mark;
    type IntoIter = std::slice::Iter<'a, Mark>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// One thing that one stage did to one packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// Which stage: its place in the pipeline, from 0. [`crate::Pipeline::stage_name`] gives its
    /// name.
    pub stage: u8,
    /// When, in logical time.
    pub at: Time,
    /// What.
    pub effect: Effect,
}

/// What a stage did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Effect {
    /// The packet is gone.
    Lost(Loss),
    /// The TCP or UDP checksum was made wrong and nothing else was touched (TL-13).
    ChecksumSpoiled,
    /// This many bits were flipped (TL-14).
    BitsFlipped(u32),
    /// The ECN field was set to Congestion Experienced instead of dropping the packet (RFC 3168).
    CongestionMarked,
    /// This packet is a copy that the link made of another with the same number.
    Copied,
    /// The packet was held back for this long by a hiccup.
    Held(Span),
    /// The packet left after this many packets that had come after it.
    Overtaken(u32),
}

impl Mark {
    /// Stands in [`Mark::stage`] until the pipeline, which knows, fills in the place of the stage
    /// that made the mark.
    pub(crate) const BY_CURRENT_STAGE: u8 = u8::MAX;
}

impl Effect {
    /// Whether the packet is gone after this.
    #[must_use]
    pub const fn is_loss(self) -> bool {
        matches!(self, Self::Lost(_))
    }

    /// Whether bytes of the packet are wrong after this.
    #[must_use]
    pub const fn is_damage(self) -> bool {
        matches!(self, Self::ChecksumSpoiled | Self::BitsFlipped(_))
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(loss) => write!(f, "lost: {loss}"),
            Self::ChecksumSpoiled => f.write_str("damaged: checksum spoiled"),
            Self::BitsFlipped(1) => f.write_str("damaged: 1 bit flipped"),
            Self::BitsFlipped(bits) => write!(f, "damaged: {bits} bits flipped"),
            Self::CongestionMarked => f.write_str("marked: congestion experienced"),
            Self::Copied => f.write_str("duplicate"),
            Self::Held(span) => write!(f, "held for {span}"),
            Self::Overtaken(1) => f.write_str("overtaken by 1 packet"),
            Self::Overtaken(count) => write!(f, "overtaken by {count} packets"),
        }
    }
}
