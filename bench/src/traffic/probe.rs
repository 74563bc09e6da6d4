//! UDP datagrams at a steady rate. What counts is how long each takes.
//!
//! Both ends are on one machine, so one clock times both: the sender right before it sends, and the
//! kernel when the packet comes to the receiving interface. No wake-up of a receiving program is in
//! it.

use super::datagram::{HEAD, Receiver, stamp, wall_clock};
use super::{Watch, Window};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Payload of a datagram in bytes: what a voice frame or a small request takes.
const SIZE: usize = 200;

/// The receiver's sleep between two looks.
const NAP: Duration = Duration::from_millis(10);

/// Sends `rate` datagrams a second in all to `addresses`, one after the other, for `time`, on an
/// absolute timetable.
///
/// # Errors
/// If the kernel refuses to send.
pub fn send(addresses: &[SocketAddr], time: Duration, rate: u32) -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // 1 ns: without it the kernel may add 50 us to every sleep.
    nix::sys::prctl::set_timerslack(1)?;
    let mut datagram = [0x5a; SIZE];
    let clock = ClockId::CLOCK_MONOTONIC;
    let start = Duration::from(clock_gettime(clock)?);
    let count = time.as_nanos() as u64 * u64::from(rate) / 1_000_000_000;
    for (number, address) in (0..count).zip(addresses.iter().cycle()) {
        let at = start + Duration::from_nanos(number * 1_000_000_000 / u64::from(rate));
        // Interrupted by a signal, it only sends early, and the time of sending is in the datagram.
        let _ = clock_nanosleep(clock, ClockNanosleepFlags::TIMER_ABSTIME, &TimeSpec::from(at));
        stamp(&mut datagram[..HEAD], number, wall_clock());
        socket.send_to(&datagram, address)?;
    }
    Ok(())
}

/// One-way delays of a probe.
#[derive(Debug, Clone)]
pub struct Delays {
    /// In nanoseconds, sorted.
    sorted: Vec<i64>,
    /// Datagrams that were sent in the window.
    pub sent: u64,
}

impl Delays {
    /// Datagrams that arrived.
    #[must_use]
    pub fn arrived(&self) -> usize {
        self.sorted.len()
    }

    /// The delay in microseconds that this share (0 to 1) of datagrams did not exceed; 0 is the
    /// shortest.
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
        return Err(io::Error::other("the probe dried up"));
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
