//! Effects of a link on a packet, and their causes.
//!
//! The fate of a packet is its list of [`Mark`]s. At most one of them is a loss, and a loss is
//! always the last. The marks are the ground truth for the accuracy of loss differentiation, so
//! every stage that changes a packet, discards it or delays it out of turn leaves a mark.

use crate::units::{Span, Time};
use arrayvec::ArrayVec;
use borsh::{BorshDeserialize, BorshSerialize};
use std::fmt;
use std::io;
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

impl BorshSerialize for Marks {
    /// Writes the marks as a list.
    fn serialize<W: io::Write>(&self, to: &mut W) -> io::Result<()> {
        self.deref().serialize(to)
    }
}

impl BorshDeserialize for Marks {
    fn deserialize_reader<R: io::Read>(from: &mut R) -> io::Result<Self> {
        let list = Vec::<Mark>::deserialize_reader(from)?;
        if list.is_empty() {
            return Ok(Self::default());
        }
        let marks = ArrayVec::try_from(list.as_slice());
        let marks = marks.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(Self(Some(Box::new(marks))))
    }
}

/// One effect of one stage on one packet.
#[derive(Debug, Clone, Copy, PartialEq, BorshSerialize, BorshDeserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, BorshSerialize, BorshDeserialize)]
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

#[cfg(test)]
mod tests {
    use super::*;

    const EFFECTS: [Effect; 7] = [
        Effect::Lost(Loss::Error),
        Effect::ChecksumSpoiled,
        Effect::BitsFlipped(3),
        Effect::CongestionMarked,
        Effect::Copied,
        Effect::Held(Span::MAX),
        Effect::Overtaken(2),
    ];

    fn marks(effects: &[Effect]) -> Marks {
        let mut marks = Marks::default();
        for (stage, &effect) in (0..).zip(effects) {
            marks.push(Mark { stage, at: Time::from_nanos(7), effect });
        }
        marks
    }

    #[test]
    fn marks_pass_through_bytes() {
        for effects in [&EFFECTS[..0], &EFFECTS[..1], &EFFECTS[..4], &EFFECTS[3..]] {
            let marks = marks(effects);
            let bytes = borsh::to_vec(&marks).expect("bytes");
            assert_eq!(bytes, borsh::to_vec(&marks.to_vec()).expect("bytes"));
            assert_eq!(borsh::from_slice::<Marks>(&bytes).expect("marks"), marks);
        }
    }

    #[test]
    fn more_than_four_marks_are_refused() {
        let one = marks(&EFFECTS[..1])[0];
        let bytes = borsh::to_vec(&vec![one; 5]).expect("bytes");
        let error = borsh::from_slice::<Marks>(&bytes).expect_err("too many");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
