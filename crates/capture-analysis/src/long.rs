//! Text as tcptrace prints it: one line per connection (`tcptrace -n -b`), or all fields
//! (`tcptrace -n -l`).
//!
//! Times of day are in UTC; tcptrace uses the machine's time zone. These errors of tcptrace 6.6.7
//! are not repeated:
//!
//! * It takes an MSS above 32767 for a negative number.
//! * It cuts off IPv6 addresses.
//! * It sometimes loses a microsecond in elapsed times.
//! * It counts the FIN as a byte of the stream when a reset follows it.
//! * It prints negative missed data modulo 2^64.
//! * It compares the edges of duplicate SACKs without regard to wrapping.
//! * It scales windows by more than 14 bits.

use crate::analysis::Analysis;
use crate::connection::Connection;
use crate::half::Half;
use crate::retransmission::Retransmissions;
use crate::round_trip::RoundTripSummary;
use std::fmt::{self, Display};

/// The long report of one connection.
#[derive(Debug, Clone, Copy)]
pub struct Long<'a> {
    /// The connection.
    pub connection: &'a Connection,
    /// Its number, from 1.
    pub number: usize,
    /// When the capture ended, in nanoseconds since 1970.
    pub end: u64,
    /// Name of the capture.
    pub file: &'a str,
}

/// The one-line report of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Brief<'a> {
    /// The connection.
    pub connection: &'a Connection,
    /// Its number, from 1.
    pub number: usize,
    /// Number of digits of the highest connection number.
    pub digits: usize,
}

/// Returns the letters of the host at `place` (from 0): a, b, ... z, aa, ab, ...
#[must_use]
pub fn letters(place: usize) -> String {
    let (higher, last) = (place / 26, char::from(b'a' + (place % 26) as u8));
    if higher == 0 { last.to_string() } else { letters(higher - 1) + &last.to_string() }
}

/// Returns the letters of both ends of connection `number` (from 1).
#[must_use]
pub fn ends(number: usize) -> [String; 2] {
    [letters(number * 2 - 2), letters(number * 2 - 1)]
}

impl Analysis {
    /// Returns the time of the last packet, in nanoseconds since 1970; 0 without packets.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.times.map_or(0, |times| times.1)
    }
}

impl Display for Brief<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { connection, number, digits } = self;
        let [a, b] = ends(*number);
        let [there, back] = &connection.halves;
        let width = (*digits).max(3);
        write!(
            f,
            "{number:>width$}: {} - {} ({a}2{b}) {:>4}> {:>4}<",
            host(there),
            host(back),
            there.counts.packets,
            back.counts.packets
        )?;
        if connection.is_complete() {
            f.write_str("  (complete)")?;
        }
        if connection.is_reset() {
            f.write_str("  (reset)")?;
        }
        if connection.is_unidirectional() {
            f.write_str("  (unidirectional)")?;
        }
        Ok(())
    }
}

fn host(half: &Half) -> String {
    format!("{}:{}", half.address, half.port)
}

impl Display for Long<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connection = self.connection;
        let [a, b] = ends(self.number);
        writeln!(f, "TCP connection {}:", self.number)?;
        for (letter, half) in [&a, &b].into_iter().zip(&connection.halves) {
            writeln!(f, "\t{:<15}{}", format!("host {letter}:"), host(half))?;
        }
        let counts = format!("(SYNs: {})  (FINs: {})", connection.syns(), connection.fins());
        let ended = match (connection.is_reset(), connection.is_complete()) {
            (false, true) => "yes".to_owned(),
            (true, true) => "RESET".to_owned(),
            (true, false) => format!("RESET\t{counts}"),
            (false, false) => format!("no\t{counts}"),
        };
        writeln!(f, "\tcomplete conn: {ended}")?;
        writeln!(f, "\tfirst packet:  {}", Instant(connection.first_time))?;
        writeln!(f, "\tlast packet:   {}", Instant(connection.last_time))?;
        writeln!(f, "\telapsed time:  {}", Elapsed(connection.elapsed_us()))?;
        let packets: u64 = connection.halves.iter().map(|half| half.counts.packets).sum();
        writeln!(f, "\ttotal packets: {packets}")?;
        writeln!(f, "\tfilename:      {}", self.file)?;
        writeln!(f, "   {a}->{b}:\t\t\t      {b}->{a}:")?;
        rows(connection, self.end).iter().try_for_each(|(label, unit, values)| row(f, label, unit, values))
    }
}

/// Returns label, unit and both values of each line, in tcptrace's order.
#[must_use]
pub fn rows(connection: &Connection, end: u64) -> Vec<(&'static str, &'static str, [String; 2])> {
    let halves = &connection.halves;
    let each = |value: &dyn Fn(&Half) -> String| [value(&halves[0]), value(&halves[1])];
    let count = |value: fn(&Half) -> u64| each(&|half| value(half).to_string());
    let known = |value: fn(&Half) -> Option<u64>| {
        each(&|half| value(half).map_or("NA".to_owned(), |value| value.to_string()))
    };
    let yes = |yes: bool| if yes { "Y" } else { "N" };
    let mut rows = vec![("total packets", "", count(|half| half.counts.packets))];
    if connection.is_reset() {
        rows.push(("resets sent", "", count(|half| half.counts.resets)));
    }
    rows.extend([
        ("ack pkts sent", "", count(|half| half.counts.acks)),
        ("pure acks sent", "", count(|half| half.counts.pure_acks)),
        ("sack pkts sent", "", count(|half| half.counts.sack_packets)),
        ("dsack pkts sent", "", count(|half| half.counts.dsack_packets)),
        ("max sack blks/ack", "", count(|half| half.counts.max_sack_blocks)),
        ("unique bytes sent", "", count(Half::unique_bytes)),
        ("actual data pkts", "", count(|half| half.counts.data_packets)),
        ("actual data bytes", "", count(|half| half.counts.data_bytes)),
        ("rexmt data pkts", "", count(|half| half.counts.retransmitted_packets)),
        ("rexmt data bytes", "", count(|half| half.counts.retransmitted_bytes)),
        ("zwnd probe pkts", "", count(|half| half.counts.probe_packets)),
        ("zwnd probe bytes", "", count(|half| half.counts.probe_bytes)),
        ("outoforder pkts", "", count(|half| half.counts.out_of_order_packets)),
        ("pushed data pkts", "", count(|half| half.counts.pushed_packets)),
        ("SYN/FIN pkts sent", "", each(&|half| format!("{}/{}", half.counts.syns, half.counts.fins))),
    ]);
    if halves.iter().any(|half| half.offer.window_scale.is_some() || half.offer.timestamps) {
        let offers = each(&|half| {
            format!("{}/{}", yes(half.offer.window_scale.is_some()), yes(half.offer.timestamps))
        });
        rows.push(("req 1323 ws/ts", "", offers));
    }
    if halves.iter().any(|half| half.offer.window_scale.is_some()) {
        let scales = [0, 1].map(|half| connection.window_scale(half).to_string());
        rows.push(("adv wind scale", "", scales));
    }
    if halves.iter().any(|half| half.offer.sack) {
        rows.push(("req sack", "", each(&|half| yes(half.offer.sack).to_owned())));
        rows.push(("sacks sent", "", count(|half| half.counts.sacks)));
    }
    rows.extend([
        ("urgent data pkts", "pkts", count(|half| half.counts.urgent_packets)),
        ("urgent data bytes", "bytes", count(|half| half.counts.urgent_bytes)),
        ("mss requested", "bytes", count(|half| half.offer.maximum_segment.into())),
        ("max segm size", "bytes", count(|half| half.counts.max_segment)),
        ("min segm size", "bytes", count(|half| half.counts.min_segment)),
        ("avg segm size", "bytes", count(Half::mean_segment)),
        ("max win adv", "bytes", count(|half| half.windows.max)),
        ("min win adv", "bytes", count(|half| half.windows.min)),
        ("zero win adv", "times", count(|half| half.windows.zero)),
        ("avg win adv", "bytes", [0, 1].map(|half| connection.mean_window(half).to_string())),
        ("initial window", "bytes", count(|half| half.counts.initial_window_bytes)),
        ("initial window", "pkts", count(|half| half.counts.initial_window_packets)),
        ("ttl stream length", "bytes", known(Half::stream_length)),
        ("missed data", "bytes", known(Half::missed_bytes)),
        ("truncated data", "bytes", count(|half| half.counts.truncated_bytes)),
        ("truncated packets", "pkts", count(|half| half.counts.truncated_packets)),
        ("data xmit time", "secs", each(&|half| format!("{:.3}", half.data_time_us() as f64 / 1e6))),
        (
            "idletime max",
            "ms",
            [0, 1].map(|half| {
                let idle = connection.idle_max_us(half, end);
                idle.map_or("NA".to_owned(), |micros| format!("{:.1}", micros as f64 / 1e3))
            }),
        ),
        (
            "throughput",
            "Bps",
            [0, 1]
                .map(|half| connection.throughput(half).map_or("NA".to_owned(), |rate| format!("{rate:.0}"))),
        ),
    ]);
    rows
}

/// Fields of a connection that tcptrace does not have, in the same two columns.
#[derive(Debug, Clone, Copy)]
pub struct More<'a>(pub &'a Connection);

/// Long silences of a connection, one per line (TL-25).
#[derive(Debug, Clone, Copy)]
pub struct Silences<'a> {
    /// The connection.
    pub connection: &'a Connection,
    /// Its number, from 1.
    pub number: usize,
}

impl Display for More<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let halves = &self.0.halves;
        let trips = halves.each_ref().map(Half::round_trips);
        let causes = halves.each_ref().map(Half::retransmissions);
        let time = |get: fn(&RoundTripSummary) -> u64| {
            trips.each_ref().map(|trips| match trips.count {
                0 => "NA".to_owned(),
                _ => format!("{:.3}", get(trips) as f64 / 1e6),
            })
        };
        let cause =
            |get: fn(&Retransmissions) -> u64| causes.each_ref().map(|causes| get(causes).to_string());
        let count = |get: fn(&Half) -> u64| halves.each_ref().map(|half| get(half).to_string());
        let rows = [
            ("rtt samples", "", trips.each_ref().map(|trips| trips.count.to_string())),
            ("rtt min", "ms", time(|trips| trips.min_ns)),
            ("rtt mean", "ms", time(|trips| trips.mean_ns)),
            ("rtt median", "ms", time(|trips| trips.median_ns)),
            ("rtt p95", "ms", time(|trips| trips.p95_ns)),
            ("rtt p99", "ms", time(|trips| trips.p99_ns)),
            ("rtt max", "ms", time(|trips| trips.max_ns)),
            ("rtt stdev", "ms", time(|trips| trips.stdev_ns)),
            ("rexmt fast", "", cause(|causes| causes.fast)),
            ("rexmt rack", "", cause(|causes| causes.rack)),
            ("rexmt timeout", "", cause(|causes| causes.timeout)),
            ("rexmt tail probe", "", cause(|causes| causes.tail_probe)),
            ("rexmt keep-alive", "", cause(|causes| causes.keep_alive)),
            ("rexmt unknown", "", cause(|causes| causes.unknown)),
            ("spurious by stamps", "", cause(|causes| causes.spurious_by_timestamps)),
            ("spurious by dsack", "", cause(|causes| causes.spurious_by_dsack)),
            ("timeouts", "", cause(|causes| causes.timeouts)),
            ("duplicate acks", "", count(|half| half.counts.duplicate_acks)),
            ("3rd duplicate acks", "", count(|half| half.counts.triple_duplicate_acks)),
            ("sack blocks sent", "", count(|half| half.counts.sack_blocks)),
            ("CE marked pkts", "", count(|half| half.counts.ce_packets)),
            ("CWR pkts sent", "", count(|half| half.counts.cwr_packets)),
            ("ECE pkts sent", "", count(|half| half.counts.ece_packets)),
        ];
        rows.iter().try_for_each(|(label, unit, values)| row(f, label, unit, values))
    }
}

impl Display for Silences<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends = ends(self.number);
        let gaps = &self.connection.gaps;
        for gap in &gaps.gaps {
            let from = gap.from_ns.saturating_sub(self.connection.first_time) as f64 / 1e9;
            let length = gap.length_ns as f64 / 1e9;
            let waiting = match gap.outstanding {
                [true, true] => ", data of both ends outstanding".to_owned(),
                [true, false] => format!(", data of {} outstanding", ends[0]),
                [false, true] => format!(", data of {} outstanding", ends[1]),
                [false, false] => ", no data outstanding".to_owned(),
            };
            writeln!(
                f,
                "\tsilent for {length:.3} s from {from:.3} s on{waiting}; ended with {} of {} at byte {}",
                gap.ended_with, ends[gap.ended_by], gap.sequence
            )?;
        }
        let more = gaps.count - gaps.gaps.len() as u64;
        if more > 0 { writeln!(f, "\tand {more} more silences") } else { Ok(()) }
    }
}

/// Prints one line of two columns.
fn row(f: &mut fmt::Formatter<'_>, label: &str, unit: &str, values: &[String; 2]) -> fmt::Result {
    let label = format!("{label}:");
    for value in values {
        // tcptrace omits the unit of unavailable values, except for times in milliseconds.
        let unit = if value == "NA" && unit != "ms" { "" } else { unit };
        write!(f, "     {label:<20}{value:>8} {unit:<5}")?;
    }
    writeln!(f)
}

/// A length of time, in microseconds, as `h:mm:ss.ffffff`.
#[derive(Debug, Clone, Copy)]
pub struct Elapsed(pub u64);

/// An instant, in nanoseconds since 1970, as `Sun Sep  9 01:46:40.010000 2001`.
struct Instant(u64);

impl Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, micros) = (self.0 / 1_000_000, self.0 % 1_000_000);
        write!(f, "{}:{:02}:{:02}.{micros:06}", seconds / 3600, seconds / 60 % 60, seconds % 60)
    }
}

impl Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
        const MONTHS: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let (seconds, micros) = (self.0 / 1_000_000_000, self.0 / 1000 % 1_000_000);
        let (days, second) = (seconds / 86_400, seconds % 86_400);
        let (year, month, day) = date(days);
        write!(
            f,
            "{} {} {day:>2} {:02}:{:02}:{:02}.{micros:06} {year}",
            DAYS[(days % 7) as usize],
            MONTHS[month],
            second / 3600,
            second / 60 % 60,
            second % 60
        )
    }
}

/// Returns year, month (from 0) and day in the Gregorian calendar; `days` count from 1970.
fn date(mut days: u64) -> (u64, usize, u64) {
    let mut year = 1970;
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let lengths = [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_as_ctime_prints_them() {
        let cases = [
            (0, "Thu Jan  1 00:00:00.000000 1970"),
            (1_000_000_000_010_000_000, "Sun Sep  9 01:46:40.010000 2001"),
            (951_782_400_000_000_000, "Tue Feb 29 00:00:00.000000 2000"),
            (4_107_542_399_999_999_999, "Sun Feb 28 23:59:59.999999 2100"),
        ];
        for (nanos, text) in cases {
            assert_eq!(Instant(nanos).to_string(), text);
        }
        assert_eq!(Elapsed(3_723_000_004).to_string(), "1:02:03.000004");
    }

    #[test]
    fn hosts_are_lettered() {
        let all: Vec<_> = [0, 25, 26, 27, 701, 702].into_iter().map(letters).collect();
        assert_eq!(all, ["a", "z", "aa", "ab", "zz", "aaa"]);
    }
}
