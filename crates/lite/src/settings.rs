//! What to load.

use recovery::{Mode, Parameters, Policy};

/// What to load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Every connection of the control group accepts damage, with this policy, without asking for
    /// it.
    pub every_connection: Option<Policy>,
    /// By which rule damaged segments are judged, and what the paper leaves open.
    pub parameters: Parameters,
}

impl Settings {
    /// For programs that ask by themselves.
    #[must_use]
    pub fn on_request(mode: Mode) -> Self {
        Self { every_connection: None, parameters: Parameters { mode, ..Parameters::default() } }
    }

    /// For programs that do not know of it.
    #[must_use]
    pub fn for_every_connection(mode: Mode, policy: Policy) -> Self {
        Self { every_connection: Some(policy), ..Self::on_request(mode) }
    }
}
