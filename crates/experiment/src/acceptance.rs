//! How a node treats damaged segments: TCP Lite and its risk policy.

use std::fmt;
use tcp_lite::Policy;

/// Whether all connections of a node's programs accept damage, without requesting it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acceptance {
    /// Segments with a wrong checksum are dropped, as by any TCP.
    #[default]
    Off,
    /// Every damaged segment is accepted as it is: its header is trusted (tcp-lite 8, thesis mode).
    Thesis,
    /// Headers are repaired, and segments that the risk policy forbids are dropped (tcp-lite 8).
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

    /// All names in a plan.
    pub const NAMES: [&str; 5] = ["off", "thesis", "strict", "normal", "bold"];

    /// Returns its name in a plan.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Thesis => "thesis",
            Self::Recovery(policy) => policy.name(),
        }
    }

    /// Returns the variant with this name.
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
