//! What an event loop needs to drive a [`LastHop`]: a file descriptor to wait for, a function that
//! returns what has happened, and a queue for messages that were written before the carrier said
//! stop.

use crate::order::may_be_lost;
use resoa_protocol::lhp::{Connection, Handed, Indication, LastHop};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::BorrowedFd;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A carrier that an event loop can wait for.
pub trait Carrier: LastHop {
    /// Returns a file descriptor that is readable whenever packets have come that
    /// [`poll`](Self::poll) processes.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Returns when [`poll`](Self::poll) has something to do although the file descriptor does not
    /// become readable; `None` means never. Every call can change it.
    fn deadline(&self) -> Option<Instant>;

    /// Appends everything that has happened since the last call, in order. Does not block.
    fn poll(&mut self, happened: &mut Vec<(Connection, Indication)>);

    /// Collects messages from now on until [`flush`](Self::flush), so that all messages of one loop
    /// iteration go into one segment, record or packet instead of one each (C107).
    ///
    /// Collecting waits for no timer, and large amounts are sent at once.
    fn gather(&mut self) {}

    /// Sends the collected messages, and ends collecting.
    fn flush(&mut self) {}
}

/// Waits until one of the carriers has something to do, at most for `longest`, and returns whether
/// one has.
pub fn wait_for<C: Carrier + ?Sized>(carriers: &[&C], longest: Duration) -> bool {
    let now = Instant::now();
    let left = carriers.iter().filter_map(|carrier| carrier.deadline());
    let left = left.map(|due| due.saturating_duration_since(now)).min();
    // A longer time might not fit the type, and callers wait again.
    let longest = longest.min(Duration::from_hours(1));
    let wait = left.unwrap_or(longest).min(longest);
    let mut polled: Vec<_> = carriers
        .iter()
        .map(|carrier| PollFd::from_borrowed_fd(carrier.descriptor(), PollFlags::IN))
        .collect();
    let timeout = Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: wait.subsec_nanos().into() };
    // An interrupted wait counts as one that has ended.
    let is_readable = poll(&mut polled, Some(&timeout)).is_ok_and(|ready| ready > 0);
    is_readable || left.is_some_and(|left| left <= longest)
}

/// Most bytes that wait for [`flush`](Carrier::flush). More than this fills segments, records and
/// packets anyway.
pub(crate) const GATHERED: usize = 32 << 10;

/// Queue of one connection for messages that the carrier does not take at the moment.
///
/// The state machine above is told to stop when the carrier has taken its last message. Messages
/// that it had already written behind that one wait here. When a message that may be lost is handed
/// over, the carrier is told how long it has waited here.
#[derive(Debug, Default)]
pub struct Outbox {
    off: bool,
    waiting: VecDeque<Waiting>,
}

/// A message and, if it may be lost, since when it waits.
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
    /// Hands a message over, or queues it. Returns whether the state machine must be told to stop.
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

    /// Returns the number of queued messages.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Notes that the carrier takes messages again, and hands over the queued ones. Returns whether
    /// the state machine may go on: not if the queued messages have filled the carrier.
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

    /// Takes one message at a time, and records it with the age that it was given.
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

    /// C26, C91: messages keep their order, and the carrier is told how long each message that may
    /// be lost has waited.
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
