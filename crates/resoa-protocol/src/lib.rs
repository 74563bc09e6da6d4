//! Remote sockets (ReSoA, Schläger 2004) as pure state machines: events in, actions out; no I/O, no clock, no thread.
//!
//! A host behind a bad last hop keeps its programs, and their TCP lives on a server beside it. Each socket is split in two:
//!
//! ```text
//!  program ─ calls ─▶ Lsm ◀── Export Protocol over a Last Hop Protocol ──▶ Rsm ─ TcpAction ─▶ TCP ── far host
//!                     (Client)                                            (Server)
//! ```
//!
//! * [`Client`] is the host's half: it registers, keeps a table of [`Lsm`]s (local socket modules) and the timers of requests.
//! * [`Server`] is the other half: it knows its clients and their [`Rsm`]s (remote socket modules), which ask a TCP for what they need
//!   ([`TcpAction`]) and are told what it does ([`TcpEvent`]).
//! * [`Message`] is what the two say to each other, and how it is written down.
//! * [`lhp`] says what a carrier between them has to offer: each message once, in order, whole.
//!
//! Times are [`Duration`](std::time::Duration)s since an instant of the driver's choosing, the same for all calls of one machine. What is
//! promised to programs (that they cannot tell the difference) is checked over all states in `model`; docs/resoa.md has the formats,
//! the states, and which test shows what.

#![forbid(unsafe_code)]

mod errno;
mod ids;
pub mod lhp;
pub mod message;

pub use errno::Errno;
pub use ids::{Incarnation, RsockId, Target, Xid};
pub use message::Message;
