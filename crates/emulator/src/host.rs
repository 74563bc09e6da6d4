//! The driver that suits the machine: epoll on the real clock, io_uring in virtual time.

use crate::control::Controls;
use crate::driver::{Driver, PortId};
use crate::kernel::{Kernel, Port};
use crate::ring::Ring;
use link::units::{Span, Time};
use packet::Frame;
use std::{fs, io};

/// A driver of either kind.
#[expect(clippy::large_enum_variant, reason = "there is one of them, and it is moved twice")]
pub enum Host {
    /// The driver on epoll.
    Kernel(Kernel),
    /// The driver on io_uring.
    Ring(Ring),
}

impl Host {
    /// Creates the driver that suits the clock of this machine, without ports. Its time starts now.
    /// Without io_uring, a run in virtual time takes longer but has the same result.
    ///
    /// # Errors
    /// If the kernel has no file descriptor left.
    pub fn new(controls: &Controls) -> io::Result<Self> {
        if is_virtual(&fs::read_to_string("/proc/cmdline").unwrap_or_default())
            && let Ok(ring) = Ring::new(controls)
        {
            return Ok(Self::Ring(ring));
        }
        Kernel::new(controls).map(Self::Kernel)
    }

    /// Adds a port.
    ///
    /// # Errors
    /// If the driver cannot wait for its descriptor.
    pub fn add(&mut self, port: Port) -> io::Result<PortId> {
        match self {
            Self::Kernel(kernel) => kernel.add(port),
            Self::Ring(ring) => ring.add(port),
        }
    }

    /// Returns the number of packets dropped because the kernel handed them over in a form that
    /// cannot be cut into MTU-sized packets.
    #[must_use]
    pub fn unusable(&self) -> u64 {
        match self {
            Self::Kernel(kernel) => kernel.unusable(),
            Self::Ring(ring) => ring.unusable(),
        }
    }

    fn driver(&mut self) -> &mut dyn Driver {
        match self {
            Self::Kernel(kernel) => kernel,
            Self::Ring(ring) => ring,
        }
    }
}

/// Tells whether a kernel with this command line skips idle time. The other modes of time travel do
/// not, or leave the clock to an external program.
fn is_virtual(command_line: &str) -> bool {
    command_line.split_ascii_whitespace().any(|word| word == "time-travel=inf-cpu")
}

impl Driver for Host {
    fn now(&mut self) -> Time {
        self.driver().now()
    }

    fn longest_wait(&self) -> Span {
        match self {
            Self::Kernel(kernel) => kernel.longest_wait(),
            Self::Ring(ring) => ring.longest_wait(),
        }
    }

    fn wait(&mut self, until: Time, ready: &mut Vec<PortId>) -> io::Result<bool> {
        self.driver().wait(until, ready)
    }

    fn receive(&mut self, port: PortId, into: &mut Vec<Frame>) -> io::Result<bool> {
        self.driver().receive(port, into)
    }

    fn send(&mut self, port: PortId, frame: Frame) -> io::Result<()> {
        self.driver().send(port, frame)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.driver().flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.driver().finish()
    }

    fn recycle(&mut self, frame: Frame) {
        self.driver().recycle(frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_infinitely_fast_processors_skip_idle_time() {
        assert!(is_virtual("mem=512M time-travel=inf-cpu um_seed=7 root=/dev/root"));
        assert!(!is_virtual("time-travel time-travel-start=0"));
        assert!(!is_virtual("BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet"));
    }
}
