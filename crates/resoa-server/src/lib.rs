//! The server of remote sockets on the TCP of the kernel it runs on: what `resoa-protocol` decides
//! is done here, and nothing is decided.
//!
//! ```text
//!  client ◀─ Carrier ─▶ Host ─ messages ─▶ Server (resoa-protocol) ─ TcpAction ─▶ KernelTcp ─ sockets ─▶ far hosts
//!                        └───────────────────── one loop of epoll ──────────────────┘
//! ```
//!
//! * [`KernelTcp`] carries out what is asked of a TCP. Octets are handed over by `SO_PEEK_OFF` and
//!   stay in the socket until the far program has read them, so that the kernel's own window
//!   follows that program.
//! * [`Host`] is the loop: carriers, sockets, look-ups, timers.
//! * A [policy](resoa_policy) is who may come and what each may do; nothing is done for a client
//!   without being asked for there.
//!
//! What carries messages is `resoa-carrier`'s.
//!
//! * [`FinHold`] keeps a kernel's acknowledgement of a far host's FIN back, which it would send at
//!   once. Without it, which [`Capabilities::fin_hold`] tells, a far host whose lingering `close`
//!   has returned knows that its data is at this server, not that it is at the client (I7; C58 to
//!   C62, C67 to C69 are not met).

#![deny(unsafe_code)]

mod capabilities;
mod congestion_controls;
mod datagrams;
mod errors;
mod fin_hold;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod gate;
mod host;
mod host_ports;
mod kernel;
mod locals;
mod messages;
mod names;
mod operations;
mod options;
mod own;
mod report;
mod server_thread;
mod stream;
mod sys;
mod urgent;

pub use capabilities::Capabilities;
pub use congestion_controls::keep_kernel_lists;
pub use fin_hold::{Counts, FinHold, FinHoldError};
pub use gate::Usage;
pub use host::{Host, Incidents};
pub use kernel::{Arrived, Happened, KernelTcp, Source};
pub use report::{ClientReport, Report};
pub use server_thread::ServerThread;
