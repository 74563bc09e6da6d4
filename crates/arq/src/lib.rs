//! Link layers that send again what was lost on the air (ARQ), as state machines without clock and
//! channel.
//!
//! * The core: [`SendWindow`] and [`ReceiveWindow`], a selective-repeat ARQ with any window and any
//!   [`Modulus`].
//! * [`rlp`]: the Radio Link Protocol of GSM data calls, one frame every 20 ms, on that core.
//! * [`llp`]: the link layer protocol of the ReSoA thesis, on the same.
//! * [`hop`]: both ends of either, with the air between them: a wireless hop that packets go into
//!   and come out of. What the air loses, others say.
//! * [`ArqSpec`]: either in a line. `link::LinkSpec::over_arq` is what it makes of a link.
//! * [`vocabulary::link_layer`]: what a protocol monitor notes of them.
//!
//! An entity is given events (a frame, a tick, a timer) with their time, and gives back frames,
//! [`vocabulary::link_layer::Record`]s and what it has to say to its user. Equal states behave
//! equally, so that a model checker can go through all of them; the tests in `arq/model` do, with
//! these very functions.

pub mod hop;
pub mod llp;
#[cfg(test)]
mod model;
mod numbering;
mod receiving;
pub mod rlp;
mod sending;
mod spec;

pub use numbering::Modulus;
pub use receiving::{Arrival, Order, ReceiveWindow};
pub use sending::{SendWindow, Slot, SlotState, Transmission};
pub use spec::{ArqError, ArqSpec, LlpSpec, RlpSpec};

/// How long a link layer goes on with a frame, and what it does then (Ludwig 3.2.5, LL-05).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Persistency {
    /// How often a frame may be sent again; `None` for ever.
    pub retransmissions: Option<u16>,
    /// What happens then.
    pub then: Then,
}

/// What a link layer does when a frame was sent again as often as it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Then {
    /// Resets the link: both ends begin again with number 0, and what was in flight is lost.
    Reset,
    /// Gives up the frame, and the packets that have a part in it, and goes on (semi-reliable).
    GiveUp,
    /// Ends the connection: a data call is dropped (fully reliable).
    Disconnect,
}

impl Persistency {
    /// Never gives up.
    pub const FOR_EVER: Self = Self { retransmissions: None, then: Then::Reset };

    /// Whether a frame that was sent `sent` times may not be sent again.
    #[must_use]
    pub fn is_spent(self, sent: u16) -> bool {
        self.retransmissions.is_some_and(|most| sent > most)
    }
}
