//! What the event loop runs on: a clock, and ports that packets come from and go to.

use link::units::{Span, Time};
use packet::Frame;
use std::io;

/// A port: one place that packets come from and go to, such as a TUN descriptor. Numbered by its
/// driver from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortId(pub usize);

/// Clock and ports.
pub trait Driver {
    /// The time now, on the clock that packets are timed by. Never goes back.
    fn now(&mut self) -> Time;

    /// Waits until a packet can be received, until `until`, or until a command has come, whichever
    /// is first, and adds the ports that have packets to `ready`. Returning early with no port
    /// ready is allowed; returning late is what [`crate::punctuality`] measures. `Ok(false)` says
    /// that nothing will ever happen again before `until` (a simulated world that has come to its
    /// end); a real driver never does.
    fn wait(&mut self, until: Time, ready: &mut Vec<PortId>) -> io::Result<bool>;

    /// Longest time that the loop may ask to wait at once, so that it notices when the process did
    /// not run ([`crate::pauses`]). [`Span::MAX`] on clocks that only go on while the process runs,
    /// or waits.
    fn longest_wait(&self) -> Span {
        Span::MAX
    }

    /// The next packet from `port`, or `None` when there is none at the moment. A segment that the
    /// kernel hands over in one piece comes as several frames, one an MTU-sized packet.
    fn receive(&mut self, port: PortId, into: &mut Vec<Frame>) -> io::Result<bool>;

    /// Sends `frame` out of `port`. A driver may keep frames that belong to one segment until
    /// [`Driver::flush`].
    fn send(&mut self, port: PortId, frame: Frame) -> io::Result<()>;

    /// Sends whatever [`Driver::send`] has kept. A driver that learns late what it could not send
    /// says so here, one packet a call.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Nothing more will be sent or received: returns when all that was sent has left.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Takes a frame that goes nowhere, so that its memory can be used again.
    fn recycle(&mut self, frame: Frame) {
        drop(frame);
    }
}
