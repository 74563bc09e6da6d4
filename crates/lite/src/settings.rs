//! How damaged segments are judged.

use serde::{Deserialize, Serialize};

/// Which rule judges damaged segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Every segment of a socket that accepts damage is taken for right, as published first: headers are not looked at (T 3.5, 4.3). For links
    /// that damage nothing but payloads and checksums: a damaged header is believed.
    Thesis,
    /// Headers are repaired, and what is doubtful is left to TCP (TCP-L: P II).
    Recovery,
}

/// How much is risked to use a damaged segment (P II-B c; TL-41).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Ports as they should be, and the next bytes of the stream.
    Strict,
    /// Also repaired ports, and positions that are whole segments behind a hole.
    #[default]
    Normal,
    /// Also a damaged sequence number, replaced by the nearest one that is possible.
    Bold,
}

impl Policy {
    /// All of them, from careful to bold.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Normal, Self::Bold];

    /// Its name in options and plans.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Normal => "normal",
            Self::Bold => "bold",
        }
    }

    /// The one called so.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }

    /// Its number in `TCP_LITE_POLICY` (`enum tcp_lite_policy`).
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Strict => 0,
            Self::Normal => 1,
            Self::Bold => 2,
        }
    }
}

/// How the connection of a segment is looked for whose ports belong to none (P II-C, step 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Localization {
    /// It is not.
    Exact,
    /// Stage A: the source port is left out of the match.
    SourcePort,
    /// Stage B: at most this many bits of the two ports differ.
    Bits(u32),
}

/// What the paper leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameters {
    /// How connections are looked for.
    pub localization: Localization,
    /// How far ahead of what is expected a segment may lie, in bytes. The kernel refuses in any case what its own window does not allow.
    pub window: u32,
    /// Guesses (constant fields repaired without confirmation) that a connection may make in a second; `None` is no limit.
    pub guesses_per_second: Option<u32>,
    /// Guesses that it may make at once.
    pub guess_burst: u32,
}

impl Default for Parameters {
    /// Up to four bits of the ports (tcp-lite 8, HMAX); 6 MiB, which is the kernel's largest receive buffer unless told otherwise; 1000 guesses a
    /// second.
    fn default() -> Self {
        Self {
            localization: Localization::Bits(4),
            window: 6 << 20,
            guesses_per_second: Some(1000),
            guess_burst: 1000,
        }
    }
}

/// What to load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// By which rule.
    pub mode: Mode,
    /// Every connection of the control group accepts damage, with this policy, without asking for it.
    pub every_connection: Option<Policy>,
    /// What the paper leaves open.
    pub parameters: Parameters,
}

impl Settings {
    /// For programs that ask by themselves.
    #[must_use]
    pub fn on_request(mode: Mode) -> Self {
        Self { mode, every_connection: None, parameters: Parameters::default() }
    }

    /// For programs that do not know of it.
    #[must_use]
    pub fn for_every_connection(mode: Mode, policy: Policy) -> Self {
        Self { every_connection: Some(policy), ..Self::on_request(mode) }
    }
}
