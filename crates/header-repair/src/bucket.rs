//! The token bucket that limits how often a connection may guess (spec 5: rate-limit repairs per
//! socket).

use crate::Parameters;

/// Credit for guesses, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Credit that is left; a guess costs [`Parameters::guess_interval_ns`].
    pub credit_ns: u64,
    /// Time of the last refill, in nanoseconds.
    pub refilled_ns: u64,
}

impl Bucket {
    /// Returns a full bucket.
    #[must_use]
    pub const fn full(parameters: &Parameters) -> Self {
        Self { credit_ns: capacity(parameters), refilled_ns: 0 }
    }

    /// Pays for one guess at `now`; returns false if the credit does not suffice. A `now` before
    /// the last refill adds no credit.
    #[must_use]
    pub fn pay(&mut self, now: u64, parameters: &Parameters) -> bool {
        let interval = parameters.guess_interval_ns;
        if interval == 0 {
            return true;
        }
        let waited = now.saturating_sub(self.refilled_ns);
        self.credit_ns = self.credit_ns.saturating_add(waited).min(capacity(parameters));
        self.refilled_ns = now;
        let Some(rest) = self.credit_ns.checked_sub(interval) else { return false };
        self.credit_ns = rest;
        true
    }
}

const fn capacity(parameters: &Parameters) -> u64 {
    parameters.guess_interval_ns.saturating_mul(parameters.guess_burst as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERS: Parameters = Parameters {
        guess_interval_ns: 100,
        guess_burst: 3,
        mode: crate::Mode::Recovery,
        localization: crate::Localization::Exact,
        window: 1 << 20,
    };

    #[test]
    fn a_burst_then_one_an_interval() {
        let mut bucket = Bucket::full(&PARAMETERS);
        let paid = |bucket: &mut Bucket, now| bucket.pay(now, &PARAMETERS);
        assert!((0..3).all(|_| paid(&mut bucket, 1000)));
        assert!(!paid(&mut bucket, 1000));
        assert!(!paid(&mut bucket, 1099));
        assert!(paid(&mut bucket, 1100));
        assert!(!paid(&mut bucket, 1100));
        // After any wait, the credit is one burst at most.
        assert!((0..3).all(|_| paid(&mut bucket, 1 << 60)));
        assert!(!paid(&mut bucket, 1 << 60));
    }

    #[test]
    fn a_clock_that_goes_back_neither_pays_nor_panics() {
        let mut bucket = Bucket { credit_ns: 0, refilled_ns: 500 };
        assert!(!bucket.pay(400, &PARAMETERS));
        assert_eq!(bucket, Bucket { credit_ns: 0, refilled_ns: 400 });
    }

    #[test]
    fn interval_0_is_no_limit() {
        let parameters = Parameters { guess_interval_ns: 0, ..PARAMETERS };
        let mut bucket = Bucket::full(&parameters);
        assert!((0..5000).all(|_| bucket.pay(0, &parameters)));
        assert_eq!(bucket, Bucket { credit_ns: 0, refilled_ns: 0 });
    }
}
