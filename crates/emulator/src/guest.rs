//! Links inside the kernel of a guest (`virtual-time`), where no system call and no wake-up of a
//! process is needed for a packet.
//!
//! User-Mode Linux is a program of the host, and its drivers can call a shared library. Crate
//! `guest-link` is that library: [`KernelLoop`] behind a C interface. It is the event loop of this
//! crate on a driver whose ports are network devices of the guest's kernel
//! (`kernel/src/arch/um/drivers/lasthop_kern.c`). A timer of that kernel does the waiting.
//!
//! The observer stays in the process that began the run, with its files and threads. There,
//! [`Remote`] writes orders to the device file of the loop ([`message`]), reads events in large
//! pieces, and calls the [`Observer`](crate::Observer) as the loop would ([`Replay`]). So captures,
//! logs and results come from the same code as on a host.

mod kernel_loop;
mod message;
mod remote;
mod replay;

pub use kernel_loop::{KernelLoop, Outgoing};
pub use message::{Form, Order};
pub use remote::Remote;
pub use replay::Replay;

/// Bytes of events after which the kernel wakes the process that reads them. Few wake-ups are
/// cheap, and the events of a busy second take a few MB.
const WORTH_READING: usize = 512 << 10;

#[cfg(test)]
mod tests;
