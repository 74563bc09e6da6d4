//! Moves packets between two ends through a link.
//!
//! One event loop, [`Emulator`], serves any number of links on one thread. It runs on a [`Driver`],
//! which combines a clock and packet ports in one trait, since waiting involves both:
//!
//! * [`kernel::Kernel`] is for the real clock: TUN or TAP descriptors and epoll. It blocks when
//!   there is nothing to do, and spins only with [`kernel::Kernel::precise`].
//! * [`guest`] is for virtual time: the loop runs in the guest's kernel, without a system call for
//!   a packet.
//! * [`simulated::Simulated`] has no kernel: a script of arrivals, and a clock that jumps. Its
//!   times are exact, for tests.
//!
//! Guarantees with every driver:
//!
//! * A packet never leaves before its logical time.
//! * Lateness does not accumulate: stages work on logical times, so a late event delays no later
//!   one.
//! * The loop measures and judges how late packets left ([`punctuality`]) and how long it did not
//!   run ([`pauses`]). A run in which the machine could not keep up is marked.

mod control;
mod driver;
mod event_loop;
mod framing;
pub mod guest;
pub mod host;
pub mod kernel;
pub mod pauses;
pub mod punctuality;
pub mod simulated;

pub use control::{Command, Control, Controls, LinkChange, control};
pub use driver::{Driver, PortId};
pub use event_loop::{Emulator, Ending, Observer, Unobserved, WayId};
