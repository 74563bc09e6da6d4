//! The character relay above RLP (L2R, GSM 07.02): the information field of a numbered frame.
//!
//! The field starts with a status octet and may contain more of them. Bit 7 is SA, 6 is SB, and 5
//! is X, the sender's own flow control: set while it wants no characters. The low five bits are the
//! address: the number of characters before the next status octet. A short frame has 24 octets
//! after its first status octet, so at most 24 characters.
//!
//! **Deviation from the standard:** there, a status octet in the middle of a field says that SA, SB
//! or X has changed. Here, each status octet after the first also says that a packet starts
//! ([`Item::Start`]). So a receiver that misses a frame finds the next packet without escape
//! sequences. The boundary costs one octet, like PPP's flag.

use thiserror::Error;

/// Address: the rest of the field is empty.
const EMPTY: u8 = 31;
/// Address: the rest of the field is full of characters.
const FULL: u8 = 30;
/// Largest address that is a number of characters.
const LAST: usize = 23;
const X: u8 = 1 << 5;

/// A part of a field's contents, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Item {
    /// Start of a packet.
    Start,
    /// Characters.
    Characters(Vec<u8>),
}

/// Contents of an information field.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Field {
    /// X: whether the sender of this field wants no characters (XOFF), or does (XON).
    pub stop: bool,
    /// Starts of packets, and characters.
    pub items: Vec<Item>,
}

/// A field with an address that points outside it or that is not supported (extended address,
/// break).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the status octet at {place} has the invalid address {address}")]
pub struct Malformed {
    /// Position of the status octet in the field, from 0.
    pub place: usize,
    /// Its address.
    pub address: u8,
}

impl Field {
    /// Returns the number of octets that the items take after the first status octet; a start takes
    /// one.
    #[must_use]
    pub fn user_octets(&self) -> usize {
        self.items.iter().map(Item::octets).sum()
    }

    /// Decodes a field. X is taken from the last status octet.
    pub fn parse(octets: &[u8]) -> Result<Self, Malformed> {
        let mut field = Self { stop: false, items: Vec::new() };
        let mut place = 0;
        while let Some(&status) = octets.get(place) {
            field.stop = status & X != 0;
            let address = status & 0x1f;
            if address == EMPTY {
                break;
            }
            if place > 0 {
                field.items.push(Item::Start);
            }
            let rest = octets.len() - place - 1;
            let count = if address == FULL { rest } else { usize::from(address) };
            // Another status octet must follow counted characters, so their number must be below
            // that of the remaining octets.
            if address > FULL || (address < FULL && (count > LAST || count >= rest)) {
                return Err(Malformed { place, address });
            }
            if count > 0 {
                field.items.push(Item::Characters(octets[place + 1..=place + count].to_vec()));
            }
            place += 1 + count;
        }
        Ok(field)
    }

    /// Encodes the field in `length` octets.
    ///
    /// # Panics
    /// If the items do not fit, or if there are more than 23 characters in a row that do not reach
    /// the end of the field.
    #[must_use]
    pub fn to_octets(&self, length: usize) -> Vec<u8> {
        assert!(self.user_octets() < length, "{} octets do not fit {length}", self.user_octets() + 1);
        let status = if self.stop { X } else { 0 };
        let mut octets = vec![status];
        // Position of the status octet whose address is not yet filled in.
        let mut open = 0;
        for item in &self.items {
            match item {
                Item::Start => {
                    octets[open] |= address(octets.len() - open - 1);
                    open = octets.len();
                    octets.push(status);
                }
                Item::Characters(characters) => octets.extend_from_slice(characters),
            }
        }
        if octets.len() == length {
            octets[open] |= FULL;
        } else if octets.len() == open + 1 && self.items.is_empty() {
            octets[open] |= EMPTY;
        } else {
            octets[open] |= address(octets.len() - open - 1);
            octets.push(status | EMPTY);
        }
        octets.resize(length, 0);
        octets
    }
}

impl Item {
    fn octets(&self) -> usize {
        match self {
            Self::Start => 1,
            Self::Characters(characters) => characters.len(),
        }
    }
}

fn address(count: usize) -> u8 {
    assert!(count <= LAST, "{count} characters have no address");
    count as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LENGTH: usize = 25;

    /// Generates items like a sender's: no empty or adjacent character items, at most 24 octets.
    fn items() -> impl Strategy<Value = Vec<Item>> {
        let packets = proptest::collection::vec((any::<bool>(), 0usize..=24), 0..6);
        (packets, any::<u8>()).prop_map(|(parts, seed)| {
            let mut left = LENGTH - 1;
            let mut items = Vec::new();
            for (number, (start, count)) in parts.into_iter().enumerate() {
                if (start || number > 0) && left > 0 {
                    items.push(Item::Start);
                    left -= 1;
                }
                let count = count.min(left);
                if count > 0 {
                    items.push(Item::Characters((0..count).map(|at| seed.wrapping_add(at as u8)).collect()));
                    left -= count;
                }
            }
            items
        })
    }

    proptest! {
        #[test]
        fn round_trip(items in items(), stop: bool) {
            let field = Field { stop, items };
            let octets = field.to_octets(LENGTH);
            prop_assert_eq!(octets.len(), LENGTH);
            prop_assert_eq!(Field::parse(&octets), Ok(field));
        }

        #[test]
        fn anything_can_be_read(octets in proptest::collection::vec(any::<u8>(), 0..70)) {
            if let Ok(field) = Field::parse(&octets) {
                prop_assert!(field.user_octets() <= octets.len());
            }
        }
    }

    /// The status octets of GSM 07.02: full, empty, characters and their end, X.
    #[test]
    fn status_octets() {
        let characters = |count| Item::Characters(vec![7; count]);
        let field = |stop, items| Field { stop, items }.to_octets(LENGTH);
        assert_eq!(field(false, vec![characters(24)])[..2], [30, 7]);
        assert_eq!(field(true, vec![])[..2], [X | 31, 0]);
        assert_eq!(field(false, vec![characters(2)])[..5], [2, 7, 7, 31, 0]);
        assert_eq!(field(false, vec![characters(23)])[24], 31);
        assert_eq!(field(true, vec![Item::Start, characters(1)])[..5], [X, X | 1, 7, X | 31, 0]);
    }

    #[test]
    fn addresses_that_lead_nowhere() {
        for octets in [&[3u8, 0, 0][..], &[29, 0, 0, 0], &[24; 60], &[1, 0, 5, 0]] {
            assert!(Field::parse(octets).is_err(), "{octets:?}");
        }
    }
}
