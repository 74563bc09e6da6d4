//! Causes of packet loss: on the link, and in the terms of loss differentiation.

use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Declares [`Loss`]. Each cause on the link has documentation, a name in logs and tables, the true
/// cause in the terms of loss differentiation, and words for summaries. A new one is one entry.
macro_rules! losses {
    ($($(#[$doc:meta])+ $loss:ident = $name:literal, $cause:expr, $words:literal;)+) => {
        /// Why a packet was lost. The names of [`Loss::name`] are part of the schema of logs and
        /// tables.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize)]
        pub enum Loss {
            $($(#[$doc])+ $loss,)+
        }

        impl Loss {
            /// All losses.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$loss),+];

            /// Meaning of a column of losses, with all names.
            pub const MEANING: &'static str = {
                let meaning = concat!("why it was lost: ", $($name, ", "),+);
                meaning.split_at(meaning.len() - ", ".len()).0
            };

            /// Returns the name in logs and tables.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$loss => $name,)+
                }
            }

            /// Returns the true cause. `None` for a packet that was in flight when the run ended.
            #[must_use]
            pub const fn cause(self) -> Option<Cause> {
                match self {
                    $(Self::$loss => $cause,)+
                }
            }
        }

        impl fmt::Display for Loss {
            /// Writes the words for summaries and captures.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self {
                    $(Self::$loss => $words,)+
                })
            }
        }
    };
}

losses! {
    /// The queue was full (drop-tail).
    QueueFull = "queue-full", Some(Cause::Congestion), "queue full";
    /// It was the oldest packet of a queue that had to make room (drop-head).
    QueueHead = "queue-head", Some(Cause::Congestion), "oldest in a full queue";
    /// It had waited longer than the queue's time limit.
    QueueAge = "queue-age", Some(Cause::Congestion), "waited too long in the queue";
    /// CoDel dropped it (RFC 8289).
    CoDel = "codel", Some(Cause::Congestion), "CoDel";
    /// RED dropped it early (Floyd and Jacobson 1993).
    Red = "red", Some(Cause::Congestion), "RED";
    /// PIE dropped it early (RFC 8033).
    Pie = "pie", Some(Cause::Congestion), "PIE";
    /// DualPI2 dropped it (RFC 9332).
    DualPi2 = "dualpi2", Some(Cause::Congestion), "DualPI2";
    /// The error process hit it. The packet has the state of the channel.
    Error = "error", Some(Cause::Wireless), "wireless error";
    /// Its number was on the list of packets to lose.
    Listed = "listed", Some(Cause::Wireless), "on the list of packets to lose";
    /// The link had an outage.
    Outage = "outage", Some(Cause::Outage), "outage";
    /// A hiccup held it longer than its expiration time (drop-from-front, LL-25).
    Expired = "expired", Some(Cause::Outage), "expired while held";
    /// A link layer gave it up after the last retransmission of a part of it (LL-05).
    Persistency = "persistency", Some(Cause::Wireless), "given up by the link layer";
    /// It was in flight when a link layer reset its connection.
    LinkReset = "link-reset", Some(Cause::Wireless), "link reset";
    /// A link layer's connection has ended: the call was dropped.
    Disconnected = "disconnected", Some(Cause::Outage), "link disconnected";
    /// It was still inside when the run ended.
    RunEnded = "run-ended", None, "in flight when the run ended";
}

/// State of an error process when it judged a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub enum ChannelState {
    /// Few errors or none. Processes without states are always in this state.
    Good,
    /// Many errors: a burst.
    Bad,
}

/// The true cause of one or several losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// An error process hit the packets, or damaged them so that TCP dropped them, or a link layer
    /// stopped retransmitting them.
    Wireless,
    /// A queue dropped them.
    Congestion,
    /// The link had an outage, or held them for too long.
    Outage,
    /// More than one of these causes, or a cause that this program does not know.
    Mixed,
    /// No packet was lost.
    None,
}

impl ChannelState {
    /// Returns `good` or `bad`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
        }
    }

    /// Returns the state with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Good, Self::Bad].into_iter().find(|state| state.name() == name)
    }
}

impl Loss {
    /// Returns the loss with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|loss| loss.name() == name)
    }
}

impl Cause {
    /// All causes.
    pub const ALL: [Self; 5] = [Self::Wireless, Self::Congestion, Self::Outage, Self::Mixed, Self::None];

    /// Returns `wireless`, `congestion`, `outage`, `mixed` or `none`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wireless => "wireless",
            Self::Congestion => "congestion",
            Self::Outage => "outage",
            Self::Mixed => "mixed",
            Self::None => "none",
        }
    }

    /// Returns the common cause of two sets of losses.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, cause) | (cause, Self::None) => cause,
            (one, two) if one == two => one,
            _ => Self::Mixed,
        }
    }
}

impl fmt::Display for ChannelState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Cause::{Congestion, Mixed, None, Outage, Wireless};
    use super::*;

    /// Names are part of the schema: existing logs contain them.
    #[test]
    fn names_and_causes_of_losses_are_fixed() {
        let table: Vec<_> = Loss::ALL.map(|loss| (loss.name(), loss.cause())).into();
        let expected = [
            ("queue-full", Some(Congestion)),
            ("queue-head", Some(Congestion)),
            ("queue-age", Some(Congestion)),
            ("codel", Some(Congestion)),
            ("red", Some(Congestion)),
            ("pie", Some(Congestion)),
            ("dualpi2", Some(Congestion)),
            ("error", Some(Wireless)),
            ("listed", Some(Wireless)),
            ("outage", Some(Outage)),
            ("expired", Some(Outage)),
            ("persistency", Some(Wireless)),
            ("link-reset", Some(Wireless)),
            ("disconnected", Some(Outage)),
            ("run-ended", Option::None),
        ];
        assert_eq!(table, expected);
        let names = expected.map(|(name, _)| name).join(", ");
        assert_eq!(Loss::MEANING, format!("why it was lost: {names}"));
    }

    #[test]
    fn every_name_reads_back() {
        for loss in Loss::ALL {
            assert_eq!(Loss::from_name(loss.name()), Some(loss));
        }
        assert_eq!((Loss::from_name("whim"), ChannelState::from_name("ugly")), (Option::None, Option::None));
        assert_eq!(ChannelState::from_name("bad"), Some(ChannelState::Bad));
    }

    #[test]
    fn causes_add_up() {
        assert_eq!(
            (Wireless.and(Wireless), Wireless.and(Congestion), Mixed.and(Outage)),
            (Wireless, Mixed, Mixed)
        );
        assert_eq!((None.and(Outage), Outage.and(None), None.and(None)), (Outage, Outage, None));
    }
}
