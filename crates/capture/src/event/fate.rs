//! The end of a packet on a link.
//!
//! [`EndedPacket`] is the emulator's report: small, without memory of its own, with stages by
//! number. [`Fate`] is the log's row for it: with stages by name, and with the packet's addresses
//! and ports.

use super::Flow;
use crate::units::{Span, Time};
use packet::Check;
use serde::{Deserialize, Serialize};
use vocabulary::{Cause, ChannelState, Direction, LinkId, Loss, Sending};

/// The end of a packet, as the emulator reports it. A duplicate has its own record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedPacket {
    /// The link.
    pub link: LinkId,
    /// The direction.
    pub direction: Direction,
    /// Number of the packet in its direction of its link, in order of arrival, from 0. A duplicate
    /// has the number of its original.
    pub number: u64,
    /// Whether this is a copy that the link made.
    pub copy: bool,
    /// Length in bytes at the link's layer.
    pub length: u32,
    /// When it entered the link.
    pub arrived: Time,
    /// When the limiter sent it. Both ends are `arrived` if no limiter did.
    pub sending: Sending,
    /// When it was delivered or lost.
    pub left: Time,
    /// Whether it was delivered or lost.
    pub outcome: Outcome,
    /// Number of the stage that lost it, or else of the one that damaged it; `None` if no stage
    /// did.
    pub stage: Option<u8>,
    /// State of the channel when the last error process judged it; `None` if none did.
    pub channel: Option<ChannelState>,
    /// Number of flipped bits.
    pub bits_flipped: u32,
    /// Whether the link made only the TCP or UDP checksum wrong (TL-13).
    pub checksum_spoiled: bool,
    /// The check with which a receiver detects the damage, if the packet was delivered damaged. It
    /// is counted, but not logged.
    pub found_by: Option<Check>,
    /// Whether the link set the ECN field to Congestion Experienced (RFC 3168).
    pub congestion_marked: bool,
    /// How long hiccups held it back.
    pub held: Span,
    /// Number of packets that arrived after it and left before it.
    pub overtaken: u32,
}

/// Whether a packet reached the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It reached the other end.
    Delivered,
    /// It was lost, by this cause.
    Lost(Loss),
}

/// Why a packet was lost, as read from a log. A log of a later program may have more causes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// A cause that this version knows.
    Known(Loss),
    /// Another cause, by name.
    Other(String),
}

/// A row of the event log. Fields without a comment are as in [`EndedPacket`]. The log stores them
/// in this order, so new fields go at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "`EndedPacket` documents them")]
pub struct Fate {
    pub link: LinkId,
    #[serde(with = "stored::direction")]
    pub direction: Direction,
    pub copy: bool,
    pub number: u64,
    pub length: u32,
    pub arrived: Time,
    pub sending: Sending,
    pub left: Time,
    /// Why it was lost; `None` if it was delivered.
    pub lost: Option<Reason>,
    /// Name of the stage that lost it, or else of the one that damaged it.
    pub stage: Option<String>,
    #[serde(with = "stored::channel")]
    pub channel: Option<ChannelState>,
    pub bits_flipped: u32,
    pub checksum_spoiled: bool,
    pub congestion_marked: bool,
    #[serde(with = "crate::units::nanos")]
    pub held: Span,
    pub overtaken: u32,
    /// Addresses and ports, read from the packet when it entered the link; `None` if its headers
    /// could not be read.
    pub flow: Option<Flow>,
}

impl EndedPacket {
    /// Creates the end of a packet that was delivered without any effects. Callers add the effects
    /// of the stages.
    #[must_use]
    pub const fn untouched(
        link: LinkId,
        direction: Direction,
        number: u64,
        length: u32,
        arrived: Time,
        left: Time,
    ) -> Self {
        Self {
            link,
            direction,
            number,
            copy: false,
            length,
            arrived,
            sending: Sending { start: arrived, end: arrived },
            left,
            outcome: Outcome::Delivered,
            stage: None,
            channel: None,
            bits_flipped: 0,
            checksum_spoiled: false,
            found_by: None,
            congestion_marked: false,
            held: Span::ZERO,
            overtaken: 0,
        }
    }

    /// Tells whether bytes of the packet are wrong.
    #[must_use]
    pub const fn is_damaged(&self) -> bool {
        self.bits_flipped > 0 || self.checksum_spoiled
    }

    /// Tells whether the packet leaves with the bytes with which it entered.
    #[must_use]
    pub const fn is_unchanged(&self) -> bool {
        !self.is_damaged() && !self.congestion_marked
    }

    /// Creates the row for the log.
    #[must_use]
    pub fn fate(&self, stage: Option<&str>, flow: Option<Flow>) -> Fate {
        Fate {
            link: self.link,
            direction: self.direction,
            copy: self.copy,
            number: self.number,
            length: self.length,
            arrived: self.arrived,
            sending: self.sending,
            left: self.left,
            lost: match self.outcome {
                Outcome::Delivered => None,
                Outcome::Lost(loss) => Some(Reason::Known(loss)),
            },
            stage: stage.map(str::to_owned),
            channel: self.channel,
            bits_flipped: self.bits_flipped,
            checksum_spoiled: self.checksum_spoiled,
            congestion_marked: self.congestion_marked,
            held: self.held,
            overtaken: self.overtaken,
            flow,
        }
    }
}

impl Fate {
    /// Tells whether bytes of the packet are wrong.
    #[must_use]
    pub const fn is_damaged(&self) -> bool {
        self.bits_flipped > 0 || self.checksum_spoiled
    }

    /// Returns the true cause if the packet did not arrive as it was sent: TCP drops damaged
    /// packets. `None` if it did arrive so, or was in flight when the run ended. Where TCP Lite
    /// accepts damaged packets, they were not lost, and this does not apply.
    #[must_use]
    pub const fn cause(&self) -> Option<Cause> {
        match &self.lost {
            None if self.is_damaged() => Some(Cause::Wireless),
            None => None,
            Some(Reason::Known(loss)) => loss.cause(),
            Some(Reason::Other(_)) => Some(Cause::Mixed),
        }
    }
}

impl Reason {
    /// Returns the cause with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        Loss::from_name(name).map_or_else(|| Self::Other(name.to_owned()), Self::Known)
    }

    /// Returns the name in logs and tables.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Known(loss) => loss.name(),
            Self::Other(name) => name,
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&str>::deserialize(deserializer).map(Self::from_name)
    }
}

/// Representations of enums in the log.
mod stored {
    /// A direction is stored as whether it is up.
    pub mod direction {
        use serde::{Deserialize, Deserializer, Serializer};
        use vocabulary::Direction;

        #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
        pub fn serialize<S: Serializer>(direction: &Direction, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bool(*direction == Direction::Up)
        }

        pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Direction, D::Error> {
            Ok(if bool::deserialize(deserializer)? { Direction::Up } else { Direction::Down })
        }
    }

    /// A channel state is stored by name. Unknown names are read as `None`.
    pub mod channel {
        use serde::{Deserialize, Deserializer, Serialize, Serializer};
        use vocabulary::ChannelState;

        #[allow(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
        pub fn serialize<S: Serializer>(
            channel: &Option<ChannelState>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            channel.map(ChannelState::name).serialize(serializer)
        }

        pub fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<ChannelState>, D::Error> {
            Ok(Option::<&str>::deserialize(deserializer)?.and_then(ChannelState::from_name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet that arrived as it was sent.
    fn delivered() -> Fate {
        crate::example::delivered(0, 1, 2).fate(None, None)
    }

    #[test]
    fn a_fate_has_the_cause_of_its_loss_or_damage() {
        let lost = |reason| Fate { lost: Some(reason), ..delivered() }.cause();
        for loss in Loss::ALL {
            assert_eq!(lost(Reason::Known(loss)), loss.cause());
        }
        assert_eq!(lost(Reason::Other("whim".to_owned())), Some(Cause::Mixed));
        assert_eq!(delivered().cause(), None);
        assert_eq!(Fate { bits_flipped: 1, ..delivered() }.cause(), Some(Cause::Wireless));
        assert_eq!(Fate { checksum_spoiled: true, ..delivered() }.cause(), Some(Cause::Wireless));
    }
}
