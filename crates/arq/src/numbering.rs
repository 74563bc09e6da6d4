//! Frame numbers, which start again at 0 after a modulus.

use borsh::{BorshDeserialize, BorshSerialize};

/// A modulus of frame numbers, 2 to 65 536.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct Modulus(u32);

impl Modulus {
    /// Creates a modulus for the numbers 0 to `numbers - 1`.
    ///
    /// # Panics
    /// If there are fewer than 2 numbers, or more than 65 536.
    #[must_use]
    pub const fn new(numbers: u32) -> Self {
        assert!(numbers >= 2 && numbers <= 1 << 16, "a modulus is 2 to 65536");
        Self(numbers)
    }

    /// Returns the number of numbers.
    #[must_use]
    pub const fn numbers(self) -> u32 {
        self.0
    }

    /// Returns the number that is `steps` after `number`.
    #[must_use]
    pub const fn after(self, number: u16, steps: usize) -> u16 {
        ((number as u64 + steps as u64) % self.0 as u64) as u16
    }

    /// Returns the steps forward from `from` to `to`, less than the modulus.
    #[must_use]
    pub const fn steps(self, from: u16, to: u16) -> usize {
        ((to as u32 + self.0 - from as u32 % self.0) % self.0) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn steps_lead_where_they_say(numbers in 2u32..=1 << 16, from: u16, steps: usize) {
            let modulus = Modulus::new(numbers);
            let (from, steps) = ((u32::from(from) % numbers) as u16, steps % numbers as usize);
            let to = modulus.after(from, steps);
            prop_assert!(u32::from(to) < numbers);
            prop_assert_eq!(modulus.steps(from, to), steps);
        }
    }
}
