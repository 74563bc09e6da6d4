//! Runs programs on remote sockets that no preload library reaches: static ones, those of Go, and
//! those that call the kernel by themselves.
//!
//! A [filter](filter()) in the kernel stops the calls that mean something else on an agent's
//! descriptor than on a socket of IP ([`resoa_calls`] says which) and tells this process of them.
//! The rules of those calls are in [`resoa_calls::interposer`]; `program` lets it reach the caller.
//! It finds out by the caller's descriptor whether it is a remote socket, lets the kernel go on if
//! it is none, and asks the agent otherwise. New descriptors are put into the caller by the kernel.
//! Data, waiting, copies and the passing of descriptors are not stopped.
//!
//! ```text
//!  program ── socket, connect … ──▶ kernel ── notification ──▶ notifier ── Request ──▶ agent
//!     └── read, write, poll … ────▶ kernel (AF_UNIX) ◀────────────────────────────────────┘
//! ```
//!
//! It is a way to carry calls and no security boundary: a program that wants to get round it can.

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
