//! Remote sockets (ReSoA, Schläger 2004) as pure state machines: events in, actions out; no I/O, no
//! clock, no thread.
//!
//! A host behind a bad last hop keeps its programs, and their TCP lives on a server beside it. Each
//! socket is split in two:
//!
//! ```text
//!  program ─ calls ─▶ Lsm ◀── Export Protocol over a Last Hop Protocol ──▶ Rsm ─ TcpAction ─▶ TCP ── far host
//!                     (Client)                                            (Server)
//! ```
//!
//! * [`Client`] is the host's half: it registers, keeps a table of local socket modules (`lsm`) and
//!   the timers of requests.
//! * [`Server`] is the other half: it knows its clients and their remote socket modules (`rsm`),
//!   which ask a TCP for what they need ([`TcpAction`]) and are told what it does ([`TcpEvent`]).
//! * [`Message`] is what the two say to each other, and how it is written down.
//! * [`lhp`] says what a carrier between them has to offer: each message once, in order, whole.
//!
//! Times are [`Duration`](std::time::Duration)s since an instant of the driver's choosing, the same
//! for all calls of one machine. What is promised to programs (that they cannot tell the
//! difference) is checked over all states in `model`; docs/resoa.md has the formats, the states,
//! and which test shows what.

#![forbid(unsafe_code)]

mod calls;
pub mod client;
pub mod control_messages;
mod errno;
mod ids;
pub mod lhp;
mod lsm;
pub mod message;
#[cfg(test)]
mod model;
mod octets;
mod rsm;
pub mod schedule;
pub mod server;
mod settings;
mod tcp;
#[cfg(test)]
mod tests;

pub use calls::{
    Action, CallId, Cause, DatagramPart, LookUp, Readiness, ReceiveFlags, SendFlags, Signal, SocketCall,
    Stage, Stream, Value,
};
pub use client::{Client, Registration};
pub use errno::Errno;
pub use ids::{Incarnation, RsockId, Target, Xid};
pub use message::Message;
pub use server::{Server, ServerAction, ServerSettings};
pub use settings::{LingerPolicy, Settings, Timers};
pub use tcp::{Endpoint, TcpAction, TcpEvent};
