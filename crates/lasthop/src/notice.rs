//! What the command says to people. Standard output belongs to the program behind the link; this
//! goes to standard error.

use netlab::Swept;
use std::fmt::Display;

/// Says something, unless told to be quiet.
#[derive(Debug, Clone, Copy)]
pub struct Notice {
    quiet: bool,
}

impl Notice {
    /// `quiet`: say only what went wrong.
    #[must_use]
    pub const fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Something good to know.
    pub fn say(self, text: impl Display) {
        if !self.quiet {
            anstream::eprintln!("lasthop: {text}");
        }
    }

    /// What killed runs left behind, and what was found there that is not ours.
    pub fn swept(self, swept: &Swept) {
        for undone in &swept.undone {
            self.say(format_args!("left behind by a killed run: {undone}"));
        }
        for left in &swept.left {
            self.say(format_args!("not created by lasthop and not removed: {left}"));
        }
    }

    /// Something that went wrong, said even when quiet.
    #[allow(clippy::unused_self, reason = "what is said goes through here, also what nobody can switch off")]
    pub fn warn(self, text: impl Display) {
        anstream::eprintln!("lasthop: warning: {text}");
    }
}
