//! Numbered datagrams, and a receiver for many of them that uses little processor time.
//!
//! The receiver sleeps, then takes everything that has arrived, with the kernel's time stamps. A
//! receiver that woke up for each packet would compete with the emulator for the processor, and the
//! measurement would be of the receiver.

use super::PATIENCE;
use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, MultiHeaders, SockaddrIn, recvmmsg, setsockopt, sockopt,
};
use nix::time::{ClockId, clock_gettime};
use std::io::{self, IoSliceMut};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// Bytes of a datagram that carry data: its number and its sending time.
pub const HEAD: usize = 16;

/// Datagrams per call.
const BATCH: usize = 64;

/// Receive buffer for what arrives while the receiver sleeps, in bytes as the kernel counts them.
const ROOM: usize = 64 << 20;

/// Returns the wall-clock time since 1970, the clock with which the kernel stamps packets.
pub fn wall_clock() -> Duration {
    clock_gettime(ClockId::CLOCK_REALTIME).map(Duration::from).unwrap_or_default()
}

/// Writes the number and the sending time into a datagram.
pub fn stamp(datagram: &mut [u8], number: u64, sent: Duration) {
    datagram[..8].copy_from_slice(&number.to_be_bytes());
    datagram[8..HEAD].copy_from_slice(&(sent.as_nanos() as u64).to_be_bytes());
}

/// A datagram that arrived.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// Its number.
    pub number: u64,
    /// Wall-clock time of sending, in nanoseconds.
    pub sent: u64,
    /// Wall-clock time of arrival at the receiving interface, in nanoseconds.
    pub received: u64,
}

/// A receiver that takes datagrams in batches.
pub struct Receiver {
    socket: UdpSocket,
    headers: MultiHeaders<SockaddrIn>,
    heads: Vec<[u8; HEAD]>,
    /// Sleep between two batches.
    nap: Duration,
}

impl Receiver {
    /// Creates a receiver on `socket` that takes a batch every `nap`.
    pub fn new(socket: UdpSocket, nap: Duration) -> io::Result<Self> {
        setsockopt(&socket, sockopt::RcvBufForce, &ROOM)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        socket.set_nonblocking(true)?;
        let headers = MultiHeaders::preallocate(BATCH, Some(cmsg_space!(nix::sys::time::TimeSpec)));
        Ok(Self { socket, headers, heads: vec![[0; HEAD]; BATCH], nap })
    }

    /// Waits for the first datagram.
    pub fn first(&mut self) -> io::Result<()> {
        let start = Instant::now();
        loop {
            let mut any = false;
            self.take(&mut |_| any = true)?;
            if any {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                return Err(io::Error::other("no datagram arrived in time"));
            }
            std::thread::sleep(self.nap);
        }
    }

    /// Passes everything that arrives until `end` to `each`.
    pub fn until(&mut self, end: Instant, mut each: impl FnMut(Arrival)) -> io::Result<()> {
        while Instant::now() < end {
            self.take(&mut each)?;
            std::thread::sleep(self.nap);
        }
        self.take(&mut each)
    }

    /// Passes everything that has arrived to `each`.
    fn take(&mut self, each: &mut impl FnMut(Arrival)) -> io::Result<()> {
        loop {
            let mut slices: Vec<_> = self.heads.iter_mut().map(|head| [IoSliceMut::new(head)]).collect();
            let descriptor = self.socket.as_raw_fd();
            let messages =
                match recvmmsg(descriptor, &mut self.headers, &mut slices, MsgFlags::MSG_DONTWAIT, None) {
                    Ok(messages) => messages,
                    Err(Errno::EAGAIN) => return Ok(()),
                    Err(error) => return Err(error.into()),
                };
            let stamps: Vec<Option<u64>> = messages
                .map(|message| {
                    message.cmsgs().into_iter().flatten().find_map(|control| match control {
                        ControlMessageOwned::ScmTimestampns(at) => Some(Duration::from(at).as_nanos() as u64),
                        _ => None,
                    })
                })
                .collect();
            for (head, &received) in self.heads.iter().zip(&stamps) {
                let word = |at: usize| {
                    let mut bytes = [0; 8];
                    bytes.copy_from_slice(&head[at..at + 8]);
                    u64::from_be_bytes(bytes)
                };
                let received =
                    received.ok_or_else(|| io::Error::other("the kernel did not time-stamp a datagram"))?;
                each(Arrival { number: word(0), sent: word(8), received });
            }
            if stamps.len() < BATCH {
                return Ok(());
            }
        }
    }
}
