//! Pace of a guest's clock against the host's: whether it moves, moves slowly, or stands still.

use crate::order::Clock;
use std::fmt;
use std::time::Duration;

/// Length of the windows, by the host's clock, in which a clock's speed is measured.
const WINDOW: Duration = Duration::from_secs(30);

/// A clock is slow if it covers less than this share of a window.
const SLOW: f64 = 0.1;

/// Result of a look at a guest's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Seen {
    /// The clock has not moved since the last look.
    Same,
    /// It has moved to this time since boot.
    Moved(Duration),
    /// It has moved, and was slow in the last window. Reported once per guest.
    Slow(Slow),
    /// It has stood still for longer than the patience.
    StandsStill {
        /// Virtual time since boot.
        at: Duration,
        /// For how long, by the host's clock.
        wall: Duration,
    },
}

/// A window of the host's time in which a guest's clock moved slowly; displays as a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slow {
    /// Virtual time at its end.
    pub at: Duration,
    /// How far the guest's clock moved in it.
    pub moved: Duration,
    /// Length of the window by the host's clock.
    pub wall: Duration,
    /// Number of system calls in it that took virtual time because they did not wait.
    pub charged: u64,
}

impl fmt::Display for Slow {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { moved, wall, charged, .. } = self;
        let (moved, seconds) = (moved.as_secs_f64(), wall.as_secs_f64());
        write!(out, "virtual time moves slowly: {moved:.6} s in the last {seconds:.0} s")?;
        // Each system call takes some microseconds of the host's time.
        if *charged > 10_000 * wall.as_secs() {
            write!(out, "; a program polls: {charged} system calls that did not wait")
        } else {
            write!(out, "; a program computes, or there is very much traffic")
        }
    }
}

/// Judges a guest's clock by a sequence of looks.
#[derive(Debug)]
pub(crate) struct Pace {
    patience: Duration,
    /// The latest distinct clock value, and the host's time when it was first seen.
    seen: (Duration, Clock),
    /// Start of the window: the host's time and the clock.
    window: (Duration, Clock),
    was_slow: bool,
}

impl Pace {
    /// Starts with a clock at zero, which may stand still for `patience`.
    pub(crate) fn new(patience: Duration) -> Self {
        let begin = (Duration::ZERO, Clock::default());
        Self { patience, seen: begin, window: begin, was_slow: false }
    }

    /// Judges the guest's `clock` at `wall`, the host's time since the guest was started.
    pub(crate) fn look(&mut self, wall: Duration, clock: Clock) -> Seen {
        if clock.now == self.seen.1.now {
            let wall = wall.saturating_sub(self.seen.0);
            return if wall > self.patience { Seen::StandsStill { at: clock.now, wall } } else { Seen::Same };
        }
        self.seen = (wall, clock);
        let passed = wall.saturating_sub(self.window.0);
        if passed < WINDOW {
            return Seen::Moved(clock.now);
        }
        let before = std::mem::replace(&mut self.window, (wall, clock)).1;
        let moved = clock.now.saturating_sub(before.now);
        if self.was_slow || moved.as_secs_f64() >= SLOW * passed.as_secs_f64() {
            return Seen::Moved(clock.now);
        }
        self.was_slow = true;
        let charged = clock.charged.saturating_sub(before.charged);
        Seen::Slow(Slow { at: clock.now, moved, wall: passed, charged })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(milliseconds: u64, charged: u64) -> Clock {
        Clock { now: Duration::from_millis(milliseconds), charged }
    }

    /// D1: a clock that moves slowly does not count as standing still.
    #[test]
    fn slow_is_not_standing() {
        let mut pace = Pace::new(Duration::from_mins(1));
        let mut slow = Vec::new();
        for second in 1..=600 {
            match pace.look(Duration::from_secs(second), clock(second, second * 150_000)) {
                Seen::Moved(_) => {}
                Seen::Slow(found) => slow.push(found),
                other => panic!("{other:?}"),
            }
        }
        let [slow] = slow[..] else { panic!("told once: {slow:?}") };
        assert_eq!((slow.wall, slow.moved), (Duration::from_secs(30), Duration::from_millis(30)));
        assert_eq!(
            slow.to_string(),
            "virtual time moves slowly: 0.030000 s in the last 30 s; a program polls: 4500000 system calls that did not wait"
        );
        let computing = Slow { charged: 100, ..slow };
        assert!(computing.to_string().ends_with("a program computes, or there is very much traffic"));
    }

    #[test]
    fn a_clock_that_stands() {
        let mut pace = Pace::new(Duration::from_mins(1));
        assert_eq!(pace.look(Duration::from_secs(10), clock(3, 0)), Seen::Moved(Duration::from_millis(3)));
        assert_eq!(pace.look(Duration::from_secs(70), clock(3, 0)), Seen::Same);
        let stands = Seen::StandsStill { at: Duration::from_millis(3), wall: Duration::from_secs(61) };
        assert_eq!(pace.look(Duration::from_secs(71), clock(3, 0)), stands);
        // An advance of one nanosecond is enough.
        let now = Duration::from_nanos(3_000_001);
        assert!(matches!(pace.look(Duration::from_secs(72), Clock { now, charged: 0 }), Seen::Slow(_)));
    }

    #[test]
    fn a_fast_clock_is_not_slow() {
        let mut pace = Pace::new(Duration::from_mins(1));
        for second in 1..=600 {
            let seen = pace.look(Duration::from_secs(second), clock(second * 101, 0));
            assert_eq!(seen, Seen::Moved(Duration::from_millis(second * 101)));
        }
    }

    /// A clock that covers a tenth of a window is not slow, and one that stands exactly as long as
    /// it may does not stand still.
    #[test]
    fn on_the_border() {
        let seconds = Duration::from_secs;
        let mut pace = Pace::new(seconds(60));
        assert_eq!(pace.look(seconds(30), clock(3000, 0)), Seen::Moved(seconds(3)));
        assert_eq!(pace.look(seconds(90), clock(3000, 0)), Seen::Same);
        let wall = Duration::from_millis(60_001);
        let stands = Seen::StandsStill { at: seconds(3), wall };
        assert_eq!(pace.look(seconds(30) + wall, clock(3000, 0)), stands);
        let mut pace = Pace::new(seconds(60));
        assert!(matches!(pace.look(seconds(30), clock(2999, 0)), Seen::Slow(_)));
        let mut pace = Pace::new(seconds(60));
        let before = Duration::from_millis(29_999);
        assert!(matches!(pace.look(before, clock(1, 0)), Seen::Moved(_)), "no window has passed");
    }

    /// What happened before the window does not count in it.
    #[test]
    fn a_window_has_its_own_calls_and_advance() {
        let mut pace = Pace::new(Duration::from_mins(1));
        let first = pace.look(Duration::from_secs(30), clock(40_000, 1_000_000));
        assert_eq!(first, Seen::Moved(Duration::from_secs(40)));
        let Seen::Slow(slow) = pace.look(Duration::from_secs(70), clock(40_500, 1_000_300)) else {
            panic!("it is slow");
        };
        let expected = Slow {
            at: Duration::from_millis(40_500),
            moved: Duration::from_millis(500),
            wall: Duration::from_secs(40),
            charged: 300,
        };
        assert_eq!(slow, expected);
        let polls = |charged| Slow { charged, ..slow }.to_string().contains("a program polls");
        assert_eq!([400_000, 400_001].map(polls), [false, true], "ten thousand in a second");
    }
}
