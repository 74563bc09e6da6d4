//! Remote sockets (ReSoA, Schläger 2004) as pure state machines: events in, actions out; no I/O, no
//! clock, no thread.
//!
//! The programs stay on a host behind a bad last hop; their TCP runs on a server beside the hop.
//! Each socket is split into two halves:
//!
//! ```text
//!  program ─ calls ─▶ Lsm ◀── Export Protocol over a Last Hop Protocol ──▶ Rsm ─ TcpAction ─▶ TCP ── far host
//!                     (Client)                                            (Server)
//! ```
//!
//! * [`Client`] is the host's half: it registers, keeps a table of local socket modules (`lsm`) and
//!   the timers of requests.
//! * [`Server`] is the other half: it knows its clients and their remote socket modules (`rsm`),
//!   which send requests to a TCP stack ([`TcpAction`]) and receive its events ([`TcpEvent`]).
//! * [`Message`] is a message between the two, with its encoding.
//! * [`lhp`] is the interface of a carrier between them, which delivers each message once, in
//!   order, and whole.
//!
//! Times are [`Duration`](std::time::Duration)s since an instant that the driver chooses, the same
//! for all calls of one state machine. Programs cannot tell remote sockets from local ones: `model`
//! checks this over all states. docs/resoa.md describes the formats and states, and lists the test
//! for each requirement.

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
    Action, CallId, Cause, DatagramPart, FIRST, Readiness, ReceiveFlags, SendFlags, Signal, SocketCall,
    Stage, Stream, Value,
};
pub use client::{Client, Registration};
pub use errno::Errno;
pub use ids::{Incarnation, RsockId, Target, Xid};
pub use message::Message;
pub use server::{Server, ServerAction, ServerSettings};
pub use settings::{LingerPolicy, Settings, Timers};
pub use tcp::{Endpoint, TcpAction, TcpEvent};
