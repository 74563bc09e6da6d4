//! Effects of a link on a packet, and their causes.
//!
//! The fate of a packet is its list of [`Mark`]s. At most one of them is a loss, and a loss is
//! always the last. The marks are the ground truth for the accuracy of loss differentiation, so
//! every stage that changes a packet, discards it or delays it out of turn leaves a mark.

use crate::units::{Span, Time};
use arrayvec::ArrayVec;
use std::fmt;
use std::ops::Deref;
use vocabulary::Loss;

/// The marks of a packet, oldest first, at most four. A fifth mark replaces the oldest.
///
/// Marks are stored outside of the packet, because most packets have none and every packet is moved
/// in memory several times on its way.
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

    /// Returns the marks for which the pipeline has not filled in the stage yet.
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

/// One effect of one stage on one packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// Number of the stage: its place in the pipeline, from 0. [`crate::Pipeline::stage_name`]
    /// gives its name.
    pub stage: u8,
    /// Logical time of the effect.
    pub at: Time,
    /// The effect.
    pub effect: Effect,
}

/// Effect of a stage on a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Effect {
    /// The packet is lost.
    Lost(Loss),
    /// The TCP or UDP checksum is wrong; the rest of the packet is intact (TL-13).
    ChecksumSpoiled,
    /// This many bits are flipped (TL-14).
    BitsFlipped(u32),
    /// The ECN field is set to Congestion Experienced; the packet is not dropped (RFC 3168).
    CongestionMarked,
    /// This packet is a copy that the link made of another packet with the same number.
    Copied,
    /// A hiccup held the packet back for this long.
    Held(Span),
    /// The packet left after this many packets that arrived later.
    Overtaken(u32),
}

impl Mark {
    /// Placeholder in [`Mark::stage`] until the pipeline fills in the place of the stage that made
    /// the mark. Stages do not know their own place.
    pub(crate) const BY_CURRENT_STAGE: u8 = u8::MAX;
}

impl Effect {
    /// Returns whether the effect is a loss.
    #[must_use]
    pub const fn is_loss(self) -> bool {
        matches!(self, Self::Lost(_))
    }

    /// Returns whether the effect damages bytes of the packet.
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
