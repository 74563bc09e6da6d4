//! The event loop's environment: a clock, and ports that packets come from and go to.

use link::units::{Span, Time};
use packet::Frame;
use std::io;

/// Number of a port, counted by its driver from 0. A port is one source and destination of packets,
/// such as a TUN descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortId(pub usize);

/// A clock and packet ports.
pub trait Driver {
    /// Returns the current time of the clock that times packets. It never goes back.
    fn now(&mut self) -> Time;

    /// Waits until a packet can be received, until a command comes, or until `until`, whichever is
    /// first. Adds the ports that have packets to `ready`.
    ///
    /// A driver may return early with no port ready. [`crate::punctuality`] measures how late it
    /// returns. `Ok(false)` means that nothing will happen before `until`, as when a simulated
    /// script has ended. Real drivers always return `Ok(true)`.
    fn wait(&mut self, until: Time, ready: &mut Vec<PortId>) -> io::Result<bool>;

    /// Longest wait that the loop may ask for. The limit lets the loop notice when its process did
    /// not run ([`crate::pauses`]). [`Span::MAX`] on clocks that advance only while the process
    /// runs or waits.
    fn longest_wait(&self) -> Span {
        Span::MAX
    }

    /// Appends the next packets from `port` to `into`. Returns false if the loop should not read
    /// this port again before the next wait; there may be packets even so. A segment that the
    /// kernel hands over in one piece yields several frames, one for each MTU-sized packet.
    fn receive(&mut self, port: PortId, into: &mut Vec<Frame>) -> io::Result<bool>;

    /// Sends `frame` out of `port`. A driver may keep frames of one segment until
    /// [`Driver::flush`].
    fn send(&mut self, port: PortId, frame: Frame) -> io::Result<()>;

    /// Sends all frames that [`Driver::send`] has kept. A driver that learns late about packets
    /// that it could not send returns those errors here, one packet a call.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Waits until all sent packets have left. Nothing is sent or received afterwards.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Takes a frame that is not sent, so that its memory can be used again.
    fn recycle(&mut self, frame: Frame) {
        drop(frame);
    }
}
