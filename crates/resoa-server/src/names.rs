//! Names of hosts and services, looked up beside the loop: `getaddrinfo` waits for servers of names, and nothing else should.
//!
//! A few threads, made when there is something to do. What takes too long is answered without them; a thread that hangs is not replaced.

use crate::sys;
use resoa_protocol::Xid;
use resoa_protocol::lhp::Connection;
use resoa_protocol::message::{Family, Query, Reply, Unresolved};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Threads at most.
const THREADS: usize = 4;
/// Look-ups of all clients that wait or are under way, at most.
const WAITING: usize = 256;
/// Addresses of one answer, at most: a message has room for more than any resolver gives.
const ADDRESSES: usize = 64;
/// After so long the answer is EAI_AGAIN. The resolver's own patience is 10 s a server.
pub(crate) const PATIENCE: Duration = Duration::from_secs(12);

/// A look-up, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) connection: Connection,
    pub(crate) xid: Xid,
    pub(crate) query: Query,
}

#[derive(Debug, Default)]
struct Desk {
    asked: VecDeque<Asked>,
    found: Vec<(Asked, Reply)>,
    idle: usize,
    threads: usize,
    over: bool,
}

#[derive(Debug)]
struct Shared {
    desk: Mutex<Desk>,
    work: Condvar,
    bell: OwnedFd,
    look_up: fn(&Query) -> Reply,
}

/// Looks names up; see the [module](self).
#[derive(Debug)]
pub(crate) struct Names {
    shared: Arc<Shared>,
    /// Those without an answer, in the order of asking, and when they will be given up.
    pending: VecDeque<(Duration, Asked)>,
}

impl Shared {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut desk = self.desk();
        while !desk.over {
            let Some(asked) = desk.asked.pop_front() else {
                desk.idle += 1;
                desk = self.work.wait(desk).unwrap_or_else(PoisonError::into_inner);
                desk.idle -= 1;
                continue;
            };
            drop(desk);
            let reply = (self.look_up)(&asked.query);
            desk = self.desk();
            desk.found.push((asked, reply));
            // If the counter is full it has rung.
            let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
        }
    }
}

impl Names {
    /// By the resolver of this host.
    ///
    /// # Errors
    /// If the kernel has no descriptor left.
    pub(crate) fn new() -> io::Result<Self> {
        Self::by(resolve)
    }

    fn by(look_up: fn(&Query) -> Reply) -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let shared = Shared { desk: Mutex::default(), work: Condvar::new(), bell, look_up };
        Ok(Self { shared: Arc::new(shared), pending: VecDeque::new() })
    }

    /// Readable when [`found`](Self::found) has something.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.shared.bell.as_fd()
    }

    /// Asks; whether there is room for it.
    pub(crate) fn ask(&mut self, asked: Asked, now: Duration) -> bool {
        let mut desk = self.shared.desk();
        if self.pending.len() >= WAITING {
            return false;
        }
        self.pending.push_back((now + PATIENCE, asked.clone()));
        desk.asked.push_back(asked);
        if desk.idle < desk.asked.len() && desk.threads < THREADS {
            let shared = Arc::clone(&self.shared);
            let thread = thread::Builder::new().name("names".to_owned()).stack_size(256 << 10);
            // Without one more, those that there are do it, or it takes too long.
            if thread.spawn(move || shared.work()).is_ok() {
                desk.threads += 1;
            }
        }
        self.shared.work.notify_one();
        true
    }

    /// When [`found`](Self::found) has something without having rung.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.pending.front().map(|&(deadline, _)| deadline)
    }

    /// What was found since this was last asked, and what took too long.
    pub(crate) fn found(&mut self, now: Duration) -> Vec<(Asked, Reply)> {
        let _ = rustix::io::read(&self.shared.bell, &mut [0; 8]);
        let mut desk = self.shared.desk();
        let mut found = std::mem::take(&mut desk.found);
        found.retain(|(asked, _)| {
            let place = self.pending.iter().position(|(_, pending)| pending == asked);
            // Without one it was given up.
            place.is_some_and(|place| self.pending.remove(place).is_some())
        });
        while let Some((_, asked)) = self.pending.pop_front_if(|(deadline, _)| *deadline <= now) {
            desk.asked.retain(|waiting| *waiting != asked);
            found.push((asked, Reply::Unresolved(Unresolved::Again)));
        }
        found
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        self.shared.desk().over = true;
        self.shared.work.notify_all();
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

/// Codes of `getaddrinfo` as those of the protocol.
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

/// What is found without asking anybody: numbers.
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

    /// C49: names and services as `getaddrinfo` finds them in the files of this host, and its reasons.
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

    /// Numbers need nobody.
    #[test]
    fn numbers_are_found_at_once() {
        assert_eq!(number(&host("::1", "80", None)), Some(at(&["[::1]:80"])));
        assert_eq!(number(&host("::1", "80", Some(Family::V4))), None);
        assert_eq!(number(&host("localhost", "80", None)), None);
    }

    /// The resolver is asked beside the loop, and what it does not answer in time is answered without it.
    #[test]
    fn a_resolver_that_hangs() {
        let mut names = Names::by(|query| {
            if *query == host("slow", "", None) {
                loop {
                    thread::park();
                }
            }
            Reply::Done
        })
        .expect("descriptors");
        let asked =
            |name: &str, xid| Asked { connection: Connection(1), xid: Xid(xid), query: host(name, "", None) };
        // All threads but one hang.
        for xid in 0..THREADS as u32 - 1 {
            assert!(names.ask(asked("slow", xid), Duration::ZERO));
        }
        assert!(names.ask(asked("quick", 9), Duration::from_secs(1)));
        let begin = Instant::now();
        let mut found = Vec::new();
        while found.is_empty() && begin.elapsed() < Duration::from_mins(1) {
            found = names.found(Duration::from_secs(1));
            thread::yield_now();
        }
        assert_eq!(found, [(asked("quick", 9), Reply::Done)]);
        let given_up = names.found(PATIENCE);
        assert_eq!(given_up.len(), THREADS - 1);
        assert!(given_up.iter().all(|(_, reply)| *reply == Reply::Unresolved(Unresolved::Again)));
        assert_eq!(names.deadline(), None);
    }

    /// No more than there is room for.
    #[test]
    fn look_ups_are_bounded() {
        let mut names = Names::by(|_| {
            loop {
                thread::park();
            }
        })
        .expect("descriptors");
        let asked = |xid| Asked { connection: Connection(1), xid: Xid(xid), query: host("slow", "", None) };
        for xid in 0..WAITING as u32 {
            assert!(names.ask(asked(xid), Duration::ZERO));
        }
        assert!(!names.ask(asked(1000), Duration::ZERO));
        assert_eq!(names.found(PATIENCE).len(), WAITING);
    }
}
