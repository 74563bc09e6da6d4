//! Server of remote sockets on the TCP of its own kernel. It carries out the decisions of
//! `resoa-protocol` and makes none itself.
//!
//! ```text
//!  client ◀─ Carrier ─▶ Host ─ messages ─▶ Server (resoa-protocol) ─ TcpAction ─▶ KernelTcp ─ sockets ─▶ far hosts
//!                        └───────────────────── one loop of epoll ──────────────────┘
//! ```
//!
//! * [`KernelTcp`] carries out the requests to a TCP. It reads data with `SO_PEEK_OFF` and leaves
//!   it in the socket until the client's program has read it. So the window that the kernel
//!   advertises follows that program.
//! * [`Host`] is the event loop: carriers, sockets, look-ups, timers.
//! * A [policy](resoa_policy) defines which clients may connect and what each may do. Every request
//!   of a client is checked against it.
//!
//! * [`FinHold`] delays the acknowledgement of a far host's FIN, which a kernel would send at once.
//!   Without it ([`Capabilities::fin_hold`] is false), a far host whose lingering `close` has
//!   returned knows only that its data is at this server, not that it is at the client (I7; C58 to
//!   C62 and C67 to C69 are not met).
//!
//! The carriers of the messages are in `resoa-carrier`.

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
