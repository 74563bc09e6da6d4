//! Random input of a connection: round-trip times of several kinds of paths, with extremes,
//! acknowledgements, losses.

use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;

/// How round-trip times behave for some time.
#[derive(Debug, Clone, Copy)]
enum Regime {
    /// Constant.
    Constant(i32),
    /// Uniform from 1 to this.
    Uniform(i32),
    /// Around a value, with jumps: a queue that fills and drains.
    Walk(i32, i32),
    /// A coarse clock: whole milliseconds above a minimum, so that bounds are met exactly.
    Ticks(i32),
    /// Values that no real path has.
    Extreme,
}

/// A path, with its round-trip times and gaps.
pub struct Path {
    regime: Regime,
    /// Longest time between acknowledgements, us.
    gap: u64,
}

impl Path {
    pub fn new(random: &mut ChaCha8Rng) -> Self {
        let typical = 1 << random.random_range(0..24);
        let regime = match random.random_range(0..8) {
            0 => Regime::Constant(random.random_range(1..=typical)),
            1 | 2 => Regime::Uniform(typical),
            3 => Regime::Extreme,
            4 => Regime::Ticks(typical),
            _ => Regime::Walk(random.random_range(1..=typical), typical / 16 + 1),
        };
        Self { regime, gap: 1 << random.random_range(0..23) }
    }

    /// Returns a sample as the kernel gives it: -1 if there is none, here also 0 or a very negative
    /// number.
    pub fn rtt(&mut self, random: &mut ChaCha8Rng) -> i32 {
        if random.random_ratio(1, 10) {
            return *[-1, 0, i32::MIN].get(random.random_range(0..3)).expect("three");
        }
        match &mut self.regime {
            Regime::Constant(value) => *value,
            Regime::Uniform(most) => random.random_range(1..=*most),
            Regime::Walk(at, step) => {
                let moved = *at + random.random_range(-*step..=*step);
                *at = moved.clamp(1, i32::MAX / 2);
                *at
            }
            Regime::Ticks(least) => *least + 1000 * random.random_range(0..42),
            Regime::Extreme => match random.random_range(0..6) {
                0 => 1,
                1 => i32::MAX,
                2 => (1 << 24) - 1,
                3 => 1 << 24,
                4 => 1 << random.random_range(0..31),
                _ => random.random_range(1..=i32::MAX),
            },
        }
    }

    /// Returns the time until the next acknowledgement, us; sometimes 0.
    pub fn gap(&self, random: &mut ChaCha8Rng) -> u64 {
        if random.random_ratio(1, 8) { 0 } else { random.random_range(1..=self.gap) }
    }
}

/// Returns a number of segments: mostly few, at times none, seldom many.
pub fn segments(random: &mut ChaCha8Rng, most: u32) -> u32 {
    match random.random_range(0..10) {
        0 => 0,
        1 => random.random_range(0..=most),
        _ => random.next_u32() % 4 + 1,
    }
}
