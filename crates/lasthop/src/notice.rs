//! Notices and warnings on standard error. Standard output belongs to the program behind the link.

use netlab::Swept;
use std::fmt::Display;

/// Prints notices, unless told to be quiet.
#[derive(Debug, Clone, Copy)]
pub struct Notice {
    quiet: bool,
}

impl Notice {
    /// Creates the printer; with `quiet` it prints only warnings.
    #[must_use]
    pub const fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Prints a notice, unless quiet.
    pub fn say(self, text: impl Display) {
        if !self.quiet {
            anstream::eprintln!("lasthop: {text}");
        }
    }

    /// Prints what a sweep removed of killed runs, and what it found there and left in place.
    pub fn swept(self, swept: &Swept) {
        for undone in &swept.undone {
            self.say(format_args!("left behind by a killed run: {undone}"));
        }
        for left in &swept.left {
            self.say(format_args!("not created by lasthop and not removed: {left}"));
        }
    }

    /// Prints a warning, even when quiet.
    #[allow(clippy::unused_self, reason = "what is said goes through here, also what nobody can switch off")]
    pub fn warn(self, text: impl Display) {
        anstream::eprintln!("lasthop: warning: {text}");
    }
}
