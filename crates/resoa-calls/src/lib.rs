//! What a program's socket calls say to the agent of remote sockets on the same host: one
//! connection of AF_UNIX for each call, a [`Request`] on it and a [`Response`].
//!
//! ```text
//!  program ── data ────────────── AF_UNIX pair ───────────────┐
//!     │ calls                                                 ▼
//!  interposer (preload library, or seccomp notification) ──▶ agent ══ last hop ══▶ server ── TCP ──▶ far host
//!                Request, Response: this crate
//! ```
//!
//! What a program holds as its socket is one end of a pair (8.3 of the specification); the agent
//! has the other and no copy of the program's, so that it sees the last descriptor go. Data,
//! `poll`, `dup`, `fork`, `exec` and the passing of descriptors are the kernel's business. The
//! calls that mean something else on such a pair than on TCP or UDP are intercepted and asked of
//! the agent. A call is *interrupted* by closing its connection: the agent sees that, and so no
//! call outlives its process.
//!
//! # What a program's descriptor is
//!
//! | socket | descriptor | what the interposer does with it |
//! |---|---|---|
//! | stream, fresh or bound | AF_UNIX stream that nobody is connected to: polls OUT, HUP | passes it with `Connect` and `Listen` |
//! | stream, connecting without waiting | connected to the agent, and filled, so that it polls nothing and writing waits | |
//! | stream, connected | emptied again: OUT | data goes over it as it is |
//! | stream, refused or reset | the agent has closed its end with octets unread: IN, OUT, ERR, HUP, RDHUP | `SO_ERROR` is asked of the agent |
//! | listener | connected to the agent and filled; one octet for each connection that waits | `accept` reads an octet, waiting as the descriptor says, and then asks for `Accept` |
//! | datagram | one end of a pair of AF_UNIX SEQPACKET | puts an address and control messages in front of datagrams, and takes them off ([`datagram`]) |
//!
//! A descriptor is recognised by the name that the agent has bound it to ([`SocketName`]), whoever
//! holds it and by whatever number.
//!
//! # What a call does
//!
//! That is the same for all interposers, and written down once: [`interposer`].

#![deny(unsafe_code)]

pub mod address;
pub mod ancillary;
pub mod carried;
mod connection;
pub mod datagram;
pub mod descriptor;
pub mod interposer;
pub mod ioctl;
mod name;
pub mod option;
pub mod outgoing;
pub mod privilege;
mod request;
pub mod sender;
pub mod stream;
pub mod time;

pub use connection::{Agent, Answered, CallError, SHORT, Started, receive_request, respond};
pub use name::{SocketId, SocketName};
pub use request::{Connected, Request, Response, Status};

/// SO_PRIORITY of a listener's descriptor. It has no meaning for AF_UNIX and is the same for
/// everybody who holds the descriptor: interposers set it when `listen` has succeeded, and look at
/// it before `accept` reads an octet, which on a connected stream would be one of data (`accept` is
/// EINVAL there).
pub const LISTENING: i32 = 2;

/// The environment variable that holds the path of the agent's socket.
pub const AGENT: &str = "LASTHOP_RESOA";
