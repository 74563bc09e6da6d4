//! UDP datagrams as fast as the socket accepts them. The result is how many arrive.

use super::datagram::{HEAD, Receiver, stamp, wall_clock};
use super::{Watch, Window};
use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, MsgFlags, MultiHeaders, SockaddrIn, sendmmsg};
use std::io::{self, IoSlice};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// Payload of a datagram in bytes.
const SIZE: usize = 1400;

/// Datagrams per call.
const BATCH: usize = 32;

/// Limit of a sender: three times what the fastest loopback sends in a long run.
const MOST: u64 = 100_000_000;

/// The receiver's sleep between two batches: at a million per second, 2000 datagrams arrive
/// meanwhile.
const NAP: Duration = Duration::from_millis(2);

/// Sends to `address` for `time`.
///
/// # Errors
/// If the kernel refuses to send for a reason other than that the receiver has gone.
pub fn send(address: SocketAddr, time: Duration) -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect(address)?;
    let mut datagrams = vec![[0x5a; SIZE]; BATCH];
    let mut headers = MultiHeaders::<SockaddrIn>::preallocate(BATCH, None);
    let nowhere: [Option<SockaddrIn>; BATCH] = [None; BATCH];
    let control: [ControlMessage<'_>; 0] = [];
    let start = Instant::now();
    let mut number = 0;
    while start.elapsed() < time && number < MOST {
        let sent = wall_clock();
        for datagram in &mut datagrams {
            stamp(&mut datagram[..HEAD], number, sent);
            number += 1;
        }
        let slices: Vec<_> = datagrams.iter().map(|datagram| [IoSlice::new(datagram)]).collect();
        let flags = MsgFlags::empty();
        match sendmmsg(socket.as_raw_fd(), &mut headers, &slices, nowhere, control, flags) {
            // A full queue is the purpose of a flood, and without a receiver it ends.
            Ok(_) | Err(Errno::ENOBUFS | Errno::ECONNREFUSED | Errno::EAGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Rates of a flood.
#[derive(Debug, Clone, Copy)]
pub struct Flood {
    /// Packets per second that arrived.
    pub arrived: f64,
    /// Packets per second that were sent.
    pub sent: f64,
}

/// Measures a flood.
///
/// # Errors
/// If nothing arrives.
pub fn receive(socket: UdpSocket, window: Window, watch: &mut impl Watch) -> io::Result<Flood> {
    let mut receiver = Receiver::new(socket, NAP)?;
    receiver.first()?;
    receiver.until(Instant::now() + window.after, |_| {})?;
    watch.now();
    let (mut count, mut lowest, mut highest) = (0u64, u64::MAX, 0);
    let start = Instant::now();
    receiver.until(start + window.length, |arrival| {
        count += 1;
        lowest = lowest.min(arrival.number);
        highest = highest.max(arrival.number);
    })?;
    let seconds = start.elapsed().as_secs_f64();
    watch.now();
    if count == 0 {
        return Err(io::Error::other("no packet of the flood arrived during the measurement"));
    }
    Ok(Flood { arrived: count as f64 / seconds, sent: (highest + 1 - lowest) as f64 / seconds })
}
