//! What can be set, with the values that hold if nobody sets anything.

/// How a segment whose ports name no connection finds one (TL-28; P II-C step 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Localization {
    /// Not at all.
    Exact,
    /// Stage A: by its destination port; the source port is left out.
    SourcePort,
    /// Stage B: by at most so many wrong bits in both ports together.
    Bits(u32),
}

/// Which of the two sources is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The paper: headers are repaired.
    Recovery,
    /// The thesis: headers are taken for right, only the checksum is made so (T 4.3).
    Thesis,
}

/// Parameters of a [`crate::Receiver`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Recovery or thesis mode.
    pub mode: Mode,
    /// How connections are found; stage B with 4 bits by default (spec 16, ambiguity 13).
    pub localization: Localization,
    /// How many bytes past a base a position may lie; 6 MiB by default, as far as Linux lets a
    /// receive buffer grow unless told otherwise (tcp_rmem). The kernel itself refuses what its own
    /// window does not allow. Below 2^31, or sequence numbers lose their order.
    pub window: u32,
    /// Nanoseconds after which a connection may guess once more; 1 000 000 by default, 1000 guesses
    /// a second; 0 for no limit.
    pub guess_interval_ns: u64,
    /// Guesses that a connection may make at once; 1000 by default.
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
