//! The error queue of a datagram socket with IP_RECVERR or IPV6_RECVERR (ip(7)): what was not
//! delivered, with what the network says of it. `recvmsg` with MSG_ERRQUEUE takes from it; the
//! error itself is told by the next call as well, until then.

use super::Lsm;
use crate::Errno;
use crate::message::Ancillary;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// So many are kept; what comes then is lost, as at any full queue.
const MOST: usize = 64;
/// IP_RECVERR, IPV6_RECVERR by their levels, which the control message has as its type.
const RECORDS: [(u8, u8); 2] = [(0, 11), (41, 25)];

/// See the [module](self).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Undelivered(VecDeque<(SocketAddr, Ancillary, Vec<u8>)>);

impl Undelivered {
    pub(super) fn arrived(&mut self, to: SocketAddr, ancillary: Ancillary, bytes: Vec<u8>) {
        if self.0.len() < MOST {
            self.0.push_back((to, ancillary, bytes));
        }
    }

    /// The error of the oldest (`ee_errno` of `struct sock_extended_err`).
    fn error(&self) -> Option<Errno> {
        let (_, ancillary, _) = self.0.front()?;
        let record = ancillary.records().find(|record| RECORDS.contains(&(record.level, record.kind)))?;
        record.value.first_chunk().and_then(|number| Errno::from_linux(i32::from_ne_bytes(*number)))
    }
}

impl Lsm {
    /// The oldest one, which is taken: the error that waits is that of the next one then, and none
    /// if there is none (`sock_dequeue_err_skb`).
    pub(crate) fn take_undelivered(&mut self) -> Option<(SocketAddr, Ancillary, Vec<u8>)> {
        let oldest = self.undelivered.0.pop_front()?;
        self.error = self.undelivered.error();
        Some(oldest)
    }
}
