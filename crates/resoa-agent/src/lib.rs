//! The resoa agent, which gives programs of a host remote sockets.
//!
//! Programs hold AF_UNIX descriptors that behave like TCP and UDP sockets. A carrier takes their
//! data to a server, and brings the data for them. `resoa-protocol` implements the meaning of
//! calls. Calls reach the agent by `resoa-calls`.
//!
//! ```text
//!  program ── descriptor ─── AF_UNIX ───▶ End ─┐
//!  interposer ── Request, Response ─────▶ Call ─┴─ Agent ─ Client (resoa-protocol) ─ Carrier ══ last hop ══▶ server
//! ```
//!
//! The agent is a single epoll loop, and nothing in it blocks. The only other thread is the server
//! of [local destinations](LocalRules). The cost of an event does not depend on the number of
//! sockets. There are two exceptions: the loss of the server, and a check once per second for
//! closed descriptors that have no end at the agent to report it.
//!
//! # How an AF_UNIX pair becomes a socket
//!
//! * *Reset.* Closing our end resets the program's end only if our queue has unread bytes. So the
//!   last byte that the program wrote stays in our queue. At first this is a byte that we wrote on
//!   its behalf, the *primer*. The last byte is forwarded nevertheless, by peeking.
//! * *Connecting.* While the socket connects, our end's queue is filled completely on the program's
//!   behalf, so that the descriptor polls nothing. Once it is connected, we read all but one of
//!   these bytes again.
//! * *Consumption.* Data that has left our send queue (SIOCOUTQ) was read by the program. The
//!   kernel counts that queue in memory and not in bytes; `flight` knows the weight of each packet.
//!   The kernel reports each read while at most a quarter of the queue is used.
//! * *The end.* Our end hangs up when the program's last descriptor is closed. It has ECONNRESET if
//!   that had unread data.

#![deny(unsafe_code)]

mod agent;
mod associations;
mod calls;
mod listening;
mod poller;
mod requests;
mod settings;
mod sockets;
mod stack;
mod sys;

pub use agent::Agent;
pub use associations::LocalRules;
pub use settings::{AgentError, AgentSettings};
