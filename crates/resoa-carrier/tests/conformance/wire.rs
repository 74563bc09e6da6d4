//! A wire between a client and a server over UDP that loses, repeats and delays datagrams. It has a
//! thread for each direction.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What the wire does to datagrams.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// Shares of datagrams that are lost, and repeated.
    pub loss: f64,
    pub repeated: f64,
    /// Share of datagrams that are delayed, and their longest additional delay.
    pub late: (f64, Duration),
    /// One-way delay.
    pub delay: Duration,
}

/// A wire; see the [module](self). It ends when it is dropped.
pub struct Wire {
    /// Address that the client connects to.
    pub address: SocketAddr,
    pub faults: Arc<Mutex<Faults>>,
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Wire {
    pub fn new(server: SocketAddr, faults: Faults, seed: u64) -> Self {
        let socket = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback");
        let (front, back) = (socket(), socket());
        back.connect(server).expect("loopback");
        front.set_nonblocking(true).expect("it is ours");
        back.set_nonblocking(true).expect("it is ours");
        let address = front.local_addr().expect("is bound");
        let (faults, is_over) = (Arc::new(Mutex::new(faults)), Arc::new(AtomicBool::new(false)));
        // The client's latest address.
        let client = Arc::new(Mutex::new(None));
        let [front, back] = [front, back].map(Arc::new);
        let threads = [true, false].map(|up| {
            let (from, to) = if up { (&front, &back) } else { (&back, &front) };
            let (from, to) = (Arc::clone(from), Arc::clone(to));
            let (faults, is_over, client) = (Arc::clone(&faults), Arc::clone(&is_over), Arc::clone(&client));
            let mut random = ChaCha8Rng::seed_from_u64(seed + u64::from(up));
            thread::spawn(move || {
                let mut air: BTreeMap<(Instant, u64), Vec<u8>> = BTreeMap::new();
                let mut buffer = [0; 2048];
                let mut count = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let due = air.keys().next().map(|(at, _)| *at);
                    let wait = due
                        .map_or(Duration::from_millis(20), |at| at.saturating_duration_since(Instant::now()));
                    let wait = wait.clamp(Duration::from_micros(50), Duration::from_millis(20));
                    // `poll` instead of the socket's time-out, which has only the resolution of the
                    // kernel's tick.
                    let wait = Timespec { tv_sec: 0, tv_nsec: wait.as_nanos() as i64 };
                    let _ = poll(&mut [PollFd::new(&*from, PollFlags::IN)], Some(&wait));
                    if let Ok((length, source)) = from.recv_from(&mut buffer) {
                        if up {
                            *client.lock().expect("ours") = Some(source);
                        }
                        let Faults { loss, repeated, late, delay } = *faults.lock().expect("ours");
                        for _ in 0..=usize::from(random.random_bool(repeated)) {
                            if random.random_bool(loss) {
                                continue;
                            }
                            let later = if random.random_bool(late.0) {
                                late.1.mul_f64(random.random())
                            } else {
                                Duration::ZERO
                            };
                            count += 1;
                            air.insert((Instant::now() + delay + later, count), buffer[..length].to_vec());
                        }
                    }
                    while let Some(entry) = air.first_entry().filter(|entry| entry.key().0 <= Instant::now())
                    {
                        let datagram = entry.remove();
                        let client = *client.lock().expect("ours");
                        let _ = match client {
                            _ if up => to.send(&datagram),
                            Some(client) => to.send_to(&datagram, client),
                            None => Ok(0),
                        };
                    }
                }
            })
        });
        Self { address, faults, is_over, threads: threads.into() }
    }

    /// Sets the faults from now on.
    pub fn set(&self, faults: Faults) {
        *self.faults.lock().expect("ours") = faults;
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
