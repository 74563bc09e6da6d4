//! Utilization of the link below a download (Ludwig 1.1, 3.1.2, 3.2.2; LL-15, LL-16): U = (T -
//! T_idle - T_spurious) / T.
//!
//! * T is the time from the connection's first packet at the sender to its last one. So handshake,
//!   slow start and close always keep U below 100 %.
//! * T_idle is the sum of the gaps between frames in which the link layer had nothing to send
//!   ([`super::idle`]). Gaps that the link layer itself causes (flow control, a full window,
//!   recovery, resets) are neither idle nor wasted.
//! * T_spurious is the link time of spurious TCP retransmissions, as found by [`crate::spurious`]:
//!   the time in which the link was not idle, times their share of all octets handed to the link
//!   layer. So it contains what a frame costs, including link-layer retransmissions and flow
//!   control. Spurious segments that were lost before the link cost the link nothing. They are left
//!   out where the receiver's capture shows the loss.
//!
//! Link-layer retransmissions of erased frames are not wasted: they are first successes. For a link
//! without a link layer, the event log shows what its limiter sent. If the limiter's rate is a
//! trace, T, `T_idle` and `T_spurious` are measured by what it could have sent
//! ([`super::limiter`]): U is the share of all capacity in T that carried useful data.

use super::cause::{Phase, Transport, Waiting, phases};
use super::idle::{Gap, Hold, gaps};
use super::limiter::Limiter;
use super::monitor::End;
use crate::spurious::utilization::Period;

/// Octets that a frame of the link layer above RLP adds to an IP packet: protocol, checksum and
/// flag of PPP (Ludwig 3.2.4).
pub const FRAMING_OCTETS: u64 = 7;

/// Data about the link below: its end that sends the data, or its limiter.
#[derive(Debug, Clone, Copy)]
pub enum Below<'a> {
    /// A monitor of a link layer's end.
    End(&'a End),
    /// A limiter, from the event log.
    Limiter(&'a Limiter),
}

/// Use of the link during a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// Time of the connection's first packet, in nanoseconds since 1970.
    pub from: u64,
    /// Time of its last packet.
    pub to: u64,
    /// Length, idle time and spurious time of the period.
    pub period: Period,
    /// Idle phases with what TCP waited for, in the order of time.
    pub idle: Vec<Phase>,
    /// Gaps that the link layer itself caused.
    pub held: Vec<Gap>,
    /// User octets handed to the link.
    pub octets: u64,
    /// Octets of these that were spurious, framing included.
    pub spurious_octets: u64,
}

/// Computes the use of the link from `from` to `to`.
///
/// `spurious` is the number of spurious packets, and their bytes at IP.
#[must_use]
pub fn of(below: Below<'_>, transport: &Transport<'_>, from: u64, to: u64, spurious: (u64, u64)) -> Use {
    let (gaps, octets, framing) = match below {
        Below::End(end) => (gaps(end, from, to), end.octets(from, to), FRAMING_OCTETS),
        Below::Limiter(limiter) => (limiter.gaps(from, to), limiter.octets(from, to), 0),
    };
    let idle = phases(&gaps, transport);
    let length_ns = to.saturating_sub(from);
    let idle_ns: u64 = idle.iter().map(|phase| phase.length_ns).sum::<u64>().min(length_ns);
    let spurious_octets = (spurious.1 + spurious.0 * framing).min(octets);
    let busy = u128::from(length_ns.saturating_sub(idle_ns));
    let share = busy * u128::from(spurious_octets);
    let spurious_ns = share.checked_div(u128::from(octets)).map_or(0, |nanos| nanos as u64);
    let held = gaps.into_iter().filter(|gap| gap.held.is_some()).collect();
    let period = Period { length_ns, idle_ns, spurious_ns };
    Use { from, to, period, idle, held, octets, spurious_octets }
}

impl Use {
    /// Returns the number of idle phases with this reason, and their total length in nanoseconds.
    #[must_use]
    pub fn waited(&self, waiting: Waiting) -> (usize, u64) {
        sum(self.idle.iter().filter(|phase| phase.waiting == waiting).map(|phase| phase.length_ns))
    }

    /// Returns the number of gaps with this reason, and their total length in nanoseconds.
    #[must_use]
    pub fn held(&self, hold: Hold) -> (usize, u64) {
        sum(self.held.iter().filter(|gap| gap.held == Some(hold)).map(|gap| gap.length_ns))
    }

    /// Returns the reason with the most idle time; `None` without idle time.
    #[must_use]
    pub fn most_waited(&self) -> Option<Waiting> {
        let waited = Waiting::ALL.into_iter().rev().map(|waiting| (self.waited(waiting).1, waiting));
        waited.filter(|(nanos, _)| *nanos > 0).max_by_key(|(nanos, _)| *nanos).map(|(_, waiting)| waiting)
    }
}

fn sum(lengths: impl Iterator<Item = u64>) -> (usize, u64) {
    lengths.fold((0, 0), |(count, nanos), length| (count + 1, nanos + length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::cause::tests::{transport, with};
    use crate::layers::monitor::{Event, Record};

    const MS: u64 = 1_000_000;

    /// A link that sends a frame of 24 octets every 20 ms from 0 to `ms`, except during `without`;
    /// every `again`th frame is a retransmission.
    fn link(ms: u64, without: std::ops::Range<u64>, again: u64) -> End {
        let record = |place: u64| {
            let event = if again > 0 && place % again == 1 { Event::Again } else { Event::Data };
            let octets = if event == Event::Data { 24 } else { 0 };
            Record { time: place * 20 * MS, sent: true, event, number: (place % 62) as u16, octets }
        };
        let records = (0..ms / 20).filter(|place| !without.contains(&(place * 20))).map(record).collect();
        End { title: String::new(), period_ns: 20 * MS, records }
    }

    /// LL-15: 10 % idle time gives exactly 90 %, and RLP's retransmissions do not reduce it.
    #[test]
    fn ll_15_a_tenth_idle_makes_ninety_per_cent() {
        let flow = with(&[(0, 1, 461), (99_000, 461, 921)], &[(98_995, 461)]);
        for again in [0, 3] {
            let used = of(
                Below::End(&link(100_000, 30_000..40_000, again)),
                &transport(&flow),
                0,
                100_000 * MS,
                (0, 0),
            );
            assert_eq!(used.period.utilization(), Some(0.9), "{again}");
            let phases: Vec<_> = used.idle.iter().map(|phase| (phase.from / MS, phase.to / MS)).collect();
            assert_eq!(phases, [(30_000, 40_000)]);
            assert!(used.held.is_empty());
        }
        let whole = of(Below::End(&link(100_000, 0..0, 0)), &transport(&flow), 0, 100_000 * MS, (0, 0));
        assert_eq!((whole.period.utilization(), whole.most_waited()), (Some(1.0), None));
    }

    /// LL-15: a spurious window of 18 segments of 512 bytes costs its share: 18 x 519 of 120 000
    /// octets.
    #[test]
    fn ll_15_a_spurious_window_costs_its_share() {
        let flow = with(&[(0, 1, 461), (99_000, 461, 921)], &[(98_995, 461)]);
        let used =
            of(Below::End(&link(100_000, 0..0, 0)), &transport(&flow), 0, 100_000 * MS, (18, 18 * 512));
        assert_eq!((used.octets, used.spurious_octets), (120_000, 18 * 519));
        assert_eq!(used.period.utilization(), Some(1.0 - 18.0 * 519.0 / 120_000.0));
        // With a tenth idle, the same octets took the same link time: 20 ms for 24 octets.
        let used = of(
            Below::End(&link(100_000, 30_000..40_000, 0)),
            &transport(&flow),
            0,
            100_000 * MS,
            (18, 18 * 512),
        );
        assert_eq!(used.period.spurious_ns, 18 * 519 * 20 * MS / 24);
        // Spurious octets are limited to those that were on the link.
        let used = of(Below::End(&link(1000, 0..0, 0)), &transport(&flow), 0, 1000 * MS, (18, 18 * 512));
        assert_eq!((used.period.utilization(), used.spurious_octets), (Some(0.0), used.octets));
    }

    /// LL-15, L 3.2.5: time held by flow control is not wasted by TCP.
    #[test]
    fn ll_15_flow_control_is_not_idle() {
        let flow = with(&[(0, 1, 461), (99_000, 461, 921)], &[(98_995, 461)]);
        let mut end = link(100_000, 50_000..51_000, 0);
        let place = end.records.partition_point(|record| record.time < 50_000 * MS);
        let word = |time, event| Record { time, sent: false, event, number: 0, octets: 0 };
        end.records.insert(place, word(50_000 * MS, Event::XOff));
        end.records.insert(place + 1, word(51_000 * MS, Event::XOn));
        let used = of(Below::End(&end), &transport(&flow), 0, 100_000 * MS, (0, 0));
        assert_eq!(used.period.utilization(), Some(1.0));
        assert_eq!(used.held(Hold::FlowControl), (1, 1_000 * MS));
        assert_eq!(used.held(Hold::Window), (0, 0));
    }
}
