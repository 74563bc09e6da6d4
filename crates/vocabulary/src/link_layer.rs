//! Records of the ends of a link layer with retransmissions, as a protocol monitor would log them:
//! those of rlpdump (Ludwig 3.1.1, LL-07).

use crate::units::Time;
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};

/// A record of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct Record {
    /// Time of the event.
    pub at: Time,
    /// Whether this end sent or received it.
    pub way: Way,
    /// The event.
    pub event: Event,
    /// N(S), or the requested number; 0 if there is none.
    pub ns: u16,
    /// N(R), or V(R) of this end if there is none.
    pub nr: u16,
    /// [`Event::First`]: bytes of packets in the frame. [`Event::Again`]: how often it was sent
    /// before. [`Event::Erased`] and [`Event::Right`]: bytes of the block or frame. Otherwise 0.
    pub aux: u32,
}

/// Whether an end sent or received a frame.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
pub enum Way {
    /// The end sent it.
    Sent,
    /// The end received it.
    Received,
}

/// Declares [`Event`]. Each event has documentation and a word.
macro_rules! events {
    ($($(#[$doc:meta])+ $event:ident = $word:literal,)+) => {
        /// An event at an end of a link layer.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
        pub enum Event {
            $($(#[$doc])+ $event,)+
        }

        impl Event {
            /// All events.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$event),+];

            /// Returns the word in tables and RLP traces.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$event => $word,)+
                }
            }
        }
    };
}

events! {
    /// A numbered frame, sent for the first time.
    First = "DATA",
    /// A numbered frame, retransmitted.
    Again = "XMIT",
    /// A request for one frame (SREJ). A NAK of LLP names all missing frames; each of them has such
    /// a record.
    SelectiveReject = "SREJ",
    /// A request for all frames from a number on (REJ).
    Reject = "REJ",
    /// The sender may send characters again (L2R).
    XOn = "XON",
    /// The sender must stop sending characters (L2R).
    XOff = "XOFF",
    /// A reset of the link: both ends start again at number 0.
    Reset = "RST",
    /// A block that could not be decoded.
    Erased = "ERAS",
    /// A block that could be decoded.
    Right = "OK",
}

impl Event {
    /// Returns the event with this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.word() == word)
    }
}

impl Way {
    /// Both ways.
    pub const ALL: [Self; 2] = [Self::Sent, Self::Received];

    /// Returns the letter in tables and RLP traces: `S` or `R`.
    #[must_use]
    pub const fn letter(self) -> &'static str {
        match self {
            Self::Sent => "S",
            Self::Received => "R",
        }
    }

    /// Returns the way with this letter.
    #[must_use]
    pub fn from_letter(letter: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|way| way.letter() == letter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_letters_stand_for_one_thing_each() {
        for event in Event::ALL {
            assert_eq!(Event::from_word(event.word()), Some(event));
        }
        for way in Way::ALL {
            assert_eq!(Way::from_letter(way.letter()), Some(way));
        }
        assert_eq!((Event::from_word("ok"), Way::from_letter("")), (None, None));
    }

    #[test]
    fn records_pass_through_bytes() {
        for (event, way) in Event::ALL.into_iter().flat_map(|event| Way::ALL.map(|way| (event, way))) {
            let record = Record { at: Time::from_nanos(5), way, event, ns: 61, nr: u16::MAX, aux: 30 };
            let bytes = borsh::to_vec(&record).expect("bytes");
            assert_eq!(borsh::from_slice::<Record>(&bytes).expect("a record"), record);
        }
    }
}
