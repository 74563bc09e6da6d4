//! Parameters of a connection, and the negotiation between two ends.

use super::Role;
use crate::{Modulus, Persistency, Then};
use borsh::{BorshDeserialize, BorshSerialize};
use packet::rlp::{MODULUS, xid};

/// Ticks in a second: one frame in each direction every 20 ms (full rate, 240 bits).
pub const TICKS_PER_SECOND: u32 = 50;
/// Units of time of XID, 10 ms each, in a tick.
const XID_UNITS_PER_TICK: u16 = 2;

/// Parameters that one end wants. Both ends need the same modulus and the same [`Recovery`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct Parameters {
    /// Modulus of frame numbers: 62, except in model checking.
    pub modulus: Modulus,
    /// Maximum number of outstanding frames of this end, k: 1 to 61.
    pub send_window: u16,
    /// Maximum number of outstanding frames of the other end.
    pub receive_window: u16,
    /// T1, the acknowledgement timer, in ticks of 20 ms.
    pub t1_ticks: u16,
    /// T2, the longest delay of a reply, in ticks. T1 - T2 must be longer than a round trip; see
    /// [`super`] for the reason.
    pub t2_ticks: u16,
    /// N2, and the action when it is reached.
    pub persistency: Persistency,
    /// How a receiver requests lost frames.
    pub recovery: Recovery,
    /// Whether XID negotiates parameters before the connection is set up.
    pub negotiate: bool,
}

/// How a receiver requests lost frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, BorshSerialize, BorshDeserialize)]
pub enum Recovery {
    /// SREJ for each missing frame; frames behind it are held. GSM networks use this (Ludwig
    /// 3.1.2).
    #[default]
    Selective,
    /// REJ; frames behind a missing one are discarded.
    GoBack,
}

impl Default for Parameters {
    /// Returns the defaults of GSM 04.22 at full rate: windows of 61, T1 480 ms, T2 80 ms, N2 6,
    /// and a reset when N2 is reached.
    fn default() -> Self {
        Self {
            modulus: Modulus::new(MODULUS as u32),
            send_window: 61,
            receive_window: 61,
            t1_ticks: 24,
            t2_ticks: 4,
            persistency: Persistency { retransmissions: Some(6), then: Then::Reset },
            recovery: Recovery::Selective,
            negotiate: false,
        }
    }
}

impl Parameters {
    /// Returns T1 - T2 in ticks. After this time a sent frame has either arrived or is lost, and
    /// the receiver's next answer shows which.
    #[must_use]
    pub fn round_trip_ticks(&self) -> u16 {
        self.t1_ticks.saturating_sub(self.t2_ticks).max(1)
    }

    /// Converts the parameters to the form of an XID frame.
    #[must_use]
    pub fn to_xid(self, role: Role) -> xid::Parameters {
        let (up, down) = match role {
            Role::Mobile => (self.send_window, self.receive_window),
            Role::Network => (self.receive_window, self.send_window),
        };
        let octet = |value: u16| Some(u8::try_from(value).unwrap_or(u8::MAX));
        xid::Parameters {
            version: Some(1),
            window_down: octet(down),
            window_up: octet(up),
            t1: octet(self.t1_ticks * XID_UNITS_PER_TICK),
            n2: octet(self.persistency.retransmissions.unwrap_or(u16::MAX)),
            t2: octet(self.t2_ticks * XID_UNITS_PER_TICK),
        }
    }

    /// Negotiates parameters that both ends can use: the smaller windows, the longer timers, the
    /// larger N2 (255 means no limit). Both ends get the same result from their own and the other's
    /// parameters.
    pub fn agree(&mut self, theirs: &xid::Parameters, role: Role) {
        let (up, down) = match role {
            Role::Mobile => (&mut self.send_window, &mut self.receive_window),
            Role::Network => (&mut self.receive_window, &mut self.send_window),
        };
        for (mine, theirs) in [(up, theirs.window_up), (down, theirs.window_down)] {
            *mine = theirs.map_or(*mine, |theirs| u16::from(theirs).clamp(1, *mine));
        }
        for (mine, theirs) in [(&mut self.t1_ticks, theirs.t1), (&mut self.t2_ticks, theirs.t2)] {
            *mine = theirs.map_or(*mine, |theirs| u16::from(theirs).div_ceil(XID_UNITS_PER_TICK).max(*mine));
        }
        if let (Some(theirs), Some(mine)) = (theirs.n2, self.persistency.retransmissions) {
            self.persistency.retransmissions =
                if theirs == u8::MAX { None } else { Some(mine.max(u16::from(theirs))) };
        }
    }
}
