//! Which packets are hit: what a profile says about it.
//!
//! In a profile a process is a table, and its fields tell which one it is:
//!
//! | fields | process |
//! |---|---|
//! | `loss` | each packet by itself |
//! | `ber` | each bit by itself |
//! | `good`, `bad`, or `loss`, `burst`, or `p`, `q` | two states; see [`TwoState`] |
//! | the same with `ber-bad`, perhaps `ber-good` | two states, bit errors in each (Gilbert-Elliott) |
//! | `packets` | the packets with these numbers |
//! | `trace`, perhaps `repeat` | bad at the times in a file; see [`ErrorTrace`] |
//! | `blocks`, perhaps `tick` | bad during the erased blocks of a file; see [`BlockTrace`] |
//!
//! Two states evolve in time, or as `evolves-in` says; `sojourn`, `tick` and `start` belong to
//! them, too.

use super::extent::Packets;
use super::list::PacketList;
use super::table::Table;
use super::trace::ErrorTrace;
use super::two_state::TwoState;
use crate::blocks::BlockTrace;
use crate::stage::spec::{FromFile, Read, SpecError};
use crate::units::{BitErrorRatio, ByteCount, Probability, Span};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What decides which packets are hit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Table", into = "Table")]
pub enum ProcessSpec {
    /// Each packet by itself, whatever its length: the packet drop generator of LTCP (1.8.4). The
    /// probability is a real number compared strictly (AMB-L3), so that 0.1 % can be had, 0 is
    /// never and 1 always.
    Packets {
        /// Probability that a packet is hit.
        loss: Probability,
    },
    /// Each bit by itself: a packet of l bits is hit with probability `1 − (1 − ber)^l` (M12).
    Bits {
        /// Probability that a bit is wrong.
        ber: BitErrorRatio,
    },
    /// Good and bad in time, independent of traffic (TL-09).
    InTime {
        /// Mean times.
        channel: TwoState<Span>,
        /// What the states do to bits. Without it every packet is hit in the bad state and none in
        /// the good one.
        errors: Option<StateErrors>,
    },
    /// Good and bad in bytes that pass: sojourns scale with the rate of the link (M13). A packet is
    /// judged over its whole length.
    InBytes {
        /// Mean numbers of bytes.
        channel: TwoState<ByteCount>,
        /// What the states do to bits. Without it a packet is hit if any part of it meets the bad
        /// state.
        errors: Option<StateErrors>,
    },
    /// Good and bad in packets: Gilbert's chain, stepped before each packet but the first.
    ///
    /// A link without traffic never changes state then, which no real one does: a sender that backs
    /// off in a bad state finds it bad again, however long it waits (TCP Lite, 5.4.3). It is here
    /// for comparison with work that uses it.
    InPackets {
        /// Mean numbers of packets.
        channel: TwoState<Packets>,
    },
    /// The packets on a list.
    Listed {
        /// Their numbers.
        packets: PacketList,
    },
    /// Bad at given times.
    Trace {
        /// The file.
        file: FromFile<ErrorTrace>,
        /// Begins again after this time. Without it the channel stays good after the last bad time.
        repeat: Option<Span>,
    },
    /// Bad during the erased blocks of a trace, which begins again behind its last block (LL-06).
    ///
    /// Judged over its transmission interval ([`super::Sampled::Interval`]) a packet is hit if any
    /// block that it overlaps was erased: a link without link-layer recovery.
    Blocks {
        /// The file.
        file: FromFile<BlockTrace>,
        /// How long a block takes, if the file does not say it.
        tick: Option<Span>,
    },
}

/// Bit error ratios of a channel with two states (Gilbert-Elliott).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StateErrors {
    /// In the good state.
    pub good: BitErrorRatio,
    /// In the bad state.
    pub bad: BitErrorRatio,
}

impl ProcessSpec {
    /// Reads the file that the process names, if it does.
    pub fn load(&mut self, read: &mut Read<'_>) -> Result<(), SpecError> {
        match self {
            Self::Trace { file, .. } => file.load(read, ErrorTrace::parse),
            Self::Blocks { file, tick } => file.load(read, |name, text| BlockTrace::parse(name, text, *tick)),
            _ => Ok(()),
        }
    }

    /// Whether the process says itself how many bits are wrong.
    #[must_use]
    pub fn has_bit_errors(&self) -> bool {
        matches!(
            self,
            Self::Bits { .. } | Self::InTime { errors: Some(_), .. } | Self::InBytes { errors: Some(_), .. }
        )
    }
}

impl fmt::Display for ProcessSpec {
    /// The process with its parameters in every form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let states = |f: &mut fmt::Formatter<'_>,
                      channel: &dyn fmt::Display,
                      errors: &Option<StateErrors>| {
            write!(f, "{channel}")?;
            match errors {
                Some(StateErrors { good, bad }) => write!(f, ", bit error ratio {good} good and {bad} bad"),
                None => Ok(()),
            }
        };
        match self {
            Self::Packets { loss } => write!(f, "{loss} of packets"),
            Self::Bits { ber } => write!(f, "bit error ratio {ber}"),
            Self::InTime { channel, errors } => states(f, &channel.describe(), errors),
            Self::InBytes { channel, errors } => states(f, &channel.describe(), errors),
            Self::InPackets { channel } => states(f, &channel.describe(), &None),
            Self::Listed { packets } => write!(f, "packets {packets}"),
            Self::Blocks { file, .. } => write!(f, "at the erased blocks of {}, over and over", file.name()),
            Self::Trace { file, repeat: None } => write!(f, "at the times in {}", file.name()),
            Self::Trace { file, repeat: Some(length) } => {
                write!(f, "at the times in {}, repeated every {length}", file.name())
            }
        }
    }
}
