//! Compares the packets on a link with a script of hosts.

use crate::exchange::{Exchange, Line, Packet};
use crate::segment::Shown;
use link::Direction;
use link::units::Time;
use std::fmt;

/// Largest distance of a packet's time from that of the script, in nanoseconds.
///
/// It covers the readings of clocks (16 ns each) in kernels and programs, and the difference of
/// some 300 ns between the clock of captures and those of the hosts. System calls have no price
/// here.
pub const TOLERANCE: u64 = 1_000;

/// A packet that TCP sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// When TCP handed it to the link.
    pub at: Time,
    pub direction: Direction,
    /// Number in its direction, from 0.
    pub number: u64,
    pub length: usize,
    pub tcp: Shown,
    /// When it left the link or was lost.
    pub end: Time,
    pub lost: bool,
}

/// Returns the first difference in each direction, and all differences of ends.
pub fn mismatches(script: &Exchange, seen: &[Seen]) -> Vec<String> {
    let mut wrong = Vec::new();
    for direction in Direction::BOTH {
        let seen: Vec<_> = seen.iter().filter(|one| one.direction == direction).collect();
        wrong.extend(sending(script, direction, &seen).err());
    }
    wrong.extend(ends(script, seen));
    wrong
}

/// Compares what TCP sent in one direction.
fn sending(script: &Exchange, direction: Direction, seen: &[&Seen]) -> Result<(), String> {
    let mut left = seen.iter().copied().peekable();
    let (mut now, mut others, mut last) = (Time::ZERO, false, 1);
    let more = |line: usize, one: &Seen| {
        format!("{}:{line}: expected: nothing more\n actual: {}", script.file, Sign('>', one))
    };
    for (number, line) in &script.lines {
        match line {
            Line::Others(of) if of.is_none_or(|of| of == direction) => {
                if let Some(one) = left.next_if(|one| !others && !is_later(one.at, now)) {
                    return Err(more(last, one));
                }
                others = true;
            }
            Line::Sent(packet) if packet.direction == direction => {
                let is_other = |one: &&Seen| !is_sent(packet, one) && !is_later(one.at, packet.at);
                while others && left.next_if(is_other).is_some() {}
                let Some(found) = left.next_if(|one| is_sent(packet, one)) else {
                    return Err(difference(script, *number, line, left.next(), '>'));
                };
                let is_its =
                    |(_, line): &(usize, Line)| matches!(line, Line::Lost(end) if is_end(end, found));
                if found.lost && !script.lines.iter().any(is_its) {
                    return Err(difference(script, *number, line, Some(found), 'x'));
                }
                (others, last) = (false, *number);
            }
            _ => {}
        }
        now = line.at().unwrap_or(now);
    }
    match left.next() {
        Some(one) if !others => Err(more(last, one)),
        _ => Ok(()),
    }
}

/// Compares the ends of packets that the script states.
fn ends(script: &Exchange, seen: &[Seen]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (number, line) in &script.lines {
        let (packet, lost) = match line {
            Line::Came(packet) => (packet, false),
            Line::Lost(packet) => (packet, true),
            Line::Sent(_) | Line::Others(_) => continue,
        };
        let found = seen.iter().find(|one| is_end(packet, one));
        let is_right =
            |one: &Seen| one.lost == lost && one.length == packet.length && is_near(packet.at, one.end);
        let right = found.is_some_and(is_right);
        if !right {
            let sign = if found.is_some_and(|one| one.lost) { 'x' } else { '<' };
            wrong.push(difference(script, *number, line, found, sign));
        }
    }
    wrong
}

fn is_end(packet: &Packet, seen: &Seen) -> bool {
    packet.direction == seen.direction && packet.number == Some(seen.number)
}

fn is_sent(packet: &Packet, seen: &Seen) -> bool {
    packet.length == seen.length
        && packet.tcp.is(&seen.tcp)
        && is_near(packet.at, seen.at)
        && packet.number.is_none_or(|its| its == seen.number)
}

fn is_near(stated: Time, actual: Time) -> bool {
    stated.as_nanos().abs_diff(actual.as_nanos()) <= TOLERANCE
}

/// Tells whether a packet at `at` is later than a line at `line`.
fn is_later(at: Time, line: Time) -> bool {
    at.as_nanos() > line.as_nanos() + TOLERANCE
}

fn difference(script: &Exchange, number: usize, line: &Line, actual: Option<&Seen>, sign: char) -> String {
    let actual = actual.map_or_else(|| "nothing".to_owned(), |one| Sign(sign, one).to_string());
    format!("{}:{number}: expected: {line}\n actual: {actual}", script.file)
}

/// Shows a packet as a line of a script.
pub struct Sign<'a>(pub char, pub &'a Seen);

impl fmt::Display for Sign<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(sign, Seen { at, direction, number, length, tcp, end, .. }) = self;
        let at = if *sign == '>' { at } else { end };
        write!(f, "{at} {sign} {direction} #{number} {length}B{tcp}")
    }
}
