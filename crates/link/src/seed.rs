//! Seeds: one number for a campaign, and a separate random stream for each user of random numbers.
//!
//! The derivation is part of the contract, because results are reproduced with it:
//!
//! 1. The campaign seed is a 64-bit number. Its key is `BLAKE3-derive-key("lasthop 1 campaign",
//!    seed as 8 bytes LE)`.
//! 2. Each step down (`run`, `link`, `workload`, `direction`, `stage`, `guest`) derives the next
//!    key from the key above and the name of the step: `BLAKE3-derive-key("lasthop 1 <step>", key ‖
//!    name as UTF-8)`.
//! 3. The 32-byte key of a stage seeds ChaCha8.
//!
//! A stage's key depends on its name, not on its place in the pipeline (see [`crate::Pipeline`]).
//! Each stage has a key of its own, so adding or removing a stage does not change the random
//! numbers of another.

use borsh::{BorshDeserialize, BorshSerialize};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt;
use vocabulary::Direction;

/// The random stream of a stage.
pub type Stream = ChaCha8Rng;

/// A node in the tree of seeds.
#[derive(Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Seed {
    key: [u8; 32],
}

impl Seed {
    /// Returns the root: the seed of a campaign.
    #[must_use]
    pub fn campaign(seed: u64) -> Self {
        Self { key: blake3::derive_key("lasthop 1 campaign", &seed.to_le_bytes()) }
    }

    /// Returns the seed of one run of the campaign, by its number. Runs that are compared in pairs
    /// share a number.
    #[must_use]
    pub fn run(&self, number: u64) -> Self {
        self.step("lasthop 1 run", &number.to_string())
    }

    /// Returns the seed of a link, by its name.
    #[must_use]
    pub fn link(&self, name: &str) -> Self {
        self.step("lasthop 1 link", name)
    }

    /// Returns the seed of a workload of a run, by its name.
    #[must_use]
    pub fn workload(&self, name: &str) -> Self {
        self.step("lasthop 1 workload", name)
    }

    /// Returns the seed of one direction of a link.
    #[must_use]
    pub fn direction(&self, direction: Direction) -> Self {
        self.step("lasthop 1 direction", direction.name())
    }

    /// Returns the seed of a stage, or of a random process inside a stage, by its name.
    #[must_use]
    pub fn stage(&self, name: &str) -> Self {
        self.step("lasthop 1 stage", name)
    }

    /// Returns the seed for the entropy of a kernel that serves a single run.
    #[must_use]
    pub fn guest(&self) -> u64 {
        self.step("lasthop 1 guest", "").stream().next_u64()
    }

    /// Returns the random stream of this node.
    #[must_use]
    pub fn stream(&self) -> Stream {
        ChaCha8Rng::from_seed(self.key)
    }

    fn step(&self, context: &str, name: &str) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(context);
        hasher.update(&self.key).update(name.as_bytes());
        Self { key: *hasher.finalize().as_bytes() }
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seed({:02x}{:02x}{:02x}{:02x}…)", self.key[0], self.key[1], self.key[2], self.key[3])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(seed: &Seed) -> u64 {
        seed.stream().next_u64()
    }

    #[test]
    fn the_derivation_does_not_change() {
        // Published results are reproduced with these numbers: changing the expected value breaks
        // them.
        let stage = Seed::campaign(7).run(0).link("a").direction(Direction::Down).stage("errors");
        assert_eq!(first(&stage), 16_920_529_169_804_610_333);
    }

    #[test]
    fn guests_of_repetitions_differ() {
        let run = |number| Seed::campaign(7).run(number).guest();
        assert_eq!(run(0), run(0));
        assert_ne!(run(0), run(1));
        assert_ne!(run(0), Seed::campaign(8).run(0).guest());
    }

    #[test]
    fn every_step_counts() {
        let base = Seed::campaign(7).run(0).link("a").direction(Direction::Down).stage("errors");
        let others = [
            Seed::campaign(8).run(0).link("a").direction(Direction::Down).stage("errors"),
            Seed::campaign(7).run(1).link("a").direction(Direction::Down).stage("errors"),
            Seed::campaign(7).run(0).link("b").direction(Direction::Down).stage("errors"),
            Seed::campaign(7).run(0).link("a").direction(Direction::Up).stage("errors"),
            Seed::campaign(7).run(0).link("a").direction(Direction::Down).stage("errors.2"),
        ];
        for other in others {
            assert_ne!(first(&base), first(&other));
        }
    }
}
