//! Runs programs on remote sockets if no preload library can reach them: static programs, Go
//! programs, and programs that make system calls directly.
//!
//! A [filter](filter()) in the kernel stops the calls that mean something else on an agent's
//! descriptor than on an IP socket ([`resoa_calls`] lists them), and notifies this process.
//! [`resoa_calls::interposer`] implements the rules of those calls; `program` gives it access to
//! the caller.
//!
//! The notifier copies the caller's descriptor to find out whether it is a remote socket. If not,
//! the kernel continues the call. If it is, the notifier asks the agent. The kernel installs new
//! descriptors in the caller. Data, waits, copies and the passing of descriptors are not stopped.
//!
//! ```text
//!  program ── socket, connect … ──▶ kernel ── notification ──▶ notifier ── Request ──▶ agent
//!     └── read, write, poll … ────▶ kernel (AF_UNIX) ◀────────────────────────────────────┘
//! ```
//!
//! This carries calls and is no security boundary: a program that wants to evade it can.

#![deny(unsafe_code)]

mod baton;
mod call;
mod caller;
mod closing;
mod data;
mod filter;
mod foreground;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod kernel;
mod launch;
mod message;
mod notifier;
mod program;
mod signals;
mod status;
mod streams;
mod target;

pub use filter::{Closing, filter};
pub use foreground::{RunError, end_as, run};
pub use kernel::guard;
pub use launch::{LaunchError, Running, launch};
