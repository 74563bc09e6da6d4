//! One datagram of several sends, as UDP makes it while a program says MSG_MORE or has set UDP_CORK
//! (`udp_sendmsg`): the first part says where to and what is beside it, and the last one sends the
//! whole. Parts take no room of SO_SNDBUF, and are at most one datagram.

use super::Lsm;
use crate::Errno;
use crate::calls::{Action, DatagramPart};
use crate::message::longest_datagram;

impl Lsm {
    /// Octets of the longest datagram.
    pub(super) fn longest_datagram(&self) -> usize {
        longest_datagram(self.wildcard().is_ipv4())
    }

    /// Sends the datagram that this part makes whole, if it does.
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

    /// The datagram that this part makes whole; `None` if more is to come.
    ///
    /// # Errors
    /// EMSGSIZE if it is too long: then what came before is lost, too.
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

    /// Whether more is to come behind this.
    pub(super) fn is_part(&self, part: &DatagramPart) -> bool {
        part.more || self.sending.is_corked
    }

    /// UDP_CORK; switched off, or off before, what was begun is whole. Nobody waits for room for
    /// it: it is lost if there is none.
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
