//! How long a connection that our user has closed is kept, so that the other side gets what it was
//! sent: as long as something of that goes, and from then on as long as a silence would be taken
//! for an outage. Who then has still not ended the connection may never do.

use std::time::{Duration, Instant};

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Farewell {
    seen: Option<(u64, Instant)>,
}

impl Farewell {
    /// Whether it is kept no longer, if `left` is now what it is, a number which changes as long as
    /// something goes. What is to be asked again when it is [due](Self::due).
    pub(crate) fn is_over(&mut self, left: u64, now: Instant, patience: Duration) -> bool {
        match self.seen {
            Some((before, due)) if before == left => due <= now,
            _ => {
                self.seen = Some((left, now + patience));
                false
            }
        }
    }

    /// When it is over if nothing goes; nothing if it has not begun.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.seen.map(|(_, due)| due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It has its time again whenever something has gone, and only then.
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
