//! The interface of a Last Hop Protocol (6.6, appendix C): its primitives as types, and their
//! requirements.
//!
//! The messages of one connection arrive once each, in order, whole and unchanged; otherwise the
//! connection ends and both sides are told. The protocol above relies on this and never sends
//! anything twice. Only the payload of datagrams may be [given up](LastHop::send_or_lose). Then the
//! other side is told so once, in place of the datagram, because both sides count the bytes of each
//! datagram and neither may miss one. Retransmission, segmentation, flow control and encryption are
//! internal to a carrier. So is the format of its addresses, which are opaque bytes here.
//!
//! Carriers are in other crates. They implement [`LastHop`] and report [`Indication`]s.

use std::time::Duration;

/// Kind of a carrier, as both sides configure it (C92).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Provider {
    /// The implementation.
    pub id: u16,
    /// The protocol of this implementation.
    pub protocol: u16,
}

/// Reliability of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Service {
    /// Each message arrives once and in order. Everything except the payload of datagrams needs
    /// this.
    Reliable,
    /// Some messages may be lost.
    SemiReliable,
}

/// A connection of a carrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Connection(pub u64);

/// Identity of the other end: a key that the carrier has authenticated. Connections with the same
/// key belong to the same client (A24).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity(pub Vec<u8>);

/// What happened to a message that was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "a message that was not taken has to be handed over again"]
pub enum Handed {
    /// The message will be delivered, or the connection will end.
    Taken,
    /// The message was taken, and no more are taken until [`Indication::On`] (LHP_XOFF).
    TakenLast,
}

/// State of a connection (LHP_GET_STATS).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Statistics {
    /// Time from handing over a message to the answer to it; `None` before the first answer.
    pub round_trip: Option<Duration>,
    /// Whether messages arrive at the moment.
    pub healthy: bool,
    /// Number of messages or parts that were sent again since the beginning.
    pub retransmissions: u64,
}

/// Indication of a carrier to its user.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Indication {
    /// A client wants to connect. Answer with [`LastHop::accept`] or [`LastHop::reject`]
    /// (LHP_CONNECT_IND).
    Connect {
        /// The client.
        identity: Identity,
    },
    /// The connection is established (LHP_CONNECT_CONF).
    Connected,
    /// A message (LHP_DATA_INDICATION).
    Data(Vec<u8>),
    /// Takes the place of a message that was [given up](LastHop::send_or_lose), once.
    Lost(Lost),
    /// No more messages are taken until [`On`](Self::On) (LHP_XOFF).
    Off,
    /// Messages are taken again (LHP_XON).
    On,
    /// The connection has ended for this reason, and everything in flight is lost
    /// (LHP_DISCONNECT_IND, and LHP_FAILURE_IND of a reliable service, E12).
    Disconnected(DisconnectReason),
}

/// What is known of a message that was given up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lost {
    /// Its first [`HEAD_OCTETS`] bytes, or all if it is shorter.
    pub head: Vec<u8>,
    /// Its length in bytes.
    pub octets: usize,
}

/// Bytes of a message in [`Lost`]: everything that can precede the payload of a datagram. That is
/// the header, the report of bytes read (4), an address (23), and the length of control messages,
/// which themselves no longer matter.
pub const HEAD_OCTETS: usize = crate::message::HEADER_OCTETS + 4 + 23 + 1;

impl Lost {
    /// Creates the notice for a message whose contents are at hand.
    #[must_use]
    pub fn of(message: &[u8]) -> Self {
        Self { head: message[..message.len().min(HEAD_OCTETS)].to_vec(), octets: message.len() }
    }
}

/// Why a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DisconnectReason {
    /// Either side has closed it.
    Closed,
    /// The other side has reset it, or refused it.
    Reset,
    /// Nothing arrived from the other side for too long.
    Unreachable,
    /// The path's MTU is smaller than the carrier needs.
    MtuTooSmall,
}

/// The primitives of a carrier (appendix C). None of them blocks.
pub trait LastHop {
    /// Error that prevents creating an end point.
    type Error;

    /// Creates an end point. Nothing is sent yet (LHP_REGISTER).
    fn register(&mut self, service: Service, provider: Provider) -> Result<Connection, Self::Error>;
    /// Deletes an end point (LHP_UNREGISTER). Its connection ends at once.
    fn unregister(&mut self, connection: Connection) -> Result<(), Self::Error> {
        self.reset(connection);
        Ok(())
    }
    /// Accepts clients at an end point from now on (LHP_PASSIVE).
    fn passive(&mut self, connection: Connection) -> Result<(), Self::Error>;
    /// Connects an end point to the server at an address that only the carrier understands
    /// (LHP_CONNECT_REQ).
    fn connect(&mut self, connection: Connection, address: &[u8]);
    /// Accepts a client (LHP_CONNECT_RESP).
    fn accept(&mut self, connection: Connection);
    /// Rejects a client (LHP_CONNECT_REJ).
    fn reject(&mut self, connection: Connection) {
        self.reset(connection);
    }
    /// Ends a connection after everything that was handed over is delivered (LHP_CLOSE_REQ).
    fn close(&mut self, connection: Connection);
    /// Ends a connection at once (LHP_RESET).
    fn reset(&mut self, connection: Connection);
    /// Hands over a message of at most [`MESSAGE_OCTETS`](crate::message::MESSAGE_OCTETS) bytes
    /// (LHP_DATA_REQUEST).
    fn send(&mut self, connection: Connection, message: &[u8]) -> Handed;
    /// Hands over a message that is useless when it is late, the payload of a datagram (6.1.1,
    /// A32). It has already `waited` this long.
    ///
    /// A carrier may give it up after an outage, in which case its other end reports
    /// [`Indication::Lost`] instead. It may also carry the message like any other.
    fn send_or_lose(&mut self, connection: Connection, message: &[u8], waited: Duration) -> Handed {
        let _ = waited;
        self.send(connection, message)
    }
    /// Pauses messages from the other side, or lets them arrive again (LHP_XOFF, LHP_XON).
    fn receive(&mut self, connection: Connection, wanted: bool);
    /// Returns the state of a connection (LHP_GET_STATS).
    fn statistics(&self, connection: Connection) -> Statistics;
}
