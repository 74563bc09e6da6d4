//! Order of the look-ups: clients take turns, and none has more running than its share, however
//! many it requests and however long they take.
//!
//! A client is identified by its key and not by its connection, so connecting again does not
//! increase its share.

use super::Asked;
use resoa_protocol::lhp::{Connection, Identity};
use std::collections::{HashMap, VecDeque};

/// Look-ups that wait for a thread, and the number that each client has running; see the
/// [module](self).
#[derive(Debug, Default)]
pub(super) struct Desk {
    /// Waiting look-ups per client, in the order of their turns. No queue is empty.
    waiting: VecDeque<(Identity, VecDeque<Asked>)>,
    running: HashMap<Identity, usize>,
}

impl Desk {
    /// Adds a look-up to the waiting ones.
    pub(super) fn put(&mut self, asked: Asked) {
        match self.waiting.iter_mut().find(|(who, _)| *who == asked.who) {
            Some((_, all)) => all.push_back(asked),
            None => self.waiting.push_back((asked.who.clone(), VecDeque::from([asked]))),
        }
    }

    /// Number of look-ups that could run now if there were threads: at most `share` per client,
    /// including the running ones.
    pub(super) fn ready(&self, share: usize) -> usize {
        self.waiting.iter().map(|(who, all)| all.len().min(share - self.running(who).min(share))).sum()
    }

    /// Takes the next look-up, which counts as running until it is [done](Self::done). Returns
    /// `None` if all that wait are beyond their client's share.
    pub(super) fn next(&mut self, share: usize) -> Option<Asked> {
        let place = self.waiting.iter().position(|(who, _)| self.running(who) < share)?;
        let (who, mut all) = self.waiting.remove(place)?;
        let asked = all.pop_front()?;
        *self.running.entry(who.clone()).or_default() += 1;
        if !all.is_empty() {
            self.waiting.push_back((who, all));
        }
        Some(asked)
    }

    /// Marks one look-up of this client as finished.
    pub(super) fn done(&mut self, who: &Identity) {
        if let Some(count) = self.running.get_mut(who) {
            *count -= 1;
            if *count == 0 {
                self.running.remove(who);
            }
        }
    }

    /// Drops a look-up that is not waited for any more, if it has not started.
    pub(super) fn give_up(&mut self, asked: &Asked) {
        self.retain(|waiting| waiting != asked);
    }

    /// Drops the waiting look-ups of a connection.
    pub(super) fn forget(&mut self, connection: Connection) {
        self.retain(|waiting| waiting.connection != connection);
    }

    fn retain(&mut self, stays: impl Fn(&Asked) -> bool) {
        self.waiting.iter_mut().for_each(|(_, all)| all.retain(&stays));
        self.waiting.retain(|(_, all)| !all.is_empty());
    }

    /// Number of running look-ups of this client.
    pub(super) fn running(&self, who: &Identity) -> usize {
        self.running.get(who).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use resoa_protocol::Xid;
    use resoa_protocol::message::Query;

    fn asked(who: u8, connection: u64, xid: u32) -> Asked {
        let query = Query::Address(([127, 0, 0, 1], 80).into());
        Asked { connection: Connection(connection), who: Identity(vec![who]), xid: Xid(xid), query }
    }

    /// Clients take turns, and each client's look-ups run in the order of their requests. Beyond
    /// its share a client waits, and others do not.
    #[test]
    fn clients_take_turns() {
        let mut desk = Desk::default();
        for xid in 1..=5 {
            desk.put(asked(1, 1, xid));
        }
        desk.put(asked(2, 2, 1));
        // The first client has connected again: another connection of the same client.
        desk.put(asked(1, 3, 6));
        assert_eq!(desk.ready(2), 3);
        let next = |desk: &mut Desk| desk.next(2).map(|asked| (asked.who.0[0], asked.xid.0));
        assert_eq!([(); 4].map(|()| next(&mut desk)), [Some((1, 1)), Some((2, 1)), Some((1, 2)), None]);
        assert_eq!(desk.ready(2), 0);
        desk.done(&Identity(vec![1]));
        assert_eq!((desk.ready(2), next(&mut desk), next(&mut desk)), (1, Some((1, 3)), None));
        desk.give_up(&asked(1, 1, 4));
        desk.done(&Identity(vec![1]));
        assert_eq!(next(&mut desk), Some((1, 5)));
        desk.forget(Connection(3));
        for who in [1, 1, 2] {
            desk.done(&Identity(vec![who]));
        }
        assert_eq!((desk.ready(2), next(&mut desk)), (0, None));
        assert!(desk.waiting.is_empty() && desk.running.is_empty());
    }
}
