//! Parameters of a connection, and how two ends agree on them.

use super::Role;
use crate::{Modulus, Persistency, Then};
use packet::rlp::{MODULUS, xid};

/// Ticks in a second: one frame each way every 20 ms (full rate, 240 bits).
pub const TICKS_PER_SECOND: u32 = 50;
/// XID counts times in 10 ms.
const XID_UNITS_PER_TICK: u16 = 2;

/// What one end wants of a connection. Both ends need the same modulus and the same [`Recovery`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Parameters {
    /// Numbers of frames; 62, but for model checking.
    pub modulus: Modulus,
    /// Most frames that this end may have outstanding, k: 1 to 61.
    pub send_window: u16,
    /// Most frames that the other end may have outstanding.
    pub receive_window: u16,
    /// T1, the acknowledgement timer, in ticks of 20 ms.
    pub t1_ticks: u16,
    /// T2, the longest that a reply is delayed, in ticks. What is left of T1 without it is longer
    /// than a round trip; see [`super`] for what depends on that.
    pub t2_ticks: u16,
    /// N2, and what happens after.
    pub persistency: Persistency,
    /// How lost frames are asked for.
    pub recovery: Recovery,
    /// Whether parameters are exchanged by XID before the connection is set up.
    pub negotiate: bool,
}

/// How a receiver asks for lost frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Recovery {
    /// SREJ for each missing frame; those behind it are held. What GSM networks do (Ludwig 3.1.2).
    #[default]
    Selective,
    /// REJ; frames behind a missing one are thrown away.
    GoBack,
}

impl Default for Parameters {
    /// The defaults of GSM 04.22 at full rate: windows of 61, T1 480 ms, T2 80 ms, N2 6, after
    /// which the link is reset.
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
    /// Ticks after which a frame that was sent has either arrived or is lost, and the receiver's
    /// next word says which: T1 - T2.
    #[must_use]
    pub fn round_trip_ticks(&self) -> u16 {
        self.t1_ticks.saturating_sub(self.t2_ticks).max(1)
    }

    /// As an XID frame carries them.
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

    /// What both ends can live with: the smaller windows, the longer timers, the larger N2 (255 is
    /// for ever). Applied to one's own and the other's parameters it gives the same at both ends.
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
