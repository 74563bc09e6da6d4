//! What a [`LastHop`] needs beyond its primitives to be driven by a loop: something to wait for, a
//! way to ask what has happened, and a place for messages that were decided on before it said stop.

use crate::order::may_be_lost;
use resoa_protocol::lhp::{Connection, Handed, Indication, LastHop};
use rustix::fd::BorrowedFd;
use std::collections::VecDeque;
use std::time::Instant;

/// A carrier that a loop can wait for.
pub trait Carrier: LastHop {
    /// Readable whenever [`poll`](Self::poll) has something to tell.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// What has happened since this was last asked, in order. Does not block.
    fn poll(&mut self, happened: &mut Vec<(Connection, Indication)>);

    /// What is handed over from now on may wait for [`flush`](Self::flush), and goes together then:
    /// one segment, record or packet for what a pass of a loop says, and not one for each message
    /// (C107). It does not wait for a time, and a pass that says much is not held up by that.
    fn gather(&mut self) {}

    /// Sends what has waited, and nothing waits any more.
    fn flush(&mut self) {}
}

/// Octets that wait for [`flush`](Carrier::flush) at most: what is longer fills segments, records
/// and packets in any case.
pub(crate) const GATHERED: usize = 32 << 10;

/// The messages of one connection that the carrier does not take at the moment. A machine is told
/// to stop when one message was the last that is taken; those that it had written behind that one
/// are here. Those that may be lost are handed over as such, with the time that they have waited.
#[derive(Debug, Default)]
pub struct Outbox {
    off: bool,
    waiting: VecDeque<Waiting>,
}

/// A message, and since when it waits if it may be lost.
#[derive(Debug)]
struct Waiting {
    message: Vec<u8>,
    since: Option<Instant>,
}

impl Waiting {
    fn new(message: Vec<u8>) -> Self {
        let since = may_be_lost(&message).then(Instant::now);
        Self { message, since }
    }

    fn hand_over(&self, carrier: &mut (impl LastHop + ?Sized), connection: Connection) -> Handed {
        match self.since {
            Some(since) => carrier.send_or_lose(connection, &self.message, since.elapsed()),
            None => carrier.send(connection, &self.message),
        }
    }
}

impl Outbox {
    /// Hands over a message, or keeps it. Whether the machine is to be told to stop.
    #[must_use = "the machine would write messages that are kept here without a bound"]
    pub fn send(
        &mut self,
        carrier: &mut (impl LastHop + ?Sized),
        connection: Connection,
        message: Vec<u8>,
    ) -> bool {
        let message = Waiting::new(message);
        if self.off {
            self.waiting.push_back(message);
            return false;
        }
        self.off = message.hand_over(carrier, connection) == Handed::TakenLast;
        self.off
    }

    /// Messages that are kept.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The carrier takes messages again. Whether the machine may go on: not if those that were kept
    /// have filled it.
    #[must_use = "the machine is still stopped"]
    pub fn on(&mut self, carrier: &mut (impl LastHop + ?Sized), connection: Connection) -> bool {
        self.off = false;
        while !self.off
            && let Some(message) = self.waiting.pop_front()
        {
            self.off = message.hand_over(carrier, connection) == Handed::TakenLast;
        }
        !self.off
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use resoa_protocol::lhp::{Provider, Service, Statistics};
    use std::time::Duration;

    const LINK: Connection = Connection(1);
    const WRITE: [u8; 8] = [0x13, 3, 0, 0, 0, 0, 1, 9];
    const DATAGRAM: [u8; 9] = [0x13, 4, 0, 0, 0, 0, 1, 0, 9];

    /// Takes one message at a time, and remembers it with what it was told of its age.
    #[derive(Default)]
    struct Slow(Vec<(Vec<u8>, Option<Duration>)>);

    impl LastHop for Slow {
        type Error = ();

        fn register(&mut self, _: Service, _: Provider) -> Result<Connection, ()> {
            Ok(LINK)
        }
        fn passive(&mut self, _: Connection) -> Result<(), ()> {
            Ok(())
        }
        fn connect(&mut self, _: Connection, _: &[u8]) {}
        fn accept(&mut self, _: Connection) {}
        fn close(&mut self, _: Connection) {}
        fn reset(&mut self, _: Connection) {}
        fn send(&mut self, _: Connection, message: &[u8]) -> Handed {
            self.0.push((message.to_vec(), None));
            Handed::TakenLast
        }
        fn send_or_lose(&mut self, _: Connection, message: &[u8], waited: Duration) -> Handed {
            self.0.push((message.to_vec(), Some(waited)));
            Handed::TakenLast
        }
        fn receive(&mut self, _: Connection, _: bool) {}
        fn statistics(&self, _: Connection) -> Statistics {
            crate::stage::NOTHING_KNOWN
        }
    }

    /// C26, C91: in order, one after the other; and of those that may be lost the carrier is told
    /// how long they have waited.
    #[test]
    fn what_waits_gets_older() {
        const WAIT: Duration = Duration::from_millis(20);
        let (mut carrier, mut outbox) = (Slow::default(), Outbox::default());
        assert!(outbox.send(&mut carrier, LINK, DATAGRAM.to_vec()), "it was the last that is taken");
        for message in [&WRITE[..], &DATAGRAM, &WRITE] {
            assert!(!outbox.send(&mut carrier, LINK, message.to_vec()));
        }
        assert_eq!(outbox.waiting(), 3);
        std::thread::sleep(WAIT);
        assert_eq!([(); 3].map(|()| outbox.on(&mut carrier, LINK)), [false; 3]);
        assert!(outbox.on(&mut carrier, LINK) && outbox.waiting() == 0);
        let messages: Vec<_> = carrier.0.iter().map(|(message, _)| &message[..]).collect();
        assert_eq!(messages, [&DATAGRAM[..], &WRITE, &DATAGRAM, &WRITE]);
        let ages: Vec<_> = carrier.0.iter().map(|(_, age)| *age).collect();
        assert!(matches!(ages[..], [Some(_), None, Some(age), None] if age >= WAIT), "{ages:?}");
    }
}
