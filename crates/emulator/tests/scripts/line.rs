//! Lines of packet scripts: what scripts of links and scripts of hosts share.

use link::Direction;
use link::units::Time;
use std::fmt;

/// An error in a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    pub file: String,
    pub line: usize,
    pub why: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.why)
    }
}

/// A line about a packet or a link: `TIME SIGN DIRECTION REST`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    pub at: Time,
    /// One of the signs that the script knows, such as `>`.
    pub sign: &'a str,
    pub direction: Direction,
    pub rest: &'a str,
}

/// The time of the last line: lines are in order of time.
#[derive(Debug, Default)]
pub struct Clock(Time);

impl Clock {
    /// Reads a line that begins with `time`; `signs` are those of the script, between spaces.
    pub fn event<'a>(&mut self, time: &str, rest: &'a str, signs: &str) -> Result<Event<'a>, String> {
        let at = match time.strip_prefix('+') {
            Some(gap) => Time::from_nanos(self.0.as_nanos().saturating_add(nanos(gap)?)),
            None => Time::from_nanos(nanos(time)?),
        };
        if at < self.0 {
            return Err(format!("{at} lies before {}, the time of the line above", self.0));
        }
        self.0 = at;
        let what = format!("write it as TIME > DIRECTION LENGTH, with one of {signs}");
        let (sign, rest) = word(rest).ok_or_else(|| what.clone())?;
        let (direction, rest) = word(rest).ok_or_else(|| what.clone())?;
        if !signs.split(' ').any(|known| known == sign) {
            return Err(format!("`{sign}`: {what}"));
        }
        Ok(Event { at, sign, direction: self::direction(direction)?, rest })
    }
}

/// Parses a direction.
pub fn direction(word: &str) -> Result<Direction, String> {
    match word {
        "up" => Ok(Direction::Up),
        "down" => Ok(Direction::Down),
        other => Err(format!("`{other}` is no direction: say up or down")),
    }
}

/// Cuts off a comment: `#3` is a packet, and `#` followed by anything else begins a comment.
pub fn without_comment(content: &str) -> String {
    let parts = content.split('#').scan(true, |first, part| {
        let is_packet = part.starts_with(|c: char| c.is_ascii_digit());
        let goes_on = std::mem::take(first) || is_packet;
        goes_on.then_some(part)
    });
    parts.collect::<Vec<_>>().join("#")
}

/// Splits off the first word.
pub fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (!word.is_empty()).then_some((word, rest.trim()))
}

/// Length of the shortest packet: headers of IP and UDP, direction and number.
pub const SHORTEST: usize = 20 + 8 + 3;

/// Parses `#N`, which may be missing, and a length. Returns the rest, too.
pub fn packet(text: &str) -> Result<(Option<u64>, usize, &str), String> {
    const WHAT: &str = "write a packet as #NUMBER LENGTH, such as #3 1000B or 1000B";
    let (mut first, mut rest) = word(text).ok_or(WHAT)?;
    let mut number = None;
    if let Some(digits) = first.strip_prefix('#') {
        number = Some(digits.parse().map_err(|_| format!("`{first}`: {WHAT}"))?);
        (first, rest) = word(rest).ok_or(WHAT)?;
    }
    let length = first.strip_suffix('B').and_then(|digits| digits.parse().ok());
    let length = length.ok_or_else(|| format!("`{first}`: {WHAT}"))?;
    if !(SHORTEST..=65_535).contains(&length) {
        return Err(format!("{length}B: a packet has {SHORTEST} to 65535 bytes"));
    }
    Ok((number, length, rest))
}

/// Parses a time in whole nanoseconds, without rounding.
pub fn nanos(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no time: write it like 0.034, 34ms, 34000us or 34000000ns");
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let places = match unit {
        "" | "s" => 9,
        "ms" => 6,
        "us" => 3,
        "ns" => 0,
        _ => return Err(wrong()),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.len() > places {
        return Err(format!("`{text}` is finer than a nanosecond"));
    }
    if whole.is_empty() {
        return Err(wrong());
    }
    format!("{whole}{fraction:0<places$}").parse().map_err(|_| wrong())
}
