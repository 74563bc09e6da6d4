//! Scripts of hosts: a transfer between two hosts, and the packets that must be on their link.
//!
//! The format is that of the scripts of links (`crates/emulator/tests/scripts/script.rs`), with the
//! difference that real TCPs send the packets, and the script states which:
//!
//! ```text
//! # What it shows, and the derivation of its times.
//! --stack ns-2                              # hosts, as in a plan
//! --sysctl net.ipv4.tcp_sack=1              # of both hosts
//! --down delay=50ms                         # parameters of the link, from the sender of the data
//! --up delay=50ms
//! --lose down 3,7-9                         # numbers of packets that the link loses
//! --write 0 20000                           # the program connects at 0 s and writes 20 000 bytes
//! --read 0.5 1000                           # the receiver does not read before, and then 1000 bytes
//! --breaks net.ipv4.tcp_period_reno=0       # with this value, the script must not hold
//!
//! 0.1         > down 1052B seq 1:1001       # TCP hands a packet to the link
//! 0.1         x down #3 1052B               # the link loses a packet
//! 0.15        < down #2 1052B               # a packet comes out
//! ...                                       # packets that the script does not state
//! 0.2         > up 52B ack 1001
//! ... up                                    # the same, of one direction
//! ```
//!
//! * The ticks of all clocks of the hosts are at multiples of their length.
//! * The words behind the length of a sent packet are those of [`Stated`].
//! * Each packet that TCP sends must be in the script, at the stated time and in the order of its
//!   direction. `...` permits others, after the time of the line above it, and in each direction
//!   until the next stated packet.
//! * A packet that is lost needs a line (`x`), with its number. A line for the end of other packets
//!   (`<`) is optional: what links do is tested elsewhere.
//! * Without `--read`, the receiver reads everything at once, and so it does after the last
//!   `--read`.
//! * `--mtu`, `--receive-window` and `--initial-window` are as in a plan.

use crate::line::{self, Clock, ScriptError, packet, without_comment, word};
use crate::segment::Stated;
use link::Direction;
use link::units::Time;
use std::fmt;

/// A parsed script.
#[derive(Debug, Default)]
pub struct Exchange {
    /// Name of its file, for errors.
    pub file: String,
    /// Fields of the plan's scenario: name and value.
    pub scenario: Vec<(&'static str, String)>,
    /// Names and values of sysctls.
    pub sysctls: Vec<(String, String)>,
    /// Parameters of the link.
    pub link: Vec<(Direction, String)>,
    /// Numbers of packets that the link loses.
    pub lost: Vec<(Direction, String)>,
    /// Times of the program's writes, with the numbers of bytes. It connects before the first.
    pub writes: Vec<(Time, usize)>,
    /// Times of the receiver's first reads, with the numbers of bytes.
    pub reads: Vec<(Time, usize)>,
    /// Sysctls with values that break the script.
    pub breaking: Vec<(String, String)>,
    /// Lines after the head, in order.
    pub lines: Vec<(usize, Line)>,
}

/// A line after the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Sent(Packet),
    Came(Packet),
    Lost(Packet),
    /// Packets that the script does not state, in one direction or in both.
    Others(Option<Direction>),
}

/// A packet on the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    pub at: Time,
    pub direction: Direction,
    /// Number in its direction, from 0.
    pub number: Option<u64>,
    /// Length in bytes of IP.
    pub length: usize,
    pub tcp: Stated,
}

const OPTIONS: &str = "--stack, --mtu, --receive-window, --initial-window, --sysctl, --up, --down, --lose, \
                       --write, --read, --breaks";

impl Exchange {
    /// Parses a script; `file` is its name in errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScriptError> {
        let mut exchange = Self { file: file.to_owned(), ..Self::default() };
        let mut clock = Clock::default();
        for (line, content) in (1..).zip(text.lines()) {
            let read = exchange.read(&mut clock, line, &without_comment(content));
            read.map_err(|why| ScriptError { file: file.to_owned(), line, why })?;
        }
        Ok(exchange)
    }

    fn read(&mut self, clock: &mut Clock, line: usize, content: &str) -> Result<(), String> {
        let Some((first, rest)) = word(content) else { return Ok(()) };
        if let Some(option) = first.strip_prefix("--") {
            return self.option(option, rest);
        }
        let read = match first {
            "..." if rest.is_empty() => Line::Others(None),
            "..." => Line::Others(Some(line::direction(rest)?)),
            time => packet_line(clock, time, rest)?,
        };
        self.lines.push((line, read));
        Ok(())
    }

    fn option(&mut self, option: &str, value: &str) -> Result<(), String> {
        if value.is_empty() {
            return Err("the value of the option is missing".to_owned());
        }
        match option {
            "stack" => self.scenario.push(("stack", value.to_owned())),
            "mtu" => self.scenario.push(("mtu", value.to_owned())),
            "receive-window" => self.scenario.push(("receive-window", value.to_owned())),
            "initial-window" => self.scenario.push(("initial-window", value.to_owned())),
            "sysctl" => self.sysctls.push(assignment(value)?),
            "breaks" => self.breaking.push(assignment(value)?),
            "up" | "down" => self.link.push((line::direction(option)?, value.to_owned())),
            "lose" => {
                let (direction, numbers) = word(value).ok_or("write --lose DIRECTION NUMBERS")?;
                self.lost.push((line::direction(direction)?, numbers.to_owned()));
            }
            "write" => self.writes.push(amount(option, value)?),
            "read" => self.reads.push(amount(option, value)?),
            other => return Err(format!("there is no --{other}: there are {OPTIONS}")),
        }
        Ok(())
    }
}

/// Parses a time and a number of bytes.
fn amount(option: &str, text: &str) -> Result<(Time, usize), String> {
    let (time, bytes) = word(text).ok_or_else(|| format!("write --{option} TIME BYTES"))?;
    let bytes = bytes.parse().map_err(|_| format!("`{bytes}` is no number of bytes"))?;
    Ok((Time::from_nanos(line::nanos(time)?), bytes))
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}`: write NAME=VALUE"))?;
    Ok((name.to_owned(), value.to_owned()))
}

fn packet_line(clock: &mut Clock, time: &str, rest: &str) -> Result<Line, String> {
    let event = clock.event(time, rest, "> < x")?;
    let (number, length, tcp) = packet(event.rest)?;
    if event.sign != ">" && !tcp.is_empty() {
        return Err(format!("`{tcp}`: the line that sends the packet says what TCP it is"));
    }
    let tcp = Stated::parse(tcp)?;
    let packet = Packet { at: event.at, direction: event.direction, number, length, tcp };
    Ok(match event.sign {
        ">" => Line::Sent(packet),
        _ if number.is_none() => return Err("say of which packet: #N".to_owned()),
        "<" => Line::Came(packet),
        _ => Line::Lost(packet),
    })
}

impl Line {
    /// Time of the packet; `None` for packets that are not stated.
    pub fn at(&self) -> Option<Time> {
        match self {
            Self::Sent(packet) | Self::Came(packet) | Self::Lost(packet) => Some(packet.at),
            Self::Others(_) => None,
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, Packet { at, direction, number, length, tcp }) = match self {
            Self::Sent(packet) => ('>', packet),
            Self::Came(packet) => ('<', packet),
            Self::Lost(packet) => ('x', packet),
            Self::Others(None) => return f.write_str("..."),
            Self::Others(Some(direction)) => return write!(f, "... {direction}"),
        };
        write!(f, "{at} {sign} {direction} ")?;
        if let Some(number) = number {
            write!(f, "#{number} ")?;
        }
        write!(f, "{length}B{tcp}")
    }
}
