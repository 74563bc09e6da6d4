//! Names of hosts and services, looked up apart from the event loop, because `getaddrinfo` waits
//! for name servers.
//!
//! The look-ups run in a few threads, started when needed; each client may occupy only a share of
//! them (`desk`). A look-up that takes too long is answered without its thread. A thread that hangs
//! is not replaced.

mod desk;

use crate::sys;
use desk::Desk;
use resoa_protocol::Xid;
use resoa_protocol::lhp::{Connection, Identity};
use resoa_protocol::message::{Family, Query, Reply, Unresolved};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Maximum threads.
const THREADS: usize = 16;
/// Maximum threads that one client occupies at a time: its look-ups may hang in all of them.
const SHARE: usize = 4;
/// Maximum look-ups of all clients, waiting or running.
const WAITING: usize = 256;
/// Maximum look-ups of one client, waiting or running.
const WAITING_OF_ONE: usize = 16;
/// Maximum addresses in an answer: more than any resolver returns, and they fit into a message.
const ADDRESSES: usize = 64;
/// Time after which the answer is EAI_AGAIN. The resolver itself waits 10 s per name server.
pub(crate) const PATIENCE: Duration = Duration::from_secs(12);

/// A look-up and its requester.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) connection: Connection,
    /// The client of this connection.
    pub(crate) who: Identity,
    pub(crate) xid: Xid,
    pub(crate) query: Query,
}

#[derive(Debug, Default)]
struct Work {
    desk: Desk,
    found: Vec<(Asked, Reply)>,
    idle: usize,
    threads: usize,
    over: bool,
}

#[derive(Debug)]
struct Shared {
    work: Mutex<Work>,
    more: Condvar,
    bell: OwnedFd,
    look_up: fn(&Query) -> Reply,
}

/// Resolver of names; see the [module](self).
#[derive(Debug)]
pub(crate) struct Names {
    shared: Arc<Shared>,
    /// Look-ups without an answer and the times at which they are given up, in the order of their
    /// requests.
    pending: VecDeque<(Duration, Asked)>,
}

impl Shared {
    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut work = self.work();
        while !work.over {
            let Some(asked) = work.desk.next(SHARE) else {
                work.idle += 1;
                work = self.more.wait(work).unwrap_or_else(PoisonError::into_inner);
                work.idle -= 1;
                continue;
            };
            drop(work);
            let reply = (self.look_up)(&asked.query);
            work = self.work();
            work.desk.done(&asked.who);
            work.found.push((asked, reply));
            // If the counter is full, the descriptor is readable already.
            let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
        }
    }
}

impl Names {
    /// Uses the resolver of this host.
    ///
    /// # Errors
    /// If the kernel has no file descriptor left.
    pub(crate) fn new() -> io::Result<Self> {
        Self::by(resolve)
    }

    fn by(look_up: fn(&Query) -> Reply) -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let shared = Shared { work: Mutex::default(), more: Condvar::new(), bell, look_up };
        Ok(Self { shared: Arc::new(shared), pending: VecDeque::new() })
    }

    /// Descriptor that is readable when [`found`](Self::found) returns something.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.shared.bell.as_fd()
    }

    /// Requests a look-up. Returns false if there is no room for it.
    pub(crate) fn ask(&mut self, asked: Asked, now: Duration) -> bool {
        let of_this_one = self.pending.iter().filter(|(_, pending)| pending.who == asked.who).count();
        if self.pending.len() >= WAITING || of_this_one >= WAITING_OF_ONE {
            return false;
        }
        self.pending.push_back((now + PATIENCE, asked.clone()));
        let mut work = self.shared.work();
        work.desk.put(asked);
        if work.idle < work.desk.ready(SHARE) && work.threads < THREADS {
            let shared = Arc::clone(&self.shared);
            let thread = thread::Builder::new().name("names".to_owned()).stack_size(256 << 10);
            // If no thread can be started, an existing one does the look-up, or it times out.
            if thread.spawn(move || shared.run()).is_ok() {
                work.threads += 1;
            }
        }
        self.shared.more.notify_one();
        true
    }

    /// Drops the look-ups of a client that has disconnected. Those that run already continue,
    /// without an answer.
    pub(crate) fn forget(&mut self, connection: Connection) {
        self.pending.retain(|(_, pending)| pending.connection != connection);
        self.shared.work().desk.forget(connection);
    }

    /// Time at which [`found`](Self::found) returns a timeout, for which the descriptor does not
    /// become readable.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.pending.front().map(|&(deadline, _)| deadline)
    }

    /// Returns the answers since the last call, and timeouts for look-ups that took too long.
    pub(crate) fn found(&mut self, now: Duration) -> Vec<(Asked, Reply)> {
        let _ = rustix::io::read(&self.shared.bell, &mut [0; 8]);
        let mut work = self.shared.work();
        let mut found = std::mem::take(&mut work.found);
        found.retain(|(asked, _)| {
            let place = self.pending.iter().position(|(_, pending)| pending == asked);
            // A look-up that is not pending any more was given up.
            place.is_some_and(|place| self.pending.remove(place).is_some())
        });
        while let Some((_, asked)) = self.pending.pop_front_if(|(deadline, _)| *deadline <= now) {
            work.desk.give_up(&asked);
            found.push((asked, Reply::Unresolved(Unresolved::Again)));
        }
        found
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        self.shared.work().over = true;
        self.shared.more.notify_all();
    }
}

fn resolve(query: &Query) -> Reply {
    match query {
        Query::Host { host, service, family } => match sys::addresses(host, service, *family) {
            Ok(mut addresses) => {
                addresses.truncate(ADDRESSES);
                Reply::Hosts(addresses)
            }
            Err(code) => Reply::Unresolved(unresolved(code)),
        },
        Query::Address(address) => match sys::name(*address) {
            Ok((host, service)) if host.len() <= 255 && service.len() <= 255 => Reply::Name { host, service },
            Ok(_) => Reply::Unresolved(Unresolved::Fail),
            Err(code) => Reply::Unresolved(unresolved(code)),
        },
    }
}

/// Converts a code of `getaddrinfo` into that of the protocol.
fn unresolved(code: i32) -> Unresolved {
    match code {
        libc::EAI_NONAME | libc::EAI_NODATA | EAI_ADDRFAMILY => Unresolved::NoName,
        libc::EAI_AGAIN => Unresolved::Again,
        libc::EAI_SERVICE => Unresolved::NoService,
        _ => Unresolved::Fail,
    }
}

/// The host has no address of this family (glibc; not in the libc crate).
const EAI_ADDRFAMILY: i32 = -9;

/// Answers a query that consists of numbers, without a resolver.
pub(crate) fn number(query: &Query) -> Option<Reply> {
    let Query::Host { host, service, family } = query else { return None };
    let host: std::net::IpAddr = host.parse().ok()?;
    let port: u16 = if service.is_empty() { 0 } else { service.parse().ok()? };
    let fits = family.is_none_or(|family| (family == Family::V4) == host.is_ipv4());
    fits.then(|| Reply::Hosts(vec![std::net::SocketAddr::new(host, port)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;
    use std::time::Instant;

    fn host(host: &str, service: &str, family: Option<Family>) -> Query {
        Query::Host { host: host.to_owned(), service: service.to_owned(), family }
    }

    fn at(texts: &[&str]) -> Reply {
        Reply::Hosts(texts.iter().map(|text| text.parse().expect("an address with a port")).collect())
    }

    /// C49: names and services are found as `getaddrinfo` finds them in this host's files, with the
    /// same errors.
    #[test]
    fn names_of_this_host() {
        assert_eq!(resolve(&host("localhost", "http", Some(Family::V4))), at(&["127.0.0.1:80"]));
        assert_eq!(
            resolve(&host("127.0.0.1", "tftp", None)),
            at(&["127.0.0.1:69"]),
            "a service of datagrams alone"
        );
        assert_eq!(resolve(&host("", "8080", Some(Family::V4))), at(&["0.0.0.0:8080"]));
        let reason = |query| match resolve(&query) {
            Reply::Unresolved(reason) => reason,
            other => panic!("{other:?}"),
        };
        assert_eq!(reason(host("localhost", "no-such-service", None)), Unresolved::NoService);
        assert_eq!(reason(host("127.0.0.1", "", Some(Family::V6))), Unresolved::NoName);
        assert_eq!(reason(host("a\0b", "", None)), Unresolved::NoName);
        let address: SocketAddr = "127.0.0.1:80".parse().expect("an address with a port");
        let name = Reply::Name { host: "localhost".to_owned(), service: "http".to_owned() };
        assert_eq!(resolve(&Query::Address(address)), name);
    }

    /// Numbers need no resolver.
    #[test]
    fn numbers_are_found_at_once() {
        assert_eq!(number(&host("::1", "80", None)), Some(at(&["[::1]:80"])));
        assert_eq!(number(&host("::1", "80", Some(Family::V4))), None);
        assert_eq!(number(&host("localhost", "80", None)), None);
    }

    fn asked(who: u8, name: &str, xid: u32) -> Asked {
        let (connection, who) = (Connection(who.into()), Identity(vec![who]));
        Asked { connection, who, xid: Xid(xid), query: host(name, "", None) }
    }

    /// Returns a resolver that hangs for one name and answers others at once.
    fn hanging() -> Names {
        let look_up = |query: &Query| {
            if *query == host("slow", "", None) {
                loop {
                    thread::park();
                }
            }
            Reply::Done
        };
        Names::by(look_up).expect("descriptors")
    }

    fn until_found(names: &mut Names) -> Vec<(Asked, Reply)> {
        let begin = Instant::now();
        let mut found = Vec::new();
        while found.is_empty() && begin.elapsed() < Duration::from_mins(1) {
            found = names.found(Duration::from_secs(1));
            thread::yield_now();
        }
        found
    }

    /// The resolver runs apart from the event loop, and look-ups without an answer in time are
    /// answered by a timeout. If a client requests names that hang, and connects again to request
    /// more, only that client has to wait.
    #[test]
    fn a_resolver_that_hangs() {
        let mut names = hanging();
        for xid in 0..WAITING_OF_ONE as u32 {
            assert!(names.ask(asked(1, "slow", xid), Duration::ZERO));
        }
        assert!(!names.ask(asked(1, "slow", 100), Duration::ZERO), "no more of one client");
        // Look-ups that have not started would be forgotten completely, and leave their threads to
        // others.
        while names.shared.work().desk.running(&Identity(vec![1])) < SHARE {
            thread::yield_now();
        }
        names.forget(Connection(1));
        assert_eq!(names.deadline(), None);
        for xid in 0..WAITING_OF_ONE as u32 {
            let again = Asked { connection: Connection(10), ..asked(1, "slow", xid) };
            assert!(names.ask(again, Duration::ZERO));
        }
        assert!(names.ask(asked(2, "quick", 9), Duration::from_secs(1)));
        assert_eq!(until_found(&mut names), [(asked(2, "quick", 9), Reply::Done)]);
        let given_up = names.found(PATIENCE);
        assert_eq!(given_up.len(), WAITING_OF_ONE);
        assert!(given_up.iter().all(|(_, reply)| *reply == Reply::Unresolved(Unresolved::Again)));
        assert_eq!(names.deadline(), None);
        // Look-ups that the client has started keep running and use up its share.
        assert!(names.ask(asked(1, "quick", 9), PATIENCE));
        assert!(names.ask(asked(3, "quick", 9), PATIENCE));
        assert_eq!(until_found(&mut names), [(asked(3, "quick", 9), Reply::Done)]);
    }

    /// A slow look-up does not delay others of the same client.
    #[test]
    fn some_at_a_time() {
        let mut names = hanging();
        for xid in 1..SHARE as u32 {
            assert!(names.ask(asked(1, "slow", xid), Duration::ZERO));
        }
        for xid in 10..12 {
            assert!(names.ask(asked(1, "quick", xid), Duration::ZERO));
            assert_eq!(until_found(&mut names), [(asked(1, "quick", xid), Reply::Done)]);
        }
    }

    /// The number of look-ups is bounded, however many clients there are.
    #[test]
    fn look_ups_are_bounded() {
        let mut names = hanging();
        for number in 0..WAITING as u32 {
            let who = (number / WAITING_OF_ONE as u32) as u8;
            assert!(names.ask(asked(who, "slow", number), Duration::ZERO));
        }
        assert!(!names.ask(asked(100, "slow", 1000), Duration::ZERO));
        assert_eq!(names.found(PATIENCE).len(), WAITING);
        assert!(names.shared.work().threads <= THREADS);
    }
}
