//! Link layers with retransmissions (ARQ), as state machines without clock and channel.
//!
//! * The core: [`SendWindow`] and [`ReceiveWindow`], a selective-repeat ARQ with any window and any
//!   [`Modulus`].
//! * [`rlp`]: the Radio Link Protocol of GSM data calls, one frame every 20 ms, on that core.
//! * [`llp`]: the link layer protocol of the ReSoA thesis, on the same core.
//! * [`hop`]: both ends of either protocol and the air between them: a wireless hop for packets.
//!   The caller decides which frames the air loses.
//! * [`ArqSpec`]: a specification of either protocol in one line. `link::LinkSpec::over_arq`
//!   applies it to a link.
//! * [`vocabulary::link_layer`]: the records that a protocol monitor would log.
//!
//! An entity receives events (a frame, a tick, a timer) with their times. It returns frames,
//! [`vocabulary::link_layer::Record`]s and indications for its user. Equal states behave equally,
//! so a model checker can visit all of them. The tests in `arq/src/model` do this with these
//! functions.

use borsh::{BorshDeserialize, BorshSerialize};

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

/// Limit of retransmissions, and the action when it is reached (Ludwig 3.2.5, LL-05).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct Persistency {
    /// Maximum number of retransmissions of a frame; `None` means no limit.
    pub retransmissions: Option<u16>,
    /// Action when the limit is reached.
    pub then: Then,
}

/// Action of a link layer when a frame has reached the limit of retransmissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub enum Then {
    /// Resets the link: both ends start again at number 0, and frames in flight are lost.
    Reset,
    /// Gives up the frame and all packets that have a part in it, and continues (semi-reliable).
    GiveUp,
    /// Ends the connection: the data call is dropped (fully reliable).
    Disconnect,
}

impl Persistency {
    /// Unlimited retransmissions.
    pub const FOR_EVER: Self = Self { retransmissions: None, then: Then::Reset };

    /// Tells whether a frame that was sent `sent` times may not be sent again.
    #[must_use]
    pub fn is_spent(self, sent: u16) -> bool {
        self.retransmissions.is_some_and(|most| sent > most)
    }
}
