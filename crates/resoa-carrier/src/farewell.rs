//! How long a connection is kept after our user has closed it, so that the other side gets the
//! remaining data.
//!
//! It is kept as long as that data makes progress, and then as long as a silence that would count
//! as an outage. A peer that has not ended the connection by then may never do so.

use std::time::{Duration, Instant};

/// Time limit of a closed connection; see the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Farewell {
    seen: Option<(u64, Instant)>,
}

impl Farewell {
    /// Returns whether the connection's time is over.
    ///
    /// `left` is any number that changes as long as data makes progress. Call this again at the
    /// time that [`due`](Self::due) returns.
    pub(crate) fn is_over(&mut self, left: u64, now: Instant, patience: Duration) -> bool {
        match self.seen {
            Some((before, due)) if before == left => due <= now,
            _ => {
                self.seen = Some((left, now + patience));
                false
            }
        }
    }

    /// Returns when the time is over if there is no progress; `None` before the first call of
    /// `is_over`.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.seen.map(|(_, due)| due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Progress, and nothing else, starts the time again.
    #[test]
    fn as_long_as_something_goes() {
        const PATIENCE: Duration = Duration::from_secs(30);
        let begin = Instant::now();
        let at = |second| begin + Duration::from_secs(second);
        let mut farewell = Farewell::default();
        assert_eq!(farewell.due(), None);
        for (second, left, is_over) in
            [(0, 9, false), (29, 9, false), (29, 8, false), (31, 8, false), (58, 8, false), (59, 8, true)]
        {
            assert_eq!(farewell.is_over(left, at(second), PATIENCE), is_over, "{second}");
        }
        assert_eq!(farewell.due(), Some(at(59)));
    }
}
