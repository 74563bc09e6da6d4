//! To whom a datagram socket has sent: what comes from there is an answer, which needs nobody's
//! leave.
//!
//! As in a stateful firewall it is the address that counts, and not the port (RFC 4787 5,
//! address-dependent filtering): TFTP answers from another port.

use resoa_policy::meant;
use std::collections::VecDeque;
use std::net::IpAddr;

/// Addresses of one socket that are remembered. Of more, those that were sent to longest ago are
/// forgotten.
const REMEMBERED: usize = 256;

/// The addresses of one socket; see the [module](self).
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Whom it is connected with.
    peer: Option<IpAddr>,
    /// The one that was sent to last is last.
    asked: VecDeque<IpAddr>,
}

impl Answers {
    /// The socket is connected with this address, or with none.
    pub(super) fn connected(&mut self, peer: Option<IpAddr>) {
        self.peer = peer.map(meant);
    }

    /// Something is sent there.
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

    /// Whether what comes from there may be an answer.
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

    /// Who was asked may answer, however its address is written; who was asked longest ago is
    /// forgotten first, and the peer never.
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
