//! Last Hop Protocols: what carries the messages of remote sockets between a client and its server,
//! each once and in order (6.6, C85 to C92).
//!
//! * [`Carrier`] is a [`LastHop`](resoa_protocol::lhp::LastHop) that a loop can wait for; client
//!   and server have the same loop around any of them.
//! * [`memory`] is one within a process, [`tcp`] goes between hosts: verified and encrypted, or, as
//!   the baseline, neither.
//! * [`datagram`] is the Link Layer Protocol over UDP or Ethernet, verified and encrypted: for hops
//!   that lose what is on them.
//! * [`quic`] is QUIC, with keys instead of certificates.
//! * [`Place`] is where a server takes clients, by which carrier.
//! * [`keys`] are who clients and servers are, for the carriers that verify it, and [`Allowed`]
//!   whom a server takes.

#![deny(unsafe_code)]

mod allowed;
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
pub use place::{AnyCarrier, MacAddress, NotAPlace, Place};
pub use waiting::{Carrier, Outbox};
