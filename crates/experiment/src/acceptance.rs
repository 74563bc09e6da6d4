//! How a node treats damaged segments: TCP Lite and its risk policy.

use std::fmt;
use tcp_lite::Policy;

/// Which connections of a node's programs accept damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acceptance {
    /// Segments with a wrong checksum are dropped, as by any TCP.
    #[default]
    Off,
    /// TCP Lite is attached, and headers are repaired for the programs that request it. For others
    /// it must change nothing (TL-24).
    OnRequest,
    /// Every damaged segment is accepted as it is: its header is trusted (tcp-lite 8, thesis mode).
    Thesis,
    /// Headers are repaired, and segments that the risk policy forbids are dropped (tcp-lite 8).
    Recovery(Policy),
}

impl Acceptance {
    const ALL: [Self; 6] = [
        Self::Off,
        Self::OnRequest,
        Self::Thesis,
        Self::Recovery(Policy::Strict),
        Self::Recovery(Policy::Normal),
        Self::Recovery(Policy::Bold),
    ];

    /// All names in a plan.
    pub const NAMES: [&str; 6] = ["off", "on-request", "thesis", "strict", "normal", "bold"];

    /// Returns its name in a plan.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::OnRequest => "on-request",
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
