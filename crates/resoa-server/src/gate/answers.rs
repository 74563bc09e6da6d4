//! Addresses that a datagram socket has sent to. Datagrams from there are answers and need no
//! permission.
//!
//! As in a stateful firewall, the address counts and not the port (RFC 4787 5, address-dependent
//! filtering), because TFTP answers from another port.

use resoa_policy::meant;
use std::collections::VecDeque;
use std::net::IpAddr;

/// Maximum addresses remembered per socket. Beyond it, the address that was sent to longest ago is
/// forgotten.
const REMEMBERED: usize = 256;

/// Addresses of one socket; see the [module](self).
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Address that the socket is connected to.
    peer: Option<IpAddr>,
    /// Addresses that the socket has sent to; the most recent is last.
    asked: VecDeque<IpAddr>,
}

impl Answers {
    /// Records that the socket is connected to this address, or to none.
    pub(super) fn connected(&mut self, peer: Option<IpAddr>) {
        self.peer = peer.map(meant);
    }

    /// Records that something is sent to this address.
    pub(super) fn sent(&mut self, to: IpAddr) {
        let to = meant(to);
        if self.asked.back() == Some(&to) {
            return;
        }
        match self.asked.iter().position(|&asked| asked == to) {
            Some(place) => drop(self.asked.remove(place)),
            None if self.asked.len() == REMEMBERED => drop(self.asked.pop_front()),
            None => {}
        }
        self.asked.push_back(to);
    }

    /// Whether a datagram from this address may be an answer.
    pub(super) fn has(&self, from: IpAddr) -> bool {
        let from = meant(from);
        self.peer == Some(from) || self.asked.contains(&from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(number: usize) -> IpAddr {
        [10, 0, (number >> 8) as u8, number as u8].into()
    }

    /// A datagram from an address that was sent to is an answer, however the address is written.
    /// The address that was used longest ago is forgotten first, and that of the peer never.
    #[test]
    fn who_was_asked() {
        let mut answers = Answers::default();
        assert!(!answers.has(numbered(0)));
        answers.connected(Some(numbered(1000)));
        for number in 0..REMEMBERED {
            answers.sent(numbered(number));
        }
        assert!(answers.has(numbered(0)) && answers.has("::ffff:10.0.0.1".parse().expect("an address")));
        answers.sent(numbered(0));
        answers.sent(numbered(REMEMBERED));
        assert!(answers.has(numbered(0)) && !answers.has(numbered(1)) && answers.has(numbered(2)));
        assert!(answers.has(numbered(1000)) && answers.asked.len() == REMEMBERED);
        answers.connected(None);
        assert!(!answers.has(numbered(1000)));
    }
}
