//! What a node makes of damaged segments: TCP Lite, and how much it risks.

use lite::Policy;
use std::fmt;

/// Whether the connections of a node's programs accept damage, all of them and without asking for
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acceptance {
    /// A segment with a wrong checksum is dropped, as by any TCP.
    #[default]
    Off,
    /// Every damaged segment is taken as it is: headers are believed (tcp-lite 8, thesis mode).
    Thesis,
    /// Headers are repaired, and what the risk policy forbids is dropped (tcp-lite 8).
    Recovery(Policy),
}

impl Acceptance {
    const ALL: [Self; 5] = [
        Self::Off,
        Self::Thesis,
        Self::Recovery(Policy::Strict),
        Self::Recovery(Policy::Normal),
        Self::Recovery(Policy::Bold),
    ];

    /// The names in a plan.
    pub const NAMES: [&str; 5] = ["off", "thesis", "strict", "normal", "bold"];

    /// Its name in a plan.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Thesis => "thesis",
            Self::Recovery(policy) => policy.name(),
        }
    }

    /// The one called so.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }
}

impl fmt::Display for Acceptance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_understood() {
        assert_eq!(Acceptance::ALL.map(Acceptance::name), Acceptance::NAMES);
        for known in Acceptance::ALL {
            assert_eq!(Acceptance::named(known.name()), Some(known));
        }
        assert_eq!(Acceptance::named("on"), None);
    }
}
