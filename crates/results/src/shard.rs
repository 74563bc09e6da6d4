//! Shards: the parts of a campaign that several machines run (`--shard M/N`).
//!
//! The rule that assigns runs to shards is a contract, because shards of one campaign may be run by
//! different people at different times. It needs nothing but the run's name and the number of
//! shards:
//!
//! ```text
//! name  = LABEL "\n" REPETITION        the cell's label (Cell::label), the repetition from 0 in decimal
//! hash  = first 8 bytes of BLAKE3(name) as a little-endian number
//! shard = hash mod N + 1
//! ```
//!
//! So a run's shard depends neither on the seed nor on `--only`, and adding repetitions or levels
//! to a plan moves no run to another shard. Shards have about equally many runs of every cell.

use crate::Cell;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Largest number of shards of a campaign.
pub const MOST: u32 = 1_000_000;

/// One part of a campaign: number `number` of `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Shard {
    /// Its number, from 1.
    pub number: u32,
    /// Number of all shards.
    pub of: u32,
}

impl Shard {
    /// Returns whether this shard has repetition `repetition` of `cell`.
    #[must_use]
    pub fn has(self, cell: &Cell, repetition: u32) -> bool {
        Self::of_run(&cell.label(), repetition, self.of) == self
    }

    /// Returns the shard of the run of the cell with this label, if there are `of` shards.
    ///
    /// # Panics
    /// If `of` is 0.
    #[must_use]
    pub fn of_run(label: &str, repetition: u32, of: u32) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(label.as_bytes()).update(b"\n").update(repetition.to_string().as_bytes());
        let mut first = [0; 8];
        hasher.finalize_xof().fill(&mut first);
        Self { number: (u64::from_le_bytes(first) % u64::from(of)) as u32 + 1, of }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<u32>().ok().filter(|number| (1..=MOST).contains(number));
        let (Some(number), Some(of)) =
            text.split_once('/').map_or((None, None), |(m, n)| (number(m), number(n)))
        else {
            return Err("expected M/N, two numbers from 1, for example 3/8".to_owned());
        };
        if number > of {
            return Err(format!("there is no shard {number} of {of}: expected 1/{of} to {of}/{of}"));
        }
        Ok(Self { number, of })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::cells;
    use proptest::prelude::*;

    /// A contract: shards that were run before an update must fit shards that are run after it. The
    /// numbers are those of another implementation of BLAKE3.
    #[test]
    fn the_rule_never_changes() {
        let shards =
            |of| [0, 1, 2, 3].map(|repetition| Shard::of_run("lite=on, loss=one", repetition, of).number);
        assert_eq!((shards(2), shards(7)), ([1, 1, 2, 2], [1, 2, 4, 1]));
        assert_eq!(shards(64), [43, 35, 46, 64]);
        assert_eq!(Shard::of_run("all", 0, 1_000_000).number, 372_128);
    }

    #[test]
    fn numbers_count_from_1_to_n() {
        assert_eq!("3/8".parse(), Ok(Shard { number: 3, of: 8 }));
        assert_eq!("8/8".parse::<Shard>().map(|shard| shard.to_string()), Ok("8/8".to_owned()));
        let refused = |text: &str| text.parse::<Shard>().unwrap_err();
        assert_eq!(refused("9/8"), "there is no shard 9 of 8: expected 1/8 to 8/8");
        for wrong in ["0/8", "3", "3/0", "/", "3/x", "-1/2", "1/1000001", ""] {
            assert!(refused(wrong).contains("for example 3/8"), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn each_run_is_in_exactly_one_shard(of in 1..200_u32, cell in 0..6_usize, repetition: u32) {
            let cell = &cells()[cell];
            let having = (1..=of).filter(|&number| Shard { number, of }.has(cell, repetition)).count();
            prop_assert_eq!(having, 1);
        }
    }

    #[test]
    fn shards_are_about_equally_large() {
        let mut sizes = [0_u32; 16];
        for cell in cells() {
            for repetition in 0..1000 {
                sizes[Shard::of_run(&cell.label(), repetition, 16).number as usize - 1] += 1;
            }
        }
        // 375 on average, with a standard deviation of 19.
        assert!(sizes.iter().all(|size| (280..470).contains(size)), "{sizes:?}");
    }
}
