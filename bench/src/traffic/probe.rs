//! UDP datagrams at a steady rate. The result is the delay of each.
//!
//! Both ends are on one machine, so one clock is enough: the sender reads it just before it sends,
//! and the kernel when the packet arrives at the receiving interface. So delays do not include the
//! wake-up of a receiving program.

use super::datagram::{HEAD, Receiver, stamp, wall_clock};
use super::{Watch, Window};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Payload of a datagram in bytes, as of a voice frame or a small request.
const SIZE: usize = 200;

/// The receiver's sleep between two batches.
const NAP: Duration = Duration::from_millis(10);

/// Sends `rate` datagrams per second in total to `addresses` in turn, for `time`, on an absolute
/// schedule.
///
/// # Errors
/// If the kernel refuses to send.
pub fn send(addresses: &[SocketAddr], time: Duration, rate: u32) -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // 1 ns: by default the kernel may add 50 us to every sleep.
    nix::sys::prctl::set_timerslack(1)?;
    let mut datagram = [0x5a; SIZE];
    let clock = ClockId::CLOCK_MONOTONIC;
    let start = Duration::from(clock_gettime(clock)?);
    let count = time.as_nanos() as u64 * u64::from(rate) / 1_000_000_000;
    for (number, address) in (0..count).zip(addresses.iter().cycle()) {
        let at = start + Duration::from_nanos(number * 1_000_000_000 / u64::from(rate));
        // If a signal interrupts the sleep, the datagram only leaves early, with its real sending
        // time.
        let _ = clock_nanosleep(clock, ClockNanosleepFlags::TIMER_ABSTIME, &TimeSpec::from(at));
        stamp(&mut datagram[..HEAD], number, wall_clock());
        socket.send_to(&datagram, address)?;
    }
    Ok(())
}

/// One-way delays of a probe.
#[derive(Debug, Clone)]
pub struct Delays {
    /// Delays in nanoseconds, sorted.
    sorted: Vec<i64>,
    /// Number of datagrams that were sent in the window.
    pub sent: u64,
}

impl Delays {
    /// Returns the number of datagrams that arrived.
    #[must_use]
    pub fn arrived(&self) -> usize {
        self.sorted.len()
    }

    /// Returns the delay in microseconds that this share (0 to 1) of datagrams did not exceed; 0
    /// gives the shortest delay.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let last = self.sorted.len() - 1;
        self.sorted[(last as f64 * share).round() as usize] as f64 / 1000.0
    }
}

/// Measures a probe.
///
/// # Errors
/// If nothing arrives.
pub fn receive(socket: UdpSocket, window: Window, watch: &mut impl Watch) -> io::Result<Delays> {
    let mut receiver = Receiver::new(socket, NAP)?;
    receiver.first()?;
    receiver.until(Instant::now() + window.after, |_| {})?;
    watch.now();
    let (mut sorted, mut lowest, mut highest) = (Vec::new(), u64::MAX, 0);
    receiver.until(Instant::now() + window.length, |arrival| {
        sorted.push(arrival.received.cast_signed() - arrival.sent.cast_signed());
        lowest = lowest.min(arrival.number);
        highest = highest.max(arrival.number);
    })?;
    watch.now();
    if sorted.is_empty() {
        return Err(io::Error::other("no probe arrived during the measurement"));
    }
    sorted.sort_unstable();
    Ok(Delays { sorted, sent: highest + 1 - lowest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_delays_are_microseconds_and_may_be_negative() {
        let delays = Delays { sorted: vec![-500, 1000, 2000, 3000, 9000], sent: 5 };
        assert!((delays.quantile(0.0) - -0.5).abs() < 1e-9);
        assert!((delays.quantile(0.5) - 2.0).abs() < 1e-9);
        assert!((delays.quantile(1.0) - 9.0).abs() < 1e-9);
    }
}
