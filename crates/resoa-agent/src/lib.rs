//! The agent of remote sockets: one for a host, or for some of its programs. Programs hold
//! descriptors of AF_UNIX that behave as TCP's and UDP's; what they write there goes to a server by
//! a carrier, and what comes from it they read there. What calls mean `resoa-protocol` decides, and
//! `resoa-calls` is how they get here.
//!
//! ```text
//!  program ── descriptor ─── AF_UNIX ───▶ End ─┐
//!  interposer ── Request, Response ─────▶ Call ─┴─ Agent ─ Client (resoa-protocol) ─ Carrier ══ last hop ══▶ server
//! ```
//!
//! One loop of epoll; nothing in it waits for anything else, and the only thread beside it is the
//! server of [local destinations](LocalRules). No event costs more when there are more sockets,
//! except the loss of the server and, once in a second, a look for descriptors that nobody has any
//! more and that have no end here by which that would be seen.
//!
//! # How a pair of AF_UNIX becomes a socket
//!
//! * *Reset.* Closing our end is a reset for the program only if octets of it are unread here. So
//!   the last octet that it wrote stays in our queue; at first that is one that we wrote for it,
//!   the *primer*. It is forwarded all the same, by peeking.
//! * *Connecting.* Our end's queue is filled as far as the program may write, so that its
//!   descriptor polls nothing; when it is connected, all but one of those octets are read again.
//! * *Consumption.* What the program has read is what left our send queue (SIOCOUTQ), which the
//!   kernel counts in memory and not in octets: `flight` knows what each packet weighs. It tells of
//!   each read as long as no more than a quarter of the queue is used.
//! * *The end.* Our end hangs up when the last descriptor is closed, and has ECONNRESET if
//!   something was unread there.

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
