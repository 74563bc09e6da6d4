//! For a driver that moves the octets of a stream by itself, between this half and a descriptor that the program holds: reads and writes that never wait,
//! and a consumption that is told later than the taking. What such a driver has taken counts as unread until it says [`consumed`](Lsm::consumed): the far
//! host's window follows the program and not the driver (3.11, I5, I6), and a socket that closes before that ends by RST (C51).

use super::{Lsm, State};
use crate::calls::{Action, Stage, Stream};
use std::time::Duration;

impl Lsm {
    /// How the stream does.
    pub(crate) fn stream(&self) -> Stream {
        let stage = match self.state {
            State::Unconnected => Stage::Unconnected,
            State::Connecting => Stage::Connecting,
            State::Listening => Stage::Listening,
            State::Connected => Stage::Connected,
            State::Failed => Stage::Failed,
            State::Lingering { .. } | State::Orphan | State::Closed => Stage::Closed,
        };
        let may_write = self.state == State::Connected && !self.send_shut && self.error.is_none();
        Stream {
            stage,
            untold: self.untold,
            waiting: self.receiving.in_queue(),
            room: if may_write { self.sending.room(&self.settings) } else { 0 },
            receive_shut: self.receive_shut,
            send_shut: self.send_shut,
            pending: self.pending(),
            linger: self.options.linger,
            urgent_inline: self.options.urgent_inline,
        }
    }

    /// Octets for the program, at most so many and up to an urgent one; nothing if there are none. The server is not told that they were read.
    pub(crate) fn take(&mut self, most: usize, now: Duration, out: &mut Vec<Action>) -> Vec<u8> {
        let bytes = self.receiving.take_held(most, self.options.urgent_inline);
        self.progress(now, out);
        bytes
    }

    /// The program has read so many of the octets that were taken.
    pub(crate) fn consumed(&mut self, count: usize, now: Duration, out: &mut Vec<Action>) {
        self.receiving.release(count);
        self.report_consumption(now, out);
    }

    /// Octets of the program, as many as there is room for. How many were taken.
    pub(crate) fn give(&mut self, bytes: &[u8], urgent: bool, now: Duration, out: &mut Vec<Action>) -> usize {
        let taken = bytes.len().min(self.stream().room);
        if taken > 0 {
            self.sending.put(&bytes[..taken], urgent && taken == bytes.len());
            self.forward(out);
            self.progress(now, out);
        }
        taken
    }
}
