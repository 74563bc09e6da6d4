//! Last Hop Protocols: carriers that deliver the messages of remote sockets between a client and
//! its server, each once and in order (6.6, C85 to C92).
//!
//! * [`Carrier`] is a [`LastHop`](resoa_protocol::lhp::LastHop) that an event loop can wait for.
//!   The loop of client and server is the same for every carrier.
//! * [`memory`] works within a process. [`tcp`] connects hosts: authenticated and encrypted, or
//!   neither, as the baseline.
//! * [`datagram`] is the Link Layer Protocol over UDP or Ethernet, authenticated and encrypted, for
//!   hops that lose packets.
//! * [`quic`] is QUIC, with keys instead of certificates.
//! * [`bare`] is datagrams as they are, for link layers that lose nothing.
//! * [`CarrierAddress`] names a carrier and the address where a server accepts clients.
//! * [`keys`] contains the identities of clients and servers, for the carriers that authenticate;
//!   [`Allowed`] says which clients a server accepts.

#![deny(unsafe_code)]

mod allowed;
pub mod bare;
mod came;
pub mod datagram;
mod farewell;
#[cfg(feature = "fuzz")]
pub mod fuzz;
pub mod keys;
mod llp;
#[cfg(test)]
mod loopback;
pub mod memory;
mod noise;
mod order;
mod outage;
mod place;
pub mod quic;
mod ranges;
mod sequence;
mod stage;
mod strangers;
pub mod tcp;
mod udp;
mod waiting;
mod wake;

pub use allowed::Allowed;
pub use place::{AnyCarrier, CarrierAddress, MacAddress, NotAPlace};
pub use waiting::{Carrier, Outbox, wait_for};
