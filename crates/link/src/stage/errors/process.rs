//! Error processes as written in a profile: which packets are hit.
//!
//! In a profile a process is a table, and its fields determine which process it is:
//!
//! | fields | process |
//! |---|---|
//! | `loss` | each packet independently |
//! | `ber` | each bit independently |
//! | `good`, `bad`, or `loss`, `burst`, or `p`, `q` | two states; see [`TwoState`] |
//! | the same, `ber-bad`, optionally `ber-good` | two states with bit errors (Gilbert-Elliott) |
//! | `packets` | the packets with these numbers |
//! | `trace`, optionally `repeat` | bad at the times in a file; see [`ErrorTrace`] |
//! | `blocks`, optionally `tick` | bad during the erased blocks of a file; see [`BlockTrace`] |
//!
//! Two states evolve in time, or as `evolves-in` says. The fields `sojourn`, `tick` and `start`
//! also belong to them.

use super::extent::Packets;
use super::list::PacketList;
use super::table::Table;
use super::trace::ErrorTrace;
use super::two_state::TwoState;
use crate::blocks::BlockTrace;
use crate::stage::spec::{FromFile, Read, SpecError};
use crate::units::{BitErrorRatio, ByteCount, Probability, Span};
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Process that decides which packets are hit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(try_from = "Table", into = "Table")]
pub enum ProcessSpec {
    /// Each packet independently, whatever its length: the packet drop generator of LTCP (1.8.4).
    /// The probability is a real number compared strictly (AMB-L3). It can therefore be 0.1 %; 0
    /// means never and 1 always.
    Packets {
        /// Probability that a packet is hit.
        loss: Probability,
    },
    /// Each bit independently: a packet of l bits is hit with probability `1 − (1 − ber)^l` (M12).
    Bits {
        /// Probability that a bit is wrong.
        ber: BitErrorRatio,
    },
    /// Good and bad times, independent of traffic (TL-09).
    InTime {
        /// Mean times.
        channel: TwoState<Span>,
        /// Bit errors in each state. If absent, every packet is hit in the bad state and none in
        /// the good one.
        errors: Option<StateErrors>,
    },
    /// Good and bad states along the bytes that pass. Sojourns scale with the rate of the link
    /// (M13), and a packet is judged over its whole length.
    InBytes {
        /// Mean numbers of bytes.
        channel: TwoState<ByteCount>,
        /// Bit errors in each state. If absent, a packet is hit if any part of it meets the bad
        /// state.
        errors: Option<StateErrors>,
    },
    /// Good and bad states along the packets: Gilbert's chain, stepped before each packet except
    /// the first.
    ///
    /// A link without traffic never changes its state in this model, unlike any real link. A sender
    /// that backs off in a bad state finds it still bad, however long it waits (TCP Lite, 5.4.3).
    /// The model serves for comparison with work that uses it.
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
        /// Period after which the trace begins again. If absent, the channel stays good after the
        /// last bad time.
        repeat: Option<Span>,
    },
    /// Bad during the erased blocks of a trace, which begins again after its last block (LL-06).
    ///
    /// If packets are judged over their transmission interval ([`super::Sampled::Interval`]), a
    /// packet is hit if it overlaps any erased block: a link without link-layer recovery.
    Blocks {
        /// The file.
        file: FromFile<BlockTrace>,
        /// Duration of a block, if the file does not state it.
        tick: Option<Span>,
    },
}

/// Bit error ratios of a two-state channel (Gilbert-Elliott).
#[derive(Debug, Clone, Copy, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct StateErrors {
    /// Bit error ratio in the good state.
    pub good: BitErrorRatio,
    /// Bit error ratio in the bad state.
    pub bad: BitErrorRatio,
}

impl ProcessSpec {
    /// Reads the file of the process, if it has one.
    pub fn load(&mut self, read: &mut Read<'_>) -> Result<(), SpecError> {
        match self {
            Self::Trace { file, .. } => file.load(read, ErrorTrace::parse),
            Self::Blocks { file, tick } => file.load(read, |name, text| BlockTrace::parse(name, text, *tick)),
            _ => Ok(()),
        }
    }

    /// Returns whether the process determines the number of wrong bits itself.
    #[must_use]
    pub fn has_bit_errors(&self) -> bool {
        matches!(
            self,
            Self::Bits { .. } | Self::InTime { errors: Some(_), .. } | Self::InBytes { errors: Some(_), .. }
        )
    }
}

impl fmt::Display for ProcessSpec {
    /// Writes the process with its parameters in every form.
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
