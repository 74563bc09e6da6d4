//! Numbered UDP packets from one end of the link to the other, with their send and receive times.
//!
//! Both times are of the real-time clock, which the kernel uses to stamp packets. The send time is
//! taken right before the system call. The receive time is taken by the kernel when the packet
//! leaves the device. The difference is therefore never less than the delay of the link.

use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrIn, recvmsg, setsockopt};
use std::io::{self, IoSliceMut};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Length of IPv4 and UDP headers, in bytes.
const HEADERS: usize = 28;

/// A flow of packets to send.
#[derive(Debug, Clone, Copy)]
pub struct Flow {
    /// Size of a packet including its IP header, in bytes.
    pub size: usize,
    /// Packets sent at once.
    pub burst: u64,
    /// Time between the starts of two bursts.
    pub gap: Duration,
    /// Duration of sending; at least one burst is sent.
    pub length: Duration,
    /// Time that the receiver waits for another packet after the last one was sent or received. It
    /// must be longer than the delay of the link.
    pub patience: Duration,
}

/// Result of a flow. Times are nanoseconds of the real-time clock.
#[derive(Debug, Clone, Default)]
pub struct Flown {
    /// Send time of each packet, by number.
    pub sent: Vec<u64>,
    /// Received packets, in order.
    pub came: Vec<Arrival>,
}

/// A received packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    pub number: u64,
    pub at: u64,
}

impl Flow {
    /// Creates a flow of single packets, `a_second` per second.
    pub fn paced(size: usize, a_second: u32, length: Duration) -> Self {
        let gap = Duration::from_secs(1) / a_second;
        Self { size, burst: 1, gap, length, patience: Duration::from_millis(300) }
    }

    /// Sends the flow. `sockets` are the sender's and the receiver's.
    pub fn run(&self, sockets: &(UdpSocket, UdpSocket)) -> io::Result<Flown> {
        let (sender, receiver) = sockets;
        let all_sent = AtomicBool::new(false);
        thread::scope(|scope| {
            let receiving = scope.spawn(|| self.receive(receiver, &all_sent));
            let sent = self.send(sender);
            all_sent.store(true, Ordering::Release);
            let came = receiving.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok(Flown { sent: sent?, came: came? })
        })
    }

    fn send(&self, socket: &UdpSocket) -> io::Result<Vec<u64>> {
        // All zeros except for the number. A flipped bit can then only add to the checksum, so two
        // flips never cancel.
        let mut payload = vec![0; self.size - HEADERS];
        let bursts = (self.length.as_nanos() / self.gap.as_nanos()).max(1) as u64;
        let mut sent = Vec::with_capacity((bursts * self.burst) as usize);
        let start = Instant::now();
        for burst in 0..bursts {
            let due = start + self.gap.mul_f64(burst as f64);
            thread::sleep(due.saturating_duration_since(Instant::now()));
            for _ in 0..self.burst {
                payload[..8].copy_from_slice(&(sent.len() as u64).to_be_bytes());
                sent.push(now());
                socket.send(&payload)?;
            }
        }
        Ok(sent)
    }

    fn receive(&self, socket: &UdpSocket, all_sent: &AtomicBool) -> io::Result<Vec<Arrival>> {
        setsockopt(socket, ReceiveTimestampns, &true)?;
        socket.set_read_timeout(Some(Duration::from_millis(20)))?;
        let mut came = Vec::new();
        let mut quiet_since: Option<Instant> = None;
        let mut buffer = vec![0; self.size];
        let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
        loop {
            let received = {
                let mut pieces = [IoSliceMut::new(&mut buffer)];
                recvmsg::<SockaddrIn>(socket.as_raw_fd(), &mut pieces, Some(&mut control), MsgFlags::empty())
                    .and_then(|message| {
                        let stamp = message.cmsgs()?.find_map(|control| match control {
                            ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp),
                            _ => None,
                        });
                        Ok((message.bytes, stamp))
                    })
            };
            match received {
                Ok((length, stamp)) => {
                    quiet_since = None;
                    let stamp =
                        stamp.ok_or_else(|| io::Error::other("the kernel supplied no receive timestamp"))?;
                    let at = stamp.tv_sec() as u64 * 1_000_000_000 + stamp.tv_nsec() as u64;
                    if let Some(number) = buffer[..length].first_chunk() {
                        came.push(Arrival { number: u64::from_be_bytes(*number), at });
                    }
                }
                Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => {
                    if all_sent.load(Ordering::Acquire) {
                        let since = *quiet_since.get_or_insert_with(Instant::now);
                        if since.elapsed() >= self.patience {
                            return Ok(came);
                        }
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Flown {
    /// Returns the times from sending to receiving in seconds, sorted.
    pub fn delays(&self) -> Vec<f64> {
        let mut delays: Vec<f64> = self
            .came
            .iter()
            .filter_map(|arrival| {
                let sent = *self.sent.get(arrival.number as usize)?;
                // Signed, so that early packets show.
                Some((i128::from(arrival.at) - i128::from(sent)) as f64 / 1e9)
            })
            .collect();
        delays.sort_by(f64::total_cmp);
        delays
    }

    /// Returns how often each packet arrived, by number.
    pub fn copies(&self) -> Vec<u32> {
        let mut copies = vec![0; self.sent.len()];
        for arrival in &self.came {
            if let Some(count) = copies.get_mut(arrival.number as usize) {
                *count += 1;
            }
        }
        copies
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_over_loopback_comes_whole_and_later_than_it_was_sent() {
        let socket = || UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let (sender, receiver) = (socket(), socket());
        sender.connect(receiver.local_addr().expect("an address")).expect("connected");
        let flow = Flow {
            size: 100,
            burst: 5,
            gap: Duration::from_millis(1),
            length: Duration::from_millis(10),
            patience: Duration::from_millis(50),
        };
        let flown = flow.run(&(sender, receiver)).expect("sent");
        assert_eq!(flown.sent.len(), 50);
        assert_eq!(flown.copies(), vec![1; 50]);
        let delays = flown.delays();
        assert!(delays.len() == 50 && delays[0] > 0.0, "{delays:?}");
    }

    #[test]
    fn early_packets_have_negative_delays_and_copies_are_counted() {
        let came = vec![Arrival { number: 1, at: 900 }, Arrival { number: 1, at: 1500 }];
        let flown = Flown { sent: vec![1000, 1000], came };
        assert_eq!(flown.copies(), [0, 2]);
        assert!(flown.delays()[0] < 0.0 && flown.delays()[1] > 0.0);
    }
}
