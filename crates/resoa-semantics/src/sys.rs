//! The libc functions that programs call and that an interposing library replaces. An [`Answer`] is
//! their return value, or `errno`. Nothing is retried or checked, because the cases examine the
//! plain results.

use crate::names;
use std::fmt;
use std::io::{self, Error};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// Result of a call: a non-negative number, or `errno`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer(pub Result<i64, i32>);

impl Answer {
    pub fn of(returned: i64) -> Self {
        Self(if returned < 0 {
            Err(Error::last_os_error().raw_os_error().unwrap_or(0))
        } else {
            Ok(returned)
        })
    }

    /// Returns the number of bytes; 0 if the call failed.
    pub fn count(self) -> usize {
        self.0.map_or(0, |returned| returned as usize)
    }

    /// Returns the file descriptor that a call created.
    ///
    /// # Panics
    /// If the call failed, because the case cannot go on.
    pub fn descriptor(self) -> i32 {
        self.0.map_or_else(
            |number| panic!("no descriptor: {}", names::errno(number)),
            |returned| returned as i32,
        )
    }

    pub fn failed(self, number: i32) -> bool {
        self.0 == Err(number)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Ok(returned) => write!(f, "{returned}"),
            Err(number) => f.write_str(&names::errno(number)),
        }
    }
}

/// A call of libc. Its arguments are numbers, or pointers to data that lives at least until the
/// call returns. Intentionally invalid pointers point to page 0.
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: see above; the kernel checks the arguments of programs.
        let returned = unsafe { libc::$name($($argument),*) };
        $crate::sys::Answer::of(returned as i64)
    }};
}
pub(crate) use call;

/// A socket address in the kernel's format.
#[derive(Clone, Copy)]
pub struct Address {
    pub storage: libc::sockaddr_storage,
    pub length: libc::socklen_t,
}

impl Address {
    /// Creates an empty address.
    pub fn empty() -> Self {
        // SAFETY: all zeros is an address without a family.
        let storage = unsafe { std::mem::zeroed() };
        Self { storage, length: size_of::<libc::sockaddr_storage>() as libc::socklen_t }
    }

    pub fn pointer(&self) -> *const libc::sockaddr {
        (&raw const self.storage).cast()
    }

    pub fn room(&mut self) -> (*mut libc::sockaddr, *mut libc::socklen_t) {
        ((&raw mut self.storage).cast(), &raw mut self.length)
    }

    /// Parses the address; `None` if it is neither IPv4 nor IPv6.
    pub fn read(&self) -> Option<SocketAddr> {
        match i32::from(self.storage.ss_family) {
            libc::AF_INET => {
                // SAFETY: the storage is large enough and aligned for any address.
                let inner: libc::sockaddr_in =
                    unsafe { (&raw const self.storage).cast::<libc::sockaddr_in>().read() };
                Some(
                    (
                        IpAddr::V4(Ipv4Addr::from(u32::from_be(inner.sin_addr.s_addr))),
                        u16::from_be(inner.sin_port),
                    )
                        .into(),
                )
            }
            libc::AF_INET6 => {
                // SAFETY: as above.
                let inner: libc::sockaddr_in6 =
                    unsafe { (&raw const self.storage).cast::<libc::sockaddr_in6>().read() };
                let ip = Ipv6Addr::from(inner.sin6_addr.s6_addr);
                Some(SocketAddrV6::new(ip, u16::from_be(inner.sin6_port), 0, inner.sin6_scope_id).into())
            }
            _ => None,
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        let mut this = Self::empty();
        match address {
            SocketAddr::V4(address) => {
                let inner = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: address.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from(*address.ip()).to_be() },
                    sin_zero: [0; 8],
                };
                // SAFETY: the storage is large enough and aligned for any address.
                unsafe { (&raw mut this.storage).cast::<libc::sockaddr_in>().write(inner) };
                this.length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
            }
            SocketAddr::V6(address) => {
                let inner = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: address.port().to_be(),
                    sin6_flowinfo: 0,
                    sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                    sin6_scope_id: address.scope_id(),
                };
                // SAFETY: as above.
                unsafe { (&raw mut this.storage).cast::<libc::sockaddr_in6>().write(inner) };
                this.length = size_of::<libc::sockaddr_in6>() as libc::socklen_t;
            }
        }
        this
    }
}

pub fn socket(family: i32, kind: i32, protocol: i32) -> Answer {
    call!(socket(family, kind, protocol))
}

pub fn connect(fd: i32, address: SocketAddr) -> Answer {
    connect_raw(fd, Address::from(address))
}

pub fn connect_raw(fd: i32, address: Address) -> Answer {
    call!(connect(fd, address.pointer(), address.length))
}

/// `connect` with `AF_UNSPEC`, which ends the association with a peer.
pub fn disconnect(fd: i32) -> Answer {
    let mut address = Address::empty();
    address.length = 16;
    connect_raw(fd, address)
}

pub fn bind(fd: i32, address: SocketAddr) -> Answer {
    bind_raw(fd, Address::from(address))
}

pub fn bind_raw(fd: i32, address: Address) -> Answer {
    call!(bind(fd, address.pointer(), address.length))
}

pub fn listen(fd: i32, backlog: i32) -> Answer {
    call!(listen(fd, backlog))
}

/// `accept` without asking for the peer's address.
pub fn accept(fd: i32) -> Answer {
    call!(accept(fd, std::ptr::null_mut(), std::ptr::null_mut()))
}

/// `accept4`, with the peer's address.
pub fn accept_from(fd: i32, flags: i32) -> (Answer, Option<SocketAddr>) {
    let mut address = Address::empty();
    let (pointer, length) = address.room();
    let answer = call!(accept4(fd, pointer, length, flags));
    (answer, answer.0.ok().and_then(|_| address.read()))
}

pub fn getsockname(fd: i32) -> Result<Option<SocketAddr>, Answer> {
    let mut address = Address::empty();
    let (pointer, length) = address.room();
    let answer = call!(getsockname(fd, pointer, length));
    answer.0.map(|_| address.read()).map_err(|_| answer)
}

pub fn getpeername(fd: i32) -> Result<Option<SocketAddr>, Answer> {
    let mut address = Address::empty();
    let (pointer, length) = address.room();
    let answer = call!(getpeername(fd, pointer, length));
    answer.0.map(|_| address.read()).map_err(|_| answer)
}

pub fn close(fd: i32) -> Answer {
    call!(close(fd))
}

pub fn shutdown(fd: i32, how: i32) -> Answer {
    call!(shutdown(fd, how))
}

pub fn send(fd: i32, octets: &[u8], flags: i32) -> Answer {
    call!(send(fd, octets.as_ptr().cast(), octets.len(), flags))
}

pub fn write(fd: i32, octets: &[u8]) -> Answer {
    call!(write(fd, octets.as_ptr().cast(), octets.len()))
}

pub fn recv(fd: i32, room: &mut [u8], flags: i32) -> Answer {
    call!(recv(fd, room.as_mut_ptr().cast(), room.len(), flags))
}

pub fn read(fd: i32, room: &mut [u8]) -> Answer {
    call!(read(fd, room.as_mut_ptr().cast(), room.len()))
}

pub fn send_to(fd: i32, octets: &[u8], flags: i32, address: SocketAddr) -> Answer {
    let address = Address::from(address);
    call!(sendto(fd, octets.as_ptr().cast(), octets.len(), flags, address.pointer(), address.length))
}

pub fn receive_from(fd: i32, room: &mut [u8], flags: i32) -> (Answer, Option<SocketAddr>) {
    let mut address = Address::empty();
    let (pointer, length) = address.room();
    let answer = call!(recvfrom(fd, room.as_mut_ptr().cast(), room.len(), flags, pointer, length));
    (answer, answer.0.ok().and_then(|_| if address.length == 0 { None } else { address.read() }))
}

/// `setsockopt` with an `int`.
pub fn set(fd: i32, level: i32, name: i32, value: i32) -> Answer {
    set_octets(fd, level, name, &value.to_ne_bytes())
}

pub fn set_octets(fd: i32, level: i32, name: i32, value: &[u8]) -> Answer {
    call!(setsockopt(fd, level, name, value.as_ptr().cast(), value.len() as libc::socklen_t))
}

/// `getsockopt` of an `int`.
pub fn get(fd: i32, level: i32, name: i32) -> Answer {
    let mut value = [0; 4];
    let (answer, _) = get_octets(fd, level, name, &mut value);
    Answer(answer.0.map(|_| i64::from(i32::from_ne_bytes(value))))
}

/// `getsockopt`, with the returned length.
pub fn get_octets(fd: i32, level: i32, name: i32, room: &mut [u8]) -> (Answer, usize) {
    let mut length = room.len() as libc::socklen_t;
    let answer = call!(getsockopt(fd, level, name, room.as_mut_ptr().cast(), &raw mut length));
    (answer, length as usize)
}

/// `ioctl` that reads or writes an `int`.
pub fn ioctl(fd: i32, request: u64, value: &mut i32) -> Answer {
    call!(ioctl(fd, request as _, std::ptr::from_mut(value)))
}

pub fn fcntl(fd: i32, command: i32, argument: i32) -> Answer {
    call!(fcntl(fd, command, argument))
}

/// `poll` of one descriptor. Returns the result and the events.
pub fn poll(fd: i32, events: i16, wait_ms: i32) -> (Answer, i16) {
    let mut entry = libc::pollfd { fd, events, revents: 0 };
    let answer = call!(poll(&raw mut entry, 1, wait_ms));
    (answer, entry.revents)
}

/// Sets `SO_RCVTIMEO` or `SO_SNDTIMEO`.
pub fn set_time_limit(fd: i32, name: i32, milliseconds: i64) -> Answer {
    let value = libc::timeval { tv_sec: milliseconds / 1000, tv_usec: milliseconds % 1000 * 1000 };
    call!(setsockopt(
        fd,
        libc::SOL_SOCKET,
        name,
        (&raw const value).cast(),
        size_of::<libc::timeval>() as libc::socklen_t
    ))
}

pub fn set_linger(fd: i32, on: bool, seconds: i32) -> Answer {
    let value = libc::linger { l_onoff: i32::from(on), l_linger: seconds };
    call!(setsockopt(
        fd,
        libc::SOL_SOCKET,
        libc::SO_LINGER,
        (&raw const value).cast(),
        size_of::<libc::linger>() as libc::socklen_t
    ))
}

/// `epoll_wait` with a time limit. Returns the result and the events of the first descriptor.
pub fn epoll_wait(epoll: i32, wait_ms: i32) -> (Answer, u32) {
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; 8];
    let answer = call!(epoll_wait(epoll, events.as_mut_ptr(), 8, wait_ms));
    (answer, events[0].events)
}

pub fn epoll(fd: i32, events: u32) -> i32 {
    let epoll = call!(epoll_create1(0)).descriptor();
    let mut event = libc::epoll_event { events, u64: 0 };
    let added = call!(epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &raw mut event));
    assert_eq!(added.0, Ok(0), "epoll_ctl");
    epoll
}

/// Returns the TCP state of a socket from `TCP_INFO`.
pub fn tcp_state(fd: i32) -> Result<&'static str, Answer> {
    let mut room = [0; 104];
    let (answer, _) = get_octets(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut room);
    answer.0.map(|_| names::tcp_state(room[0])).map_err(|_| answer)
}

/// Creates a pair of connected AF_UNIX streams.
pub fn pair() -> io::Result<[i32; 2]> {
    let mut ends = [0; 2];
    match call!(socketpair(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0, ends.as_mut_ptr())).0 {
        Ok(_) => Ok(ends),
        Err(number) => Err(Error::from_raw_os_error(number)),
    }
}
