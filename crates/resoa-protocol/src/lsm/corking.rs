//! Datagrams in several parts, as UDP assembles them while a program uses MSG_MORE or has set
//! UDP_CORK (`udp_sendmsg`). The first part defines the destination and the control messages, and
//! the last one sends the whole. Parts use no space of SO_SNDBUF, and their total is limited to one
//! datagram.

use super::Lsm;
use crate::Errno;
use crate::calls::{Action, DatagramPart};
use crate::message::longest_datagram;

impl Lsm {
    /// Returns the maximum length of a datagram in bytes.
    pub(super) fn longest_datagram(&self) -> usize {
        longest_datagram(self.wildcard().is_ipv4())
    }

    /// Adds a part, and sends the datagram if it is complete.
    ///
    /// # Errors
    /// As [`whole`](Self::whole).
    pub(super) fn put_part(&mut self, part: DatagramPart, out: &mut Vec<Action>) -> Result<(), Errno> {
        if let Some(whole) = self.whole(part)? {
            self.sending.put_datagram(whole);
            self.forward(out);
        }
        Ok(())
    }

    /// Adds a part and returns the datagram if it is complete; `None` if more parts follow.
    ///
    /// # Errors
    /// EMSGSIZE if the datagram is too long. Then the earlier parts are lost, too.
    fn whole(&mut self, part: DatagramPart) -> Result<Option<DatagramPart>, Errno> {
        let is_last = !self.is_part(&part);
        let whole = match self.sending.begun.take() {
            Some(mut begun) => {
                begun.bytes.extend(part.bytes);
                begun
            }
            None => part,
        };
        if whole.bytes.len() > self.longest_datagram() {
            return Err(Errno::EMSGSIZE);
        }
        if is_last {
            return Ok(Some(whole));
        }
        self.sending.begun = Some(whole);
        Ok(None)
    }

    /// Returns whether more parts follow this one.
    pub(super) fn is_part(&self, part: &DatagramPart) -> bool {
        part.more || self.sending.is_corked
    }

    /// Sets UDP_CORK. Switching it off completes the datagram that was begun. If there is no space
    /// for it, it is lost, because no call waits.
    pub(super) fn set_cork(&mut self, on: bool, out: &mut Vec<Action>) {
        self.sending.is_corked = on;
        if on {
            return;
        }
        let whole = self.sending.begun.take().filter(|_| self.sending.room(&self.settings) > 0);
        if let Some(whole) = whole {
            self.sending.put_datagram(whole);
            self.forward(out);
        }
    }
}
