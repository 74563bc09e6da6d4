//! The agent of this process: requests to it, and its answers as results of calls.

use crate::{confined, errno, real};
use libc::c_int;
use resoa_calls::{Agent, Answered, CallError, Request, Response, SHORT, Started};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::net::{Shutdown, shutdown};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Null: not looked up yet; [`absent`]: there is no agent.
static AGENT: AtomicPtr<Agent> = AtomicPtr::new(ptr::null_mut());

fn absent() -> *mut Agent {
    ptr::dangling_mut()
}

/// Returns the agent that the environment named when the library was loaded.
pub fn known() -> Option<&'static Agent> {
    let mut known = AGENT.load(Ordering::Acquire);
    if known.is_null() {
        let found = Agent::of_environment().map_or(absent(), |agent| Box::into_raw(Box::new(agent)));
        // A thread that loses the race leaks a few bytes. A lock could be held across a `fork`.
        known = match AGENT.compare_exchange(ptr::null_mut(), found, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => found,
            Err(first) => first,
        };
    }
    // SAFETY: it is neither null nor absent, so `Box::into_raw` made it, and it is never freed.
    (known != absent()).then(|| unsafe { &*known })
}

/// Returns the agent if it has already been looked up.
///
/// Calls that also work on files use this: an allocator may read a file when it is first used, and
/// the look-up would ask it for memory in the middle of that.
pub fn if_looked_for() -> Option<&'static Agent> {
    if AGENT.load(Ordering::Acquire).is_null() { None } else { known() }
}

/// Sends a request and waits for the answer, regardless of signals. For calls that return soon and
/// for calls that must not be abandoned half-way.
///
/// Bytes of the answer are stored in `place`, which has [`SHORT`] bytes, or more if the value may
/// be longer. So this does not allocate: a signal handler may have interrupted the allocator.
///
/// # Errors
/// The call's own; ENETDOWN without an agent; EMFILE or ENFILE if there is no descriptor for the
/// connection to the agent.
pub fn ask<'a>(
    request: &Request,
    descriptor: Option<BorrowedFd>,
    place: &'a mut [u8],
) -> Result<Answered<'a>, c_int> {
    answer(waited(start(request, descriptor)?), place)
}

/// As [`ask`], for answers of any length; this allocates.
pub fn ask_at_length(request: &Request) -> Result<Response, c_int> {
    match waited(start(request, None)?).answer().map_err(|error| error.number())? {
        (Response::Failed(number), _) => Err(number),
        (response, _) => Ok(response),
    }
}

/// Waits for an answer, regardless of signals.
fn waited(started: Started) -> Started {
    let is_interrupted =
        || poll(&mut [PollFd::new(&started, PollFlags::IN)], None) == Err(rustix::io::Errno::INTR);
    while is_interrupted() {}
    started
}

/// As [`ask`], for calls that a signal interrupts (EINTR). Returns whether the data of the request
/// was sent. A handler with SA_RESTART interrupts
/// only calls that have a time limit (signal(7)).
pub fn ask_interruptibly(
    request: &Request,
    descriptor: Option<BorrowedFd>,
    has_limit: bool,
) -> Result<bool, c_int> {
    let started = start(request, descriptor)?;
    let connection = started.as_fd().as_raw_fd();
    // These are the C library's functions, in which a thread may be cancelled as in `connect` and
    // `close`. Unwinding then closes the connection. The kernel restarts `recv`, but never `poll`.
    let mut octet = 0u8;
    let mut waiting = libc::pollfd { fd: connection, events: libc::POLLIN, revents: 0 };
    // SAFETY: the descriptor is ours, and there is room for the result.
    let is_interrupted = unsafe {
        if has_limit {
            real::poll(&raw mut waiting, 1, -1) < 0
        } else {
            real::recv(connection, (&raw mut octet).cast(), 1, libc::MSG_PEEK) < 0
                && errno::get() == libc::EINTR
        }
    };
    if is_interrupted {
        return give_up(started);
    }
    answer(started, &mut [0; SHORT]).map(|(response, _)| matches!(response, Response::Sent))
}

/// Stops waiting for a call's result, and waits only until the agent knows that. The requested
/// operation then continues in the background, and `poll` reports its result on the descriptor. The
/// answer may have arrived meanwhile.
fn give_up(started: Started) -> Result<bool, c_int> {
    // The connection exists as long as the call does.
    let _ = shutdown(&started, Shutdown::Write);
    match waited(started).answer_within(&mut [0; SHORT]) {
        Ok((Response::Failed(number), _)) => Err(number),
        Ok((response, _)) => Ok(matches!(response, Response::Sent)),
        // If the call was interrupted before it had a result, the agent only closes the connection.
        Err(_) => Err(libc::EINTR),
    }
}

fn start(request: &Request, descriptor: Option<BorrowedFd>) -> Result<Started<'static>, c_int> {
    start_at(known().ok_or(libc::ENETDOWN)?, request, descriptor)
}

fn start_at<'a>(
    agent: &'a Agent,
    request: &Request,
    descriptor: Option<BorrowedFd>,
) -> Result<Started<'a>, c_int> {
    let start = || loop {
        match agent.start(request, descriptor) {
            // This happens before the request is sent, so the call has had no effect.
            Err(CallError::Interrupted) => {}
            started => return started.map_err(|error| error.number()),
        }
    };
    match start() {
        Err(libc::EMFILE) => with_one_more(start),
        started => started,
    }
}

/// Runs `ask`, which needs a descriptor number, with the limit raised by one because the program
/// has no number left. Natively, most socket calls need no number.
///
/// # Errors
/// EMFILE if the limit cannot be raised.
fn with_one_more<T>(ask: impl FnOnce() -> Result<T, c_int>) -> Result<T, c_int> {
    let limit = getrlimit(Resource::Nofile);
    let current = limit.current.filter(|_| !confined::is_confined()).ok_or(libc::EMFILE)?;
    let current = current.checked_add(1).ok_or(libc::EMFILE)?;
    // Above the hard limit this needs a privilege.
    let raised = Rlimit { current: Some(current), maximum: limit.maximum.map(|most| most.max(current)) };
    setrlimit(Resource::Nofile, raised).map_err(|_| libc::EMFILE)?;
    let outcome = ask();
    // Lowering it again does not.
    let _ = setrlimit(Resource::Nofile, limit);
    outcome
}

fn answer<'a>(started: Started, place: &'a mut [u8]) -> Result<Answered<'a>, c_int> {
    match started.answer_within(place).map_err(|error| error.number())? {
        (Response::Failed(number), _) => Err(number),
        answer => Ok(answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::room;
    use crate::program::{Here, given as given_by};
    use resoa_calls::{SocketId, address, datagram, receive_request, respond, sender};
    use resoa_protocol::message::{Ancillary, Operation};
    use rustix::net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept, bind, listen, socket_with,
    };
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::cell::Cell;
    use std::net::SocketAddr;
    use std::thread;

    /// The system's allocator, with a count of this thread's allocations.
    struct Counted;

    thread_local! {
        static ASKED: Cell<usize> = const { Cell::new(0) };
    }

    // SAFETY: it is the system's allocator.
    unsafe impl GlobalAlloc for Counted {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            ASKED.set(ASKED.get() + 1);
            // SAFETY: as the caller promises.
            unsafe { System.alloc(layout) }
        }

        unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
            // SAFETY: as the caller promises.
            unsafe { System.dealloc(place, layout) }
        }
    }

    #[global_allocator]
    static ALLOCATOR: Counted = Counted;

    /// Returns the number of allocations of a step.
    fn asks(step: impl FnOnce()) -> usize {
        let before = ASKED.get();
        step();
        ASKED.get() - before
    }

    /// Starts an agent that answers each request with `answer`.
    fn agent(folder: &tempfile::TempDir, answer: fn(&Request) -> Response) -> Agent {
        let agent = Agent::at(folder.path().join("agent"));
        let calls = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .expect("descriptors");
        bind(&calls, &SocketAddrUnix::new(agent.path()).expect("short")).expect("free");
        listen(&calls, 8).expect("bound");
        thread::spawn(move || {
            while let Ok(connection) = accept(&calls) {
                poll(&mut [PollFd::new(&connection, PollFlags::IN)], None).expect("a descriptor");
                if let Ok(Some((request, _))) = receive_request(&connection) {
                    let _ = respond(&connection, &answer(&request), None);
                }
            }
        });
        agent
    }

    /// A signal handler may have interrupted the allocator. POSIX lets handlers make these calls
    /// (`send`, `sendto`, `recv`, `connect`, `close`, `getsockopt` ...), so they must not allocate.
    #[test]
    fn calls_ask_for_no_memory() {
        const HERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 80);
        let folder = tempfile::tempdir().expect("a folder");
        let agent = agent(&folder, |request| match request {
            Request::Operation { operation: Operation::GetOption { .. }, .. } => {
                Response::Value(104_i32.to_ne_bytes().to_vec())
            }
            Request::PeerName(_) => Response::Address(HERE),
            Request::Operation { operation: Operation::Bind(_), .. } => Response::Failed(libc::EADDRINUSE),
            _ => Response::Done,
        });
        let socket = SocketId(7);
        let name = libc::SO_ERROR;
        let requests = [
            Request::operation(socket, Operation::GetOption { level: libc::SOL_SOCKET, name, length: 4 }),
            Request::PeerName(socket),
            Request::operation(socket, Operation::Bind(HERE)),
            Request::Operation { socket, operation: Operation::Connect(HERE), nonblocking: true },
            Request::Shutdown { socket, how: libc::SHUT_WR },
            Request::Closed(socket),
        ];
        for request in &requests {
            let count = asks(|| {
                let started = start_at(&agent, request, Some(rustix::stdio::stdin())).expect("it is there");
                let mut place = [0; SHORT];
                match (answer(waited(started), &mut place), request) {
                    (
                        Ok((Response::Value(value), _)),
                        Request::Operation { operation: Operation::GetOption { .. }, .. },
                    ) => {
                        assert_eq!(value, 104_i32.to_ne_bytes());
                    }
                    (Ok((Response::Address(HERE), _)), Request::PeerName(_))
                    | (Err(libc::EADDRINUSE), Request::Operation { operation: Operation::Bind(_), .. })
                    | (Ok((Response::Done, _)), _) => {}
                    (other, _) => panic!("{other:?}"),
                }
            });
            assert_eq!(count, 0, "{request:?}");
        }
        let nobody = Agent::at("/nowhere/agent");
        let count = asks(|| assert_eq!(start_at(&nobody, &requests[0], None).err(), Some(libc::ENETDOWN)));
        assert_eq!(count, 0);
        let given = address::written(HERE);
        let (mut taken, mut length) = ([0u8; 16], 16);
        let count = asks(|| {
            let read = given_by(given.as_ptr(), given.len() as libc::socklen_t).address(&Here);
            assert_eq!(read, Ok(Some(HERE)));
            assert_eq!(sender::destination(rustix::stdio::stdin(), &given), Ok(Some(HERE)));
            assert_eq!(room(taken.as_mut_ptr(), &raw mut length).give(&Here, HERE), Ok(()));
            let mut room = [0; datagram::FRONT];
            let front = datagram::said_in(HERE, &Ancillary::none(), &mut room);
            assert_eq!(datagram::split(front), Some((Some(HERE), Ancillary::none(), &b""[..])));
        });
        assert_eq!(count, 0);
        assert_eq!(&taken[..], &given[..]);
        assert_ne!(asks(|| drop(vec![0_u8; 9])), 0, "it counts");
    }
}
