//! Loading and attaching the programs, and the server's requests to them.

use super::connection::{Connection, Key};
use super::error::FinHoldError;
use super::interfaces;
use super::records::{Counts, Hold, State};
use super::segment;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags};
use nix::time::{ClockId, clock_gettime};
use rustix::fd::{AsRawFd, BorrowedFd, OwnedFd};
use rustix::net::{AddressFamily, Protocol, SendFlags, SocketFlags, SocketType};
use std::collections::HashSet;
use std::io;
use std::mem::MaybeUninit;
use std::net::IpAddr;
use std::time::Duration;
use tcx::{Header, Refusal};

#[allow(
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    reason = "written by libbpf-cargo"
)]
#[allow(
    unsafe_code,
    clippy::undocumented_unsafe_blocks,
    missing_docs,
    dead_code,
    reason = "written by libbpf-cargo"
)]
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/fin_hold.skel.rs"));
}

pub(super) use skeleton::types;
use skeleton::{FinHoldSkel, FinHoldSkelBuilder};

/// Default for the number of FINs that can be held at a time: more than the ends of connections
/// that a server has on a last hop at a time.
const ROOM: u32 = 65_536;

/// Age after which the sender of a FIN has given up. A host repeats its FIN at most 120 s apart
/// (RFC 6298 section 2.5 allows an upper bound of 60 s or more; Linux's is 120 s).
const FORGOTTEN: Duration = Duration::from_mins(5);

/// Programs that hold the FINs of far hosts, attached to interfaces. They are detached when this is
/// dropped, or when the process ends in whatever way.
pub struct FinHold {
    // Links first: they are dropped before the programs that they refer to.
    links: Vec<Link>,
    skeleton: FinHoldSkel<'static>,
    raw: [OwnedFd; 2],
}

impl std::fmt::Debug for FinHold {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("FinHold").field("links", &self.links.len()).finish_non_exhaustive()
    }
}

impl FinHold {
    /// Names of the interfaces over which far hosts may be reached: all interfaces of the calling
    /// thread's network namespace that are up, except the loopback interface. Interfaces added
    /// later are not included.
    ///
    /// # Errors
    /// If the interfaces cannot be listed.
    pub fn interfaces() -> Result<Vec<String>, FinHoldError> {
        let refused = |error: std::io::Error| FinHoldError::Interface {
            name: "any".to_owned(),
            reason: error.to_string(),
        };
        let mut names = interfaces::names().map_err(refused)?;
        names.retain(|name| {
            interfaces::find(name)
                .is_ok_and(|found| found.is_up && !found.is_loopback && found.header().is_ok())
        });
        Ok(names)
    }

    /// Loads the programs and attaches them to these interfaces. The interfaces belong to the
    /// calling thread's network namespace, which has to be that of the server's sockets. If a
    /// connection's segments take another interface, its FIN is acknowledged at once.
    ///
    /// # Errors
    /// If this user lacks the privileges, if the kernel refuses the programs, or if an interface
    /// does not exist or has an unknown type of link layer.
    pub fn attach<N: AsRef<str>>(interfaces: &[N]) -> Result<Self, FinHoldError> {
        Self::with_room(interfaces, ROOM)
    }

    /// Like [`attach`](Self::attach), with room for `room` FINs at a time. A FIN that arrives when
    /// the room is used up is acknowledged at once and [counted](Counts::full).
    ///
    /// # Errors
    /// As for [`attach`](Self::attach).
    pub fn with_room<N: AsRef<str>>(interfaces: &[N], room: u32) -> Result<Self, FinHoldError> {
        if interfaces.is_empty() {
            return Err(FinHoldError::NoInterface);
        }
        tcx::listen();
        // libbpf keeps its pointer to the object here. It must outlive the skeleton, which must not
        // be tied to a stack. So each attachment leaks one pointer.
        let object = Box::leak(Box::new(MaybeUninit::uninit()));
        let open = FinHoldSkelBuilder::default().open(object).and_then(|mut open| {
            open.maps.holds.set_max_entries(room.max(1))?;
            Ok(open)
        });
        let skeleton = open.and_then(OpenSkel::load).map_err(|error| Refusal::of(&error))?;
        let raw = [raw(AddressFamily::INET), raw(AddressFamily::INET6)];
        let [v4, v6] = raw.map(|made| made.map_err(FinHoldError::RawSocket));
        let mut hold = Self { links: Vec::new(), skeleton, raw: [v4?, v6?] };
        for name in interfaces {
            hold.add_interface(name.as_ref())?;
        }
        Ok(hold)
    }

    fn add_interface(&mut self, name: &str) -> Result<(), FinHoldError> {
        let refused = |reason: String| FinHoldError::Interface { name: name.to_owned(), reason };
        let interface = interfaces::find(name).map_err(|error| refused(error.to_string()))?;
        let programs = &self.skeleton.progs;
        let programs = match interface.header().map_err(refused)? {
            Header::Ethernet => [&programs.hold_ingress_ethernet, &programs.hold_egress_ethernet],
            Header::None => [&programs.hold_ingress_ip, &programs.hold_egress_ip],
        };
        for program in programs {
            let link = tcx::attach(program, interface.index).map_err(|error| refused(error.to_string()))?;
            self.links.push(link);
        }
        Ok(())
    }

    /// Counters of FINs and acknowledgements since the programs were loaded.
    ///
    /// # Errors
    /// None as long as the kernel lets its maps be read.
    pub fn counts(&self) -> Result<Counts, FinHoldError> {
        let read = self.skeleton.maps.bss.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY);
        let bytes = read.map_err(|error| FinHoldError::Read(error.to_string()))?.unwrap_or_default();
        Counts::read(&bytes)
            .ok_or_else(|| FinHoldError::Read(format!("expected more than {} octets", bytes.len())))
    }

    /// Number of FINs that are held now, including those that the kernel has yet to acknowledge.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.skeleton.maps.holds.keys().count()
    }

    /// Marks a socket: from now on, its FINs and those of the connections that it accepts are held.
    pub(crate) fn mark(&self, fd: BorrowedFd) -> io::Result<()> {
        self.set_mark(fd, false)
    }

    fn set_mark(&self, fd: BorrowedFd, released: bool) -> io::Result<()> {
        let value = u32::from(released).to_ne_bytes();
        let marks = &self.skeleton.maps.marks;
        marks.update(&fd.as_raw_fd().to_ne_bytes(), &value, MapFlags::ANY).map_err(as_io)
    }

    /// Lets the FIN be acknowledged: at once if it has arrived, otherwise on arrival.
    pub(crate) fn release(&self, fd: BorrowedFd, connection: &Connection) {
        // Set the mark first: a FIN that arrives in between either finds the existing entry or sees
        // that it must not add one.
        let _ = self.set_mark(fd, true);
        let Some(hold) = self.take(&connection.key()) else { return };
        // If the kernel has not acknowledged the FIN yet, it will do so itself.
        if hold.state == State::Held {
            self.send(connection, &segment::acknowledgement(connection, &hold));
        }
    }

    /// Announces that the server is about to reset the connection. From now on, the programs do not
    /// hold the kernel's segments back, and do not let them acknowledge the FIN either.
    pub(crate) fn abort(&self, connection: &Connection) {
        let holds = &self.skeleton.maps.holds;
        let key = connection.key();
        if let Ok(Some(mut bytes)) = holds.lookup(&key, MapFlags::ANY) {
            Hold::aborted(&mut bytes);
            let _ = holds.update(&key, &bytes, MapFlags::EXIST);
        }
    }

    /// Completes the reset after the socket was closed: sends RST if the kernel has sent none (rule
    /// c).
    pub(crate) fn aborted(&self, connection: &Connection) {
        if let Some(hold) = self.read(&connection.key()).filter(Hold::was_held) {
            self.send(connection, &segment::reset(connection, &hold));
        }
    }

    /// Deletes the entry of a connection that was lost.
    pub(crate) fn forget(&self, connection: &Connection) {
        let _ = self.skeleton.maps.holds.delete(&connection.key());
    }

    /// Deletes entries that the server will not ask for again: those of connections that ended
    /// before the server accepted them, and of resets that the far host has received.
    pub(crate) fn sweep(&self, known: impl Iterator<Item = Connection>) {
        // Not rustix: its clocks panic in the guests of the virtual clock, whose vDSO lacks a
        // function.
        if let Ok(now) = clock_gettime(ClockId::CLOCK_MONOTONIC) {
            let now_ns = now.tv_sec().cast_unsigned() * 1_000_000_000 + now.tv_nsec().cast_unsigned();
            self.sweep_at(now_ns, known);
        }
    }

    fn sweep_at(&self, now_ns: u64, known: impl Iterator<Item = Connection>) {
        let holds = &self.skeleton.maps.holds;
        let keys: Vec<_> = holds.keys().collect();
        if keys.is_empty() {
            return;
        }
        let known: HashSet<Key> = known.map(|connection| connection.key()).collect();
        for key in keys {
            let is_known = <&Key>::try_from(key.as_slice()).is_ok_and(|key| known.contains(key));
            let is_old = |hold: Hold| Duration::from_nanos(now_ns.saturating_sub(hold.seen_ns)) > FORGOTTEN;
            if !is_known && self.read(&key).is_some_and(is_old) {
                let _ = holds.delete(&key);
            }
        }
    }

    fn read(&self, key: &[u8]) -> Option<Hold> {
        Hold::read(&self.skeleton.maps.holds.lookup(key, MapFlags::ANY).ok()??)
    }

    fn take(&self, key: &Key) -> Option<Hold> {
        Hold::read(&self.skeleton.maps.holds.lookup_and_delete(key).ok()??)
    }

    /// Sends a packet. A failure has the same effect as the loss of the packet, so it is ignored.
    fn send(&self, connection: &Connection, packet: &[u8]) {
        let mut to = connection.peer;
        if let IpAddr::V4(address) = to.ip().to_canonical() {
            to.set_ip(address.into());
        }
        // Raw sockets have no ports.
        to.set_port(0);
        let raw = &self.raw[usize::from(to.is_ipv6())];
        let _ = rustix::net::sendto(raw, packet, SendFlags::DONTWAIT, &to);
    }
}

/// Keeps the kernel's reason. libbpf-rs does not return the error number, only its kind and a text
/// that contains the number.
fn as_io(error: libbpf_rs::Error) -> io::Error {
    let kind = match error.kind() {
        libbpf_rs::ErrorKind::NotFound => io::ErrorKind::NotFound,
        libbpf_rs::ErrorKind::PermissionDenied => io::ErrorKind::PermissionDenied,
        libbpf_rs::ErrorKind::InvalidInput => io::ErrorKind::InvalidInput,
        libbpf_rs::ErrorKind::OutOfMemory => io::ErrorKind::OutOfMemory,
        libbpf_rs::ErrorKind::TooBig => io::ErrorKind::ArgumentListTooLong,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

/// Opens a raw socket whose packets include their IP headers.
fn raw(family: AddressFamily) -> io::Result<OwnedFd> {
    let protocol = Protocol::from_raw(core::num::NonZeroU32::new(libc::IPPROTO_RAW as u32).expect("255"));
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(family, SocketType::RAW, flags, Some(protocol))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlab::Namespace;

    /// The kernel's reason is reported unchanged, and libbpf's error is kept as its source.
    #[test]
    fn reasons_are_the_kernels() {
        for number in [libc::ENOENT, libc::EPERM, libc::EINVAL, libc::ENOMEM, libc::E2BIG, libc::EBUSY] {
            let reason = || io::Error::from_raw_os_error(number);
            let kind = if number == libc::EBUSY { io::ErrorKind::Other } else { reason().kind() };
            let error = as_io(reason().into());
            assert_eq!((error.kind(), error.to_string()), (kind, reason().to_string()));
            assert!(error.get_ref().expect("is kept").is::<libbpf_rs::Error>());
        }
    }

    /// The map of held FINs is bounded: an entry leaves it if the server does not know the
    /// connection and the sender of the FIN has given up.
    #[test]
    fn what_is_forgotten_goes() {
        if !rustix::process::geteuid().is_root() {
            skip::skip!("eBPF programs need root");
            return;
        }
        let attach = || Ok(FinHold::attach(&["lo"]).expect("every host has it"));
        let hold = Namespace::new().and_then(|namespace| namespace.enter(attach)).expect("a namespace");
        let holds = &hold.skeleton.maps.holds;
        let at = |port| Connection { local: ([127, 0, 0, 1], 1).into(), peer: ([127, 0, 0, 2], port).into() };
        let begin = 1_000_000_000_000;
        for (port, age) in [(1, Duration::ZERO), (2, FORGOTTEN), (3, FORGOTTEN * 2)] {
            let mut bytes = vec![0; size_of::<types::hold>()];
            let seen: u64 = begin - age.as_nanos() as u64;
            let place = std::mem::offset_of!(types::hold, seen_ns);
            bytes[place..place + 8].copy_from_slice(&seen.to_ne_bytes());
            holds.update(&at(port).key(), &bytes, MapFlags::ANY).expect("there is room");
        }
        let left = || [1, 2, 3].map(|port| hold.read(&at(port).key()).is_some());
        hold.sweep_at(begin, [at(3)].into_iter());
        assert_eq!(left(), [true, true, true]);
        hold.sweep_at(begin, std::iter::empty());
        assert_eq!(left(), [true, true, false]);
        hold.sweep_at(begin + 1, [at(1)].into_iter());
        assert_eq!((left(), hold.waiting()), ([true, false, false], 1));
    }
}
