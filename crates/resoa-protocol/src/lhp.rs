//! What a Last Hop Protocol is to this crate (6.6, appendix C): primitives as types, and what has
//! to hold of them.
//!
//! The messages of one connection arrive each once, in order, whole and unchanged, or the
//! connection ends and both sides are told. On that the protocol above relies entirely: it never
//! sends anything twice. The payload of datagrams may be [given up](LastHop::send_or_lose); then
//! the other side is told that there was some, once, in its place: both sides count the octets of
//! each datagram, and neither may miss one. What a carrier does for it (retransmission,
//! segmentation, flow control, encryption) is its own affair, and so is the form of its addresses:
//! here they are octets without a meaning.
//!
//! Carriers are written elsewhere; they implement [`LastHop`] and hand over [`Indication`]s.

use std::time::Duration;

/// Which carrier, as both sides configure it (C92).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Provider {
    /// What implements it.
    pub id: u16,
    /// Which of its protocols.
    pub protocol: u16,
}

/// How reliably messages are carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Service {
    /// Each once and in order: what everything but the payload of datagrams needs.
    Reliable,
    /// Some may be lost.
    SemiReliable,
}

/// A connection of a carrier, as the server's tables know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Connection(pub u64);

/// Who is at the other end: a key that the carrier has verified. Two connections with the same are
/// from the same client (A24).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity(pub Vec<u8>);

/// What became of a message that was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "a message that was not taken has to be handed over again"]
pub enum Handed {
    /// It will be delivered, or the connection will end.
    Taken,
    /// It was taken, and no more will be until [`Indication::On`] (LHP_XOFF).
    TakenLast,
}

/// How a connection does (LHP_GET_STATS).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Statistics {
    /// From handing over a message to the arrival of an answer to it; `None` before the first.
    pub round_trip: Option<Duration>,
    /// Whether what is sent arrives at the moment.
    pub healthy: bool,
    /// Messages or parts that were sent again, since the beginning.
    pub retransmissions: u64,
}

/// What a carrier tells its user.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Indication {
    /// A client wants to connect: to be answered by [`LastHop::accept`] or [`LastHop::reject`]
    /// (LHP_CONNECT_IND).
    Connect {
        /// Who it is.
        identity: Identity,
    },
    /// The connection is there (LHP_CONNECT_CONF).
    Connected,
    /// A message (LHP_DATA_INDICATION).
    Data(Vec<u8>),
    /// Instead of a message that was [given up](LastHop::send_or_lose), in its place and once.
    Lost(Lost),
    /// No more messages are taken until [`On`](Self::On) (LHP_XOFF).
    Off,
    /// They are again (LHP_XON).
    On,
    /// The connection has ended, for this reason; whatever was under way is lost
    /// (LHP_DISCONNECT_IND, and LHP_FAILURE_IND of a reliable service, E12).
    Disconnected(Ended),
}

/// What is known of a message that was given up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lost {
    /// Its first octets, [`HEAD_OCTETS`] or all.
    pub head: Vec<u8>,
    /// How many it had.
    pub octets: usize,
}

/// Octets of a message that [`Lost`] has: all that can stand before the payload of a datagram,
/// which are the header, what was read (4), an address (23), and the length of control messages,
/// which themselves do not matter any more.
pub const HEAD_OCTETS: usize = crate::message::HEADER_OCTETS + 4 + 23 + 1;

impl Lost {
    /// Of a message that is here.
    #[must_use]
    pub fn of(message: &[u8]) -> Self {
        Self { head: message[..message.len().min(HEAD_OCTETS)].to_vec(), octets: message.len() }
    }
}

/// Why a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ended {
    /// Either side has closed it.
    Closed,
    /// The other side has reset it, or refused it.
    Reset,
    /// Nothing was heard of the other side for too long.
    Unreachable,
}

/// The primitives of a carrier (appendix C). None of them blocks.
pub trait LastHop {
    /// Why an end point cannot be made.
    type Error;

    /// Makes an end point; nothing is sent yet (LHP_REGISTER).
    fn register(&mut self, service: Service, provider: Provider) -> Result<Connection, Self::Error>;
    /// Gives it up (LHP_UNREGISTER); a connection that is there ends at once.
    fn unregister(&mut self, connection: Connection) -> Result<(), Self::Error> {
        self.reset(connection);
        Ok(())
    }
    /// Takes clients at it from now on (LHP_PASSIVE).
    fn passive(&mut self, connection: Connection) -> Result<(), Self::Error>;
    /// Connects it to the server at an address that only the carrier understands (LHP_CONNECT_REQ).
    fn connect(&mut self, connection: Connection, address: &[u8]);
    /// Takes a client (LHP_CONNECT_RESP).
    fn accept(&mut self, connection: Connection);
    /// Turns it away (LHP_CONNECT_REJ).
    fn reject(&mut self, connection: Connection) {
        self.reset(connection);
    }
    /// Ends the connection after everything handed over is delivered (LHP_CLOSE_REQ).
    fn close(&mut self, connection: Connection);
    /// Ends it at once (LHP_RESET).
    fn reset(&mut self, connection: Connection);
    /// Hands over a message of at most [`MESSAGE_OCTETS`](crate::message::MESSAGE_OCTETS)
    /// (LHP_DATA_REQUEST).
    fn send(&mut self, connection: Connection, message: &[u8]) -> Handed;
    /// The same for a message that nobody wants late, the payload of a datagram (6.1.1, A32), which
    /// has waited for so long already. A carrier may give it up after an outage, and its other end
    /// then tells [`Indication::Lost`] instead; or carry it as any other.
    fn send_or_lose(&mut self, connection: Connection, message: &[u8], waited: Duration) -> Handed {
        let _ = waited;
        self.send(connection, message)
    }
    /// No messages are wanted for a while, or they are again (LHP_XOFF, LHP_XON).
    fn receive(&mut self, connection: Connection, wanted: bool);
    /// How it does (LHP_GET_STATS).
    fn statistics(&self, connection: Connection) -> Statistics;
}
