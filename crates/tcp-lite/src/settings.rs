//! Settings of the programs.

use header_repair::{Mode, Parameters, Policy};

/// Settings of the programs, fixed when they are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// If set, every connection of the control group accepts damage with this policy, without
    /// asking.
    pub every_connection: Option<Policy>,
    /// The rules for damaged segments, and the parameters that the paper leaves open.
    pub parameters: Parameters,
}

impl Settings {
    /// Settings for programs that ask for Lite themselves.
    #[must_use]
    pub fn on_request(mode: Mode) -> Self {
        Self { every_connection: None, parameters: Parameters { mode, ..Parameters::default() } }
    }

    /// Settings for programs that do not know Lite: all connections accept damage.
    #[must_use]
    pub fn for_every_connection(mode: Mode, policy: Policy) -> Self {
        Self { every_connection: Some(policy), ..Self::on_request(mode) }
    }
}
