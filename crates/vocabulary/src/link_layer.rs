//! What the ends of a link layer with retransmissions note, as a protocol monitor would: the
//! records of rlpdump (Ludwig 3.1.1, LL-07).

use crate::units::Time;
use serde::{Deserialize, Serialize};

/// One record of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Record {
    /// When.
    pub at: Time,
    /// Whether this end sent or received it.
    pub way: Way,
    /// What happened.
    pub event: Event,
    /// N(S), or the number that is asked for; 0 where there is none.
    pub ns: u16,
    /// N(R), or V(R) of the end that noted it where there is none.
    pub nr: u16,
    /// [`Event::First`]: bytes of packets in the frame. [`Event::Again`]: how often it was sent
    /// before. [`Event::Erased`] and [`Event::Right`]: bytes of the block or frame. Otherwise 0.
    pub aux: u32,
}

/// Whether an end sent or received something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Way {
    /// Sent.
    Sent,
    /// Received.
    Received,
}

/// Declares [`Event`]: documentation and word of each.
macro_rules! events {
    ($($(#[$doc:meta])+ $event:ident = $word:literal,)+) => {
        /// What happened.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Event {
            $($(#[$doc])+ $event,)+
        }

        impl Event {
            /// All events.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$event),+];

            /// The word in tables and RLP traces.
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
    /// A numbered frame for the first time.
    First = "DATA",
    /// A numbered frame again.
    Again = "XMIT",
    /// One frame is asked for again (SREJ; a NAK of LLP names all that are missing, and this is one
    /// of them).
    SelectiveReject = "SREJ",
    /// All frames from a number on are asked for again (REJ).
    Reject = "REJ",
    /// Characters may flow again (L2R).
    XOn = "XON",
    /// No characters for now (L2R).
    XOff = "XOFF",
    /// The link is reset: both ends begin again with number 0.
    Reset = "RST",
    /// A block that could not be decoded.
    Erased = "ERAS",
    /// A block that could be decoded.
    Right = "OK",
}

impl Event {
    /// The event with this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.word() == word)
    }
}

impl Way {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Sent, Self::Received];

    /// The letter in tables and RLP traces: `S` or `R`.
    #[must_use]
    pub const fn letter(self) -> &'static str {
        match self {
            Self::Sent => "S",
            Self::Received => "R",
        }
    }

    /// The way with this letter.
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
}
