//! Settings and their defaults.

/// How to find the connection of a segment whose ports match none (TL-28; P II-C step 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Localization {
    /// Not at all.
    Exact,
    /// Stage A: by its destination port, ignoring the source port.
    SourcePort,
    /// Stage B: with at most this many wrong bits in both ports together.
    Bits(u32),
}

/// Which of the two sources to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The paper: headers are repaired.
    Recovery,
    /// The thesis: headers are trusted, only the checksum is corrected (T 4.3).
    Thesis,
}

/// Parameters of a [`crate::Receiver`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Recovery or thesis mode.
    pub mode: Mode,
    /// How to find connections; by default stage B with 4 bits (spec 16, ambiguity 13).
    pub localization: Localization,
    /// How many bytes past a base a position may lie. By default 6 MiB, to which Linux by default
    /// lets a receive buffer grow (tcp_rmem). The kernel itself refuses data beyond its own window.
    /// Must be below 2^31, or sequence numbers lose their order.
    pub window: u32,
    /// Nanoseconds after which a connection may guess again; by default 1 000 000, which is 1000
    /// guesses per second; 0 for no limit.
    pub guess_interval_ns: u64,
    /// Guesses that a connection may make in a burst; 1000 by default.
    pub guess_burst: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            mode: Mode::Recovery,
            localization: Localization::Bits(4),
            window: 6 << 20,
            guess_interval_ns: 1_000_000,
            guess_burst: 1000,
        }
    }
}
