//! Error queue of a datagram socket with IP_RECVERR or IPV6_RECVERR (ip(7)): datagrams that were
//! not delivered, with the network's error messages. `recvmsg` with MSG_ERRQUEUE takes from it.
//! Until then, the next call also reports the error.

use super::Lsm;
use crate::Errno;
use crate::message::Ancillary;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Maximum number of entries. Further ones are lost, as at any full queue.
const MOST: usize = 64;
/// Levels and types of the control messages for IP_RECVERR and IPV6_RECVERR.
const RECORDS: [(u8, u8); 2] = [(0, 11), (41, 25)];

/// The queue; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Undelivered(VecDeque<(SocketAddr, Ancillary, Vec<u8>)>);

impl Undelivered {
    pub(super) fn arrived(&mut self, to: SocketAddr, ancillary: Ancillary, bytes: Vec<u8>) {
        if self.0.len() < MOST {
            self.0.push_back((to, ancillary, bytes));
        }
    }

    /// Returns the error of the oldest entry (`ee_errno` of `struct sock_extended_err`).
    fn error(&self) -> Option<Errno> {
        let (_, ancillary, _) = self.0.front()?;
        let record = ancillary.records().find(|record| RECORDS.contains(&(record.level, record.kind)))?;
        record.value.first_chunk().and_then(|number| Errno::from_linux(i32::from_ne_bytes(*number)))
    }
}

impl Lsm {
    /// Takes the oldest entry. The pending error becomes that of the next one, or none
    /// (`sock_dequeue_err_skb`).
    pub(crate) fn take_undelivered(&mut self) -> Option<(SocketAddr, Ancillary, Vec<u8>)> {
        let oldest = self.undelivered.0.pop_front()?;
        self.error = self.undelivered.error();
        Some(oldest)
    }
}
