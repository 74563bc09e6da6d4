//! Moves packets between two ends through a link.
//!
//! One event loop, [`Emulator`], serves any number of links on one thread. What it runs on is
//! a [`Driver`]: clock and packet ends in one trait, since waiting is the one thing that concerns
//! both.
//!
//! * [`kernel::Kernel`] is the real one: TUN or TAP descriptors and epoll. It blocks when there is
//!   nothing to do and never spins, unless asked for precision; the same binary runs in virtual
//!   time, where only blocking lets time pass.
//! * [`ring::Ring`] is the same by io_uring, with the fewest system calls: for virtual time, where
//!   they are dear.
//! * [`simulated::Simulated`] has no kernel at all: a script of arrivals and a clock that jumps.
//!   Tests on it are exact.
//!
//! Promises, on every driver: a packet never leaves before its logical time; what happens late in
//! one place does not make anything later in another, because stages work on logical times; how
//! late packets left ([`punctuality`]) and how long the loop did not run ([`pauses`]) is measured
//! and judged, so that a run in which this machine could not keep up says so.

mod control;
mod driver;
mod event_loop;
pub mod host;
pub mod kernel;
pub mod pauses;
pub mod punctuality;
pub mod ring;
pub mod simulated;

pub use control::{Command, Control, Controls, control};
pub use driver::{Driver, PortId};
pub use event_loop::{Emulator, Ending, Observer, Unobserved, WayId};
