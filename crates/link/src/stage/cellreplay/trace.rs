//! CellReplay's files of trains ("base delay and light PDO") and of latency by packet size.

use crate::stage::spec::{Line, TraceError};
use crate::units::Span;
use borsh::{BorshDeserialize, BorshSerialize};
use std::str::FromStr;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// Step of packet sizes in a file of latency offsets, in bytes.
const SIZE_STEP: u64 = 100;

/// Trains of packets on an idle link: when each began, the delay of its first packet, and the
/// instants at which the link could deliver the rest.
///
/// Each line is `TIME DELAY OPPORTUNITY OPPORTUNITY …`, whole milliseconds separated by spaces.
/// Times do not decrease. Opportunities count from the arrival of the first packet of the train, so
/// the first is usually 0. The last line closes the trace: at its time the trace begins again.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Trains {
    /// At least two, and the last begins after 0.
    trains: Vec<Train>,
}

/// One train, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(super) struct Train {
    begins: u64,
    delay: u64,
    /// Not empty.
    pub opportunities: Vec<u64>,
}

impl Trains {
    /// Reads a trace; `file` is its name in errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, TraceError> {
        let mut trains: Vec<Train> = Vec::new();
        let mut last = Line { file, number: 1, text: "" };
        for line in Line::of(file, text) {
            let mut fields = line.text.split_whitespace();
            let begins = millis(&line, "time", fields.next())?;
            if trains.last().is_some_and(|before| begins < before.begins) {
                return Err(line.wrong("time", line.text, "must not be earlier than in the line above"));
            }
            let delay = millis(&line, "delay", fields.next())?;
            let opportunities = fields
                .map(|field| millis(&line, "opportunity", Some(field)))
                .collect::<Result<Vec<_>, _>>()?;
            if opportunities.is_empty() {
                return Err(line.wrong(
                    "line",
                    line.text,
                    "must have a time, a delay and at least one opportunity",
                ));
            }
            trains.push(Train { begins, delay, opportunities });
            last = line;
        }
        match &trains[..] {
            [] | [_] => Err(last.wrong(
                "line",
                last.text,
                "there must be at least two: the last one closes the trace",
            )),
            [.., end] if end.begins == 0 => {
                Err(last.wrong("time", last.text, "the last one must be later than 0 ms"))
            }
            _ => Ok(Self { trains }),
        }
    }

    /// Returns the number of trains.
    #[must_use]
    pub fn count(&self) -> usize {
        self.trains.len()
    }

    /// Returns the length of the trace.
    #[must_use]
    pub fn duration(&self) -> Span {
        Span::from_nanos(self.length())
    }

    fn length(&self) -> u64 {
        self.trains.last().map_or(1, |last| last.begins)
    }

    /// Returns the train that is in force `elapsed` nanoseconds after the start of the trace, and
    /// the base delay in nanoseconds: interpolated linearly to that of the next train.
    pub(super) fn at(&self, elapsed: u64) -> (usize, u64) {
        let within = elapsed % self.length();
        let next =
            self.trains.partition_point(|train| train.begins <= within).clamp(1, self.trains.len() - 1);
        let (one, two) = (&self.trains[next - 1], &self.trains[next]);
        let width = (two.begins - one.begins).max(1);
        let share = within.saturating_sub(one.begins) as f64 / width as f64;
        let delay = one.delay as f64 + share * (two.delay as f64 - one.delay as f64);
        (next - 1, delay.round() as u64)
    }

    pub(super) fn train(&self, place: usize) -> &Train {
        &self.trains[place]
    }
}

/// Additional delay of a packet by its size.
///
/// Each line is `SIZE OFFSET`: sizes are 100, 200, 300, … bytes with the header of a TUN device,
/// offsets are milliseconds and may be negative or have a fraction.
#[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct SizeOffsets {
    /// Milliseconds; not empty, and finite.
    offsets: Vec<f64>,
}

impl SizeOffsets {
    /// Reads a file of offsets; `file` is its name in errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, TraceError> {
        let mut offsets = Vec::new();
        for line in Line::of(file, text) {
            let fields: Vec<_> = line.text.split_whitespace().collect();
            let [size, offset] = fields[..] else {
                return Err(line.wrong("line", line.text, "must have two fields: a size and an offset"));
            };
            if size.parse::<u64>() != Ok(SIZE_STEP * (offsets.len() as u64 + 1)) {
                return Err(line.wrong("size", size, "sizes must be 100, 200, 300, … in this order"));
            }
            let milliseconds = f64::from_str(offset).ok().filter(|offset| offset.abs() <= 1e6);
            offsets.push(milliseconds.ok_or_else(|| {
                line.wrong("offset", offset, "must be a number of milliseconds, at most 1000000")
            })?);
        }
        if offsets.is_empty() {
            return Err(Line { file, number: 1, text: "" }.wrong("line", "", "there must be at least one"));
        }
        Ok(Self { offsets })
    }

    /// Returns the offset of a packet of `size` bytes in whole milliseconds: interpolated linearly
    /// between two sizes, and that of the smallest or the largest size beyond them.
    pub(super) fn of(&self, size: u64) -> i64 {
        let last = self.offsets.len() - 1;
        let place = (size / SIZE_STEP).checked_sub(1).map_or(0, |place| place as usize);
        let milliseconds = if size < SIZE_STEP || place >= last {
            self.offsets[place.min(last)]
        } else {
            let share = (size % SIZE_STEP) as f64 / SIZE_STEP as f64;
            self.offsets[place] + share * (self.offsets[place + 1] - self.offsets[place])
        };
        milliseconds.round() as i64
    }
}

/// Returns a field of whole milliseconds in nanoseconds.
fn millis(line: &Line<'_>, field: &'static str, text: Option<&str>) -> Result<u64, TraceError> {
    let wanted = "must be a whole number of milliseconds";
    let Some(text) = text else { return Err(line.wrong(field, "", wanted)) };
    let nanos = text.parse::<u64>().ok().and_then(|millis| millis.checked_mul(NANOS_PER_MILLI));
    nanos.filter(|_| !text.starts_with('+')).ok_or_else(|| line.wrong(field, text, wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = NANOS_PER_MILLI;

    #[test]
    fn the_delay_goes_in_a_straight_line_to_that_of_the_next_train() {
        let trains = Trains::parse("t", "0 20 0 1\n100 40 0 2 2\n300 30 0\n").expect("a trace");
        assert_eq!((trains.count(), trains.duration()), (3, Span::from_millis(300)));
        assert_eq!(trains.at(0), (0, 20 * MS));
        assert_eq!(trains.at(25 * MS), (0, 25 * MS));
        assert_eq!(trains.at(100 * MS), (1, 40 * MS));
        assert_eq!(trains.at(200 * MS), (1, 35 * MS));
        // At 300 ms the trace begins again.
        assert_eq!(trains.at(300 * MS), (0, 20 * MS));
        assert_eq!(trains.at(950 * MS), (0, 30 * MS));
        assert_eq!(trains.train(1).opportunities, [0, 2 * MS, 2 * MS]);
    }

    #[test]
    fn what_is_wrong_in_a_trace_of_trains_is_named() {
        for (text, error) in [
            ("", "t:1: line ``: there must be at least two: the last one closes the trace"),
            ("0 20 0\n", "t:1: line `0 20 0`: there must be at least two: the last one closes the trace"),
            ("0 20 0\n0 20 0\n", "t:2: time `0 20 0`: the last one must be later than 0 ms"),
            ("5 20 0\n4 20 0\n", "t:2: time `4 20 0`: must not be earlier than in the line above"),
            ("0 20\n", "t:1: line `0 20`: must have a time, a delay and at least one opportunity"),
            ("0\n", "t:1: delay ``: must be a whole number of milliseconds"),
            ("0 20 0\n\n", "t:2: time ``: must be a whole number of milliseconds"),
            ("0 20 0 1.5\n", "t:1: opportunity `1.5`: must be a whole number of milliseconds"),
            ("0 -1 0\n", "t:1: delay `-1`: must be a whole number of milliseconds"),
            ("99999999999999 1 0\n", "t:1: time `99999999999999`: must be a whole number of milliseconds"),
        ] {
            assert_eq!(Trains::parse("t", text).expect_err(text).to_string(), error);
        }
    }

    #[test]
    fn offsets_are_interpolated_and_rounded() {
        let offsets = SizeOffsets::parse("o", "100 -4\n200 0\n300 10.5\n").expect("offsets");
        // 150 is halfway from -4 to 0; 260 is at 0.6 · 10.5 = 6.3.
        let sizes = [40, 100, 150, 200, 260, 300, 1400];
        assert_eq!(sizes.map(|size| offsets.of(size)), [-4, -4, -2, 0, 6, 11, 11]);
    }

    #[test]
    fn what_is_wrong_in_a_file_of_offsets_is_named() {
        for (text, error) in [
            ("", "o:1: line ``: there must be at least one"),
            ("100\n", "o:1: line `100`: must have two fields: a size and an offset"),
            ("100 1\n300 1\n", "o:2: size `300`: sizes must be 100, 200, 300, … in this order"),
            ("100 x\n", "o:1: offset `x`: must be a number of milliseconds, at most 1000000"),
            ("100 NaN\n", "o:1: offset `NaN`: must be a number of milliseconds, at most 1000000"),
        ] {
            assert_eq!(SizeOffsets::parse("o", text).expect_err(text).to_string(), error);
        }
    }
}
