//! Numbered datagrams, and a receiver for many of them that hardly costs time.
//!
//! The receiver sleeps and then takes everything that has come, by the kernel's own time stamps. A
//! receiver that woke up for each packet would compete with the emulator for the processor, and
//! would be what is measured.

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

/// Bytes of a datagram that mean something: its number and when it was sent.
pub const HEAD: usize = 16;

/// Datagrams a call.
const BATCH: usize = 64;

/// Room for what arrives while the receiver sleeps, in bytes as the kernel counts them.
const ROOM: usize = 64 << 20;

/// Wall-clock time in nanoseconds since 1970, which is what the kernel stamps packets with.
pub fn wall_clock() -> Duration {
    clock_gettime(ClockId::CLOCK_REALTIME).map(Duration::from).unwrap_or_default()
}

/// Writes number and time of sending into a datagram.
pub fn stamp(datagram: &mut [u8], number: u64, sent: Duration) {
    datagram[..8].copy_from_slice(&number.to_be_bytes());
    datagram[8..HEAD].copy_from_slice(&(sent.as_nanos() as u64).to_be_bytes());
}

/// A datagram that has arrived.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// Its number.
    pub number: u64,
    /// Wall-clock time in nanoseconds at which it was sent.
    pub sent: u64,
    /// Wall-clock time in nanoseconds at which it came to the receiving interface.
    pub received: u64,
}

/// A socket that takes datagrams in batches.
pub struct Receiver {
    socket: UdpSocket,
    headers: MultiHeaders<SockaddrIn>,
    heads: Vec<[u8; HEAD]>,
    /// Sleep between two looks.
    nap: Duration,
}

impl Receiver {
    /// A receiver on `socket` that looks every `nap`.
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
                return Err(io::Error::other("nothing arrived"));
            }
            std::thread::sleep(self.nap);
        }
    }

    /// Hands over what arrives until `end`.
    pub fn until(&mut self, end: Instant, mut each: impl FnMut(Arrival)) -> io::Result<()> {
        while Instant::now() < end {
            self.take(&mut each)?;
            std::thread::sleep(self.nap);
        }
        self.take(&mut each)
    }

    /// Hands over what has arrived.
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
                    received.ok_or_else(|| io::Error::other("the kernel gave a datagram no time stamp"))?;
                each(Arrival { number: word(0), sent: word(8), received });
            }
            if stamps.len() < BATCH {
                return Ok(());
            }
        }
    }
}
