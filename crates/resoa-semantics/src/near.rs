//! Context of a case: the far host, the address family, and functions that record observations.

use crate::far::{Far, Handle};
use crate::names;
use crate::sys::{self, Answer};
use std::fmt::Display;
use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// All events that `poll` can be asked for.
pub const ALL: i16 = libc::POLLIN | libc::POLLPRI | libc::POLLOUT | libc::POLLRDHUP;

/// Maximum time for an expected event. If it takes longer, the observation is that it did not
/// happen. On a machine with thirty other busy processes, a second is not enough.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Time for an event that is not waited for explicitly: a segment and its transport over the last
/// hop, on a machine that has nothing else to do.
pub const SETTLED: Duration = Duration::from_millis(150);

/// Maximum time by which other work on the machine extends [`SETTLED`].
const BUSY: Duration = Duration::from_secs(2);

/// Environment variable with the process identifiers of the hosts, separated by spaces.
pub const HOSTS: &str = "RESOA_SEMANTICS_HOSTS";

static SIGNALS: [AtomicUsize; 65] = [const { AtomicUsize::new(0) }; 65];

extern "C" fn count_signal(number: i32) {
    SIGNALS[number as usize].fetch_add(1, Ordering::Relaxed);
}

/// Counts a signal instead of its default action. With `restart`, calls that it interrupts are
/// restarted.
pub fn count_signals(number: i32, restart: bool) {
    let mut action = libc::sigaction {
        sa_sigaction: count_signal as extern "C" fn(i32) as usize,
        // SAFETY: all zeros is the empty set.
        sa_mask: unsafe { std::mem::zeroed() },
        sa_flags: if restart { libc::SA_RESTART } else { 0 },
        sa_restorer: None,
    };
    // SAFETY: the handler only adds to an atomic number.
    unsafe { libc::sigaction(number, &raw mut action, std::ptr::null_mut()) };
}

/// Context of a case.
pub struct Near {
    pub far: Far,
    /// `AF_INET` or `AF_INET6`.
    pub family: i32,
    /// Addresses of this host, as seen by the far one.
    own: [IpAddr; 2],
}

impl Near {
    pub fn new(far: Far, family: i32, own: [IpAddr; 2]) -> Self {
        for number in [libc::SIGPIPE, libc::SIGIO, libc::SIGURG] {
            count_signals(number, true);
        }
        Self { far, family, own }
    }

    /// Records an observation.
    pub fn say(&mut self, what: &str, value: impl Display) {
        self.line(&format!("{what}: {value}"));
    }

    /// Records a size or a time, which may differ between worlds by this factor in either
    /// direction.
    pub fn measure(&mut self, what: &str, value: u64, factor: f64) {
        self.line(&format!("{what} (within {factor}): {value}"));
    }

    #[expect(clippy::unused_self, reason = "observations belong to the case")]
    fn line(&self, text: &str) {
        let mut out = io::stdout().lock();
        let _ = writeln!(out, "{text}");
        let _ = out.flush();
    }

    /// Sends a command to the far host and records its answer.
    pub fn hear(&mut self, what: &str, command: &str) {
        let answer = self.far.ask(command);
        self.say(&format!("far {what}"), answer);
    }

    pub fn stream(&self) -> i32 {
        sys::socket(self.family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0).descriptor()
    }

    pub fn nonblocking(&self) -> i32 {
        sys::socket(self.family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0).descriptor()
    }

    pub fn datagram(&self) -> i32 {
        sys::socket(self.family, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0).descriptor()
    }

    /// Returns this host's address with a port.
    pub fn own(&self, port: u16) -> SocketAddr {
        SocketAddr::new(self.own[usize::from(self.family == libc::AF_INET6)], port)
    }

    /// Returns the unspecified address with a port.
    pub fn any(&self, port: u16) -> SocketAddr {
        if self.family == libc::AF_INET6 { ([0_u16; 8], port).into() } else { ([0_u8; 4], port).into() }
    }

    /// Returns a port of the far host without a listener.
    ///
    /// # Panics
    /// If there is none.
    pub fn closed_port(&mut self) -> SocketAddr {
        let answer = self.far.ask(&format!("closed {}", crate::far::version(self.family)));
        self.far.address(self.family, answer.parse().expect("a port"))
    }

    /// Returns a stream that is connected to the far host, and the far end.
    ///
    /// # Panics
    /// If the connection fails.
    pub fn connected(&mut self) -> (i32, Handle) {
        let fd = self.stream();
        (fd, self.connect(fd))
    }

    /// Connects a socket to the far host, and returns the far end.
    ///
    /// # Panics
    /// If the connection fails.
    pub fn connect(&mut self, fd: i32) -> Handle {
        let (listener, address) = self.far.listen(self.family, 8);
        let answer = sys::connect(fd, address);
        assert_eq!(answer.0, Ok(0), "connect: {answer}");
        self.far.accept(listener)
    }

    /// Returns a listener of this host, and the address at which the far host reaches it.
    ///
    /// # Panics
    /// If the socket cannot listen.
    pub fn listener(&mut self, backlog: i32) -> (i32, SocketAddr) {
        let fd = self.stream();
        assert_eq!(sys::listen(fd, backlog).0, Ok(0), "listen");
        let port = sys::getsockname(fd).ok().flatten().expect("a name").port();
        (fd, self.own(port))
    }

    /// Connects from the far host to this one, and returns the far end. `listen` may return before
    /// a server has received it (C83), so a refusal is retried.
    pub fn called(&mut self, address: SocketAddr) -> Handle {
        let command = format!("connect {} {address}", crate::far::version(self.family));
        for _ in 0..3 {
            if let Ok(handle) = self.far.ask(&command).parse() {
                return Handle(handle);
            }
            Self::settle();
        }
        self.far.open(&command)
    }

    /// Returns a connection that a listener here has accepted, and the far end.
    pub fn accepted(&mut self) -> (i32, Handle) {
        let (listener, address) = self.listener(8);
        let far = self.called(address);
        let fd = sys::accept(listener).descriptor();
        sys::close(listener);
        (fd, far)
    }

    /// Connects a non-blocking socket, and returns the far end.
    ///
    /// # Panics
    /// If the connection fails.
    pub fn connect_nonblocking(&mut self, fd: i32) -> Handle {
        let (listener, address) = self.far.listen(self.family, 8);
        let answer = sys::connect(fd, address);
        assert_eq!(answer.0, Err(libc::EINPROGRESS), "connect: {answer}");
        sys::poll(fd, libc::POLLOUT, PATIENCE.as_millis() as i32);
        self.far.accept(listener)
    }

    /// Returns an address in a network without a far host: see [`crate::worlds`].
    pub fn elsewhere(&self, networks: [IpAddr; 2]) -> SocketAddr {
        SocketAddr::new(networks[usize::from(self.family == libc::AF_INET6)], 80)
    }

    /// Returns how often a signal has arrived since the last call.
    #[expect(clippy::unused_self, reason = "signals belong to the case")]
    pub fn count(&mut self, number: i32) -> usize {
        SIGNALS[number as usize].swap(0, Ordering::Relaxed)
    }

    /// Records the current result of `poll`.
    pub fn mask(&mut self, what: &str, fd: i32) {
        let (_, events) = sys::poll(fd, ALL, 0);
        self.say(what, names::mask(events));
    }

    /// Waits for one of `bits` and records the result of `poll` then; `never` and the current
    /// events if none arrives.
    pub fn until(&mut self, what: &str, fd: i32, bits: i16) {
        let (answer, _) = sys::poll(fd, bits, PATIENCE.as_millis() as i32);
        Self::settle();
        let (_, events) = sys::poll(fd, ALL, 0);
        let text = names::mask(events);
        self.say(what, if answer.0 == Ok(0) { format!("never, but {text}") } else { text });
    }

    /// Waits until pending events have arrived: for [`SETTLED`], and then until no thread of the
    /// hosts waits for a processor, which it would do while it has something to pass on.
    pub fn settle() {
        std::thread::sleep(SETTLED);
        let hosts = std::env::var(HOSTS).unwrap_or_default();
        let (end, mut idle) = (Instant::now() + BUSY, 0);
        // Several times, because an event that goes on to a host that was already looked at is
        // missed.
        while idle < 3 && Instant::now() < end {
            idle = if hosts.split_whitespace().any(is_runnable) { 0 } else { idle + 1 };
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Receives, and records the text or the error.
    pub fn receive(&mut self, what: &str, fd: i32, room: usize, flags: i32) {
        let text = received(fd, room, flags);
        self.say(what, text);
    }

    /// Records `SO_ERROR`.
    pub fn pending_error(&mut self, what: &str, fd: i32) {
        let answer = sys::get(fd, libc::SOL_SOCKET, libc::SO_ERROR);
        let text = match answer.0 {
            Ok(number) if number != 0 => names::errno(number as i32),
            _ => answer.to_string(),
        };
        self.say(what, text);
    }

    /// Records an address with words for the parts that differ from run to run: its owner, and the
    /// port unless it is 0 or `known`.
    pub fn name(&mut self, what: &str, name: Result<Option<SocketAddr>, Answer>, known: u16) {
        let text = match name {
            Err(answer) => answer.to_string(),
            Ok(None) => "of no family".into(),
            Ok(Some(address)) => self.show(address, known),
        };
        self.say(what, text);
    }

    /// Formats an address as [`Near::name`] records it.
    pub fn show(&self, address: SocketAddr, known: u16) -> String {
        let mapped = if let IpAddr::V6(v6) = address.ip() { v6.to_ipv4_mapped() } else { None };
        let plain = mapped.map_or(address.ip(), IpAddr::V4);
        let whose = if self.own.contains(&plain) {
            "near".to_owned()
        } else if self.far.addresses.contains(&plain) {
            "far".to_owned()
        } else {
            plain.to_string()
        };
        let port = match address.port() {
            0 => "0",
            port if port == known => "known",
            _ => "some",
        };
        format!("{}{whose}, port {port}", if mapped.is_some() { "mapped " } else { "" })
    }

    /// Records how often each of these signals has arrived since the last call.
    pub fn signals(&mut self, what: &str, numbers: &[i32]) {
        let counts: Vec<String> = numbers
            .iter()
            .map(|number| {
                format!("{} {}", names::signal(*number), SIGNALS[*number as usize].swap(0, Ordering::Relaxed))
            })
            .collect();
        self.say(what, counts.join(", "));
    }

    /// Records whether a call took about the expected time: 0.8 to 2.5 times that, plus 200 ms for
    /// overhead.
    pub fn took(&mut self, what: &str, begin: Instant, expected_ms: u64) {
        let took = begin.elapsed().as_millis() as u64;
        let right = took >= expected_ms * 8 / 10 && took <= expected_ms * 5 / 2 + 200;
        self.say(
            what,
            if right {
                format!("about {expected_ms} ms")
            } else {
                format!("{took} ms and not {expected_ms}")
            },
        );
    }
}

/// Receives. Returns the text, `EOF`, or the error.
pub fn received(fd: i32, room: usize, flags: i32) -> String {
    let mut room = vec![0; room];
    match sys::recv(fd, &mut room, flags).0 {
        Ok(0) => "EOF".into(),
        Ok(count) => format!("{:?}", String::from_utf8_lossy(&room[..(count as usize).min(room.len())])),
        Err(number) => names::errno(number),
    }
}

/// Sends to a stream whose peer does not read, until it has taken nothing for a second and for some
/// rounds in which the server has answered. Returns the number of bytes taken. On a machine with
/// twenty other busy processes, more bytes were taken after 300 ms.
pub fn stuff(fd: i32) -> u64 {
    const ROUNDS: u32 = 20;
    let chunk = vec![b'x'; 16 * 1024];
    let mut taken = 0;
    let (mut last, mut rounds) = (Instant::now(), 0);
    while last.elapsed() < Duration::from_secs(1) || rounds < ROUNDS {
        match sys::send(fd, &chunk, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL).0 {
            Ok(count) => {
                taken += count as u64;
                (last, rounds) = (Instant::now(), 0);
            }
            Err(libc::EAGAIN) => {
                // When the server answers, it has seen everything that was on its way to it.
                let _ = sys::tcp_state(fd);
                rounds += 1;
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(_) => break,
        }
    }
    taken
}

/// Returns whether a thread of this process runs or waits for a processor (state R of
/// `/proc/PID/task/TID/stat`).
fn is_runnable(process: &str) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok()).any(|stat| {
        // The name before the state may contain spaces and brackets.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('R'))
    })
}
