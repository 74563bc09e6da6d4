//! Protocol between a program's socket calls and the resoa agent on the same host: each call is an
//! AF_UNIX connection with a [`Request`] and a [`Response`].
//!
//! ```text
//!  program ── data ────────────── AF_UNIX pair ───────────────┐
//!     │ calls                                                 ▼
//!  interposer (preload library, or seccomp notification) ──▶ agent ══ last hop ══▶ server ── TCP ──▶ far host
//!                Request, Response: this crate
//! ```
//!
//! A program's socket is one end of a pair (8.3 of the specification). The agent has the other end
//! and no copy of the program's, so that it notices when the last descriptor is closed. The kernel
//! handles data, `poll`, `dup`, `fork`, `exec` and the passing of descriptors. The interposer
//! intercepts the calls that mean something else on such a pair than on TCP or UDP, and forwards
//! them to the agent.
//!
//! Closing its connection *interrupts* a call. The agent notices that, so no call outlives its
//! process.
//!
//! # The program's descriptor
//!
//! | socket | descriptor | use by the interposer |
//! |---|---|---|
//! | stream, fresh or bound | unconnected AF_UNIX stream: polls OUT, HUP | passes it with `Connect` and `Listen` |
//! | stream, non-blocking connect pending | connected to the agent and filled, so that it polls nothing and writes wait | |
//! | stream, connected | emptied again: polls OUT | data goes over it unchanged |
//! | stream, refused or reset | the agent has closed its end with unread bytes: polls IN, OUT, ERR, HUP, RDHUP | asks the agent for `SO_ERROR` |
//! | listener | connected to the agent and filled; one byte for each waiting connection | `accept` reads a byte, waiting as the descriptor says, and then sends `Accept` |
//! | datagram | one end of an AF_UNIX SEQPACKET pair | adds and removes the address and control messages in front of datagrams ([`datagram`]) |
//!
//! A descriptor is recognised by the name that the agent has bound it to ([`SocketName`]), in any
//! process and under any number.
//!
//! # The rules of calls
//!
//! The rules are the same for all interposers and are implemented once, in [`interposer`].

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

/// SO_PRIORITY of a listener's descriptor.
///
/// The option has no meaning on AF_UNIX and is shared by all copies of the descriptor. Interposers
/// set it after `listen`. `accept` checks it before it reads a byte, which on a connected stream
/// would be data; there `accept` is EINVAL.
pub const LISTENING: i32 = 2;

/// The environment variable that holds the path of the agent's socket.
pub const AGENT: &str = "LASTHOP_RESOA";
