//! Packet scripts: packets that enter a link and packets that must leave it, to the nanosecond.
//!
//! The format follows packetdrill (Cardwell et al., USENIX ATC 2013), for a link instead of a TCP:
//!
//! ```text
//! # What it shows, and the arithmetic of its times.
//! --down rate=2mbit,delay=30ms,queue=50p     # options of `lasthop link`
//! --seed 7
//!
//! 0.000       > down 1000B                   # a packet of so many bytes of IP comes to the link
//! +0.5ms      > up 40B                       # so long after the line above
//! 2ms         x down #1 1000B queue full     # a packet is lost, and why
//! 3ms         ! up rate=1mbit                # `lasthop link set up rate=1mbit`
//! 0.034       < down #0 1000B                # a packet comes out at the other end
//! 0.034       < down #0 1000B duplicate      # so does a copy of it
//! ```
//!
//! * `#` begins a comment unless a digit follows.
//! * Lines are in order of time. A bare time is in seconds since the start of the link; the units
//!   are `s`, `ms`, `us` and `ns`.
//! * `#N` is the number of a packet in its direction, from 0, as in captures and event logs. An end
//!   without a number belongs to the oldest packet of its direction that has no end yet.
//! * The words behind the length are everything that the link did to the packet, as
//!   [`link::Effect`] prints it, separated by commas. For a lost packet, the cause ([`link::Loss`])
//!   comes last. No words mean no effects.
//! * A script is complete: each packet ends in it, and no other packet comes out. Packets that
//!   leave at one instant leave in the order of the lines. Losses at one instant have no order.
//! * `file NAME`, followed by lines that begin with `|`, is a file for options that name one
//!   (`--profile NAME`, `trace=NAME`).
//! * A change (`!`) comes after everything else at its instant.

#[path = "line.rs"]
pub mod line;

pub use line::ScriptError;
use line::{Clock, packet, without_comment, word};
use link::Direction;
use link::units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A parsed script.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// Name of its file, for errors.
    pub file: String,
    /// Options in order, each with its line.
    pub options: Vec<(usize, Setting, String)>,
    /// Contents of embedded files by name.
    pub files: BTreeMap<String, Text>,
    /// Packets that enter, in order.
    pub arrivals: Vec<(usize, Arrival)>,
    /// Ends of these packets, in order.
    pub ends: Vec<(usize, End)>,
    /// Changes of the link, in order.
    pub changes: Vec<(usize, Change)>,
}

/// An option in the head of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    Seed,
    Profile,
    Loss,
    /// `--arq`.
    LinkLayer,
    Parameters(Direction),
}

/// A file within a script.
#[derive(Debug, Clone, Default)]
pub struct Text {
    /// Line of the script that has the file's first line.
    pub line: usize,
    pub text: String,
}

/// A packet enters the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    pub at: Time,
    pub direction: Direction,
    pub number: u64,
    /// Length in bytes of IP.
    pub length: usize,
}

/// A packet leaves the link or is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    pub at: Time,
    pub direction: Direction,
    pub number: u64,
    pub length: usize,
    pub lost: bool,
    /// Effects of the link on it.
    pub effects: String,
}

/// A change of the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub at: Time,
    pub direction: Direction,
    pub parameters: String,
}

/// Name of the effect that makes a packet a copy.
const COPY: &str = "duplicate";

impl End {
    /// Tells whether this packet is a copy that the link made.
    pub fn is_copy(&self) -> bool {
        self.effects.split(", ").any(|effect| effect == COPY)
    }

    /// Identifies the packet: direction, number, whether it is a copy.
    pub fn packet(&self) -> (Direction, u64, bool) {
        (self.direction, self.number, self.is_copy())
    }
}

impl Script {
    /// Parses a script; `file` is its name in errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScriptError> {
        let mut reader = Reader::default();
        for (line, content) in (1..).zip(text.lines()) {
            reader.read(line, content).map_err(|why| ScriptError { file: file.to_owned(), line, why })?;
        }
        Ok(Self { file: file.to_owned(), ..reader.script })
    }

    /// Creates an error for this line.
    pub fn error(&self, line: usize, why: impl fmt::Display) -> ScriptError {
        ScriptError { file: self.file.clone(), line, why: why.to_string() }
    }
}

#[derive(Default)]
struct Reader {
    script: Script,
    clock: Clock,
    /// The file that lines with a bar belong to.
    open_file: Option<String>,
    /// Packets without an end so far, by direction.
    open: BTreeMap<Direction, BTreeSet<u64>>,
}

impl Reader {
    fn read(&mut self, line: usize, content: &str) -> Result<(), String> {
        if let Some(text) = content.strip_prefix('|') {
            return self.line_of_file(line, text.strip_prefix(' ').unwrap_or(text));
        }
        let content = without_comment(content);
        let Some((first, rest)) = word(&content) else { return Ok(()) };
        if first == "file" {
            self.open_file = Some(rest.to_owned());
            let known =
                self.script.files.insert(rest.to_owned(), Text { line: line + 1, text: String::new() });
            return if known.is_some() { Err(format!("there are two files {rest}")) } else { Ok(()) };
        }
        self.open_file = None;
        match first.strip_prefix("--") {
            Some(option) => self.option(line, option, rest),
            None => self.event(line, first, rest),
        }
    }

    fn line_of_file(&mut self, line: usize, text: &str) -> Result<(), String> {
        let file = self.open_file.as_ref().and_then(|name| self.script.files.get_mut(name));
        let Some(file) = file else { return Err("no `file NAME` above says whose line this is".to_owned()) };
        if file.line + file.text.lines().count() != line {
            return Err("lines of a file follow each other".to_owned());
        }
        file.text.push_str(text);
        file.text.push('\n');
        Ok(())
    }

    fn option(&mut self, line: usize, option: &str, value: &str) -> Result<(), String> {
        let option = match option {
            "seed" => Setting::Seed,
            "profile" => Setting::Profile,
            "loss" => Setting::Loss,
            "arq" => Setting::LinkLayer,
            "up" => Setting::Parameters(Direction::Up),
            "down" => Setting::Parameters(Direction::Down),
            other => {
                return Err(format!(
                    "there is no --{other}: there are --up, --down, --profile, --loss, --arq, --seed"
                ));
            }
        };
        if value.is_empty() {
            return Err("the value of the option is missing".to_owned());
        }
        self.script.options.push((line, option, value.trim_matches('"').to_owned()));
        Ok(())
    }

    fn event(&mut self, line: usize, time: &str, rest: &str) -> Result<(), String> {
        let line::Event { at, sign, direction, rest } = self.clock.event(time, rest, "> < x !")?;
        match sign {
            ">" => self.arrival(line, at, direction, rest),
            "<" | "x" => self.end(line, at, direction, sign == "x", rest),
            _ => {
                let parameters = rest.to_owned();
                self.script.changes.push((line, Change { at, direction, parameters }));
                Ok(())
            }
        }
    }

    fn arrival(&mut self, line: usize, at: Time, direction: Direction, rest: &str) -> Result<(), String> {
        let before = self.script.arrivals.iter().filter(|(_, arrival)| arrival.direction == direction);
        let number = before.count() as u64;
        let (said, length, rest) = packet(rest)?;
        if said.is_some_and(|said| said != number) {
            return Err(format!("this packet is #{number}: packets of a direction are counted from 0"));
        }
        if !rest.is_empty() {
            return Err(format!("`{rest}`: nothing was done to a packet that comes"));
        }
        self.script.arrivals.push((line, Arrival { at, direction, number, length }));
        self.open.entry(direction).or_default().insert(number);
        Ok(())
    }

    fn end(
        &mut self,
        line: usize,
        at: Time,
        direction: Direction,
        lost: bool,
        rest: &str,
    ) -> Result<(), String> {
        let (said, length, effects) = packet(rest)?;
        let open = self.open.entry(direction).or_default();
        let effects = effects.to_owned();
        let oldest = || open.first().copied().ok_or("every packet of this direction has ended above: say #N");
        let number = said.map_or_else(oldest, Ok)?;
        let end = End { at, direction, number, length, lost, effects };
        let arrivals = &self.script.arrivals;
        let arrival = arrivals.iter().find(|(_, one)| one.direction == direction && one.number == number);
        match arrival {
            None => return Err(format!("no packet #{number} has come {direction} above this line")),
            Some((_, arrival)) if arrival.length != length => {
                return Err(format!("{direction} #{number} came with {}B", arrival.length));
            }
            Some(_) if end.is_copy() && said.is_none() => return Err("say of which packet: #N".to_owned()),
            Some(_) if !end.is_copy() && !open.remove(&number) => {
                return Err(format!("what becomes of {direction} #{number} is said above"));
            }
            Some(_) => {}
        }
        let reason = end.effects.rsplit(", ").next().unwrap_or_default();
        if lost && !reasons().any(|known| known == reason) {
            let known = reasons().collect::<Vec<_>>().join(", ");
            return Err(format!("`{reason}` is no reason for a loss: there are {known}"));
        }
        self.script.ends.push((line, end));
        Ok(())
    }
}

/// Returns the words for causes of losses.
fn reasons() -> impl Iterator<Item = String> {
    link::Loss::ALL.map(|loss| loss.to_string()).into_iter().chain([BAD_STATE.to_owned()])
}

/// The words for a loss by an error process in its bad state.
pub const BAD_STATE: &str = "wireless error in a bad state";

impl fmt::Display for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {} #{} {}B", self.at, self.direction, self.number, self.length)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.lost { 'x' } else { '<' };
        write!(f, "{} {sign} {} #{} {}B", self.at, self.direction, self.number, self.length)?;
        if self.effects.is_empty() { Ok(()) } else { write!(f, " {}", self.effects) }
    }
}
