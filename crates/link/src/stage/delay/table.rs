//! Files of delays: measured values, a table of percentiles, or a course in time.
//!
//! The format is CSV. Either each value has its unit (`12.5ms`), or the first line names the
//! columns with their units (`delay_ms`; `percent,delay_ms`; `time_s,delay_ms`) and the values are
//! plain numbers. Empty lines and lines that begin with `#` are ignored.

use crate::stage::spec::{Line, TraceError};
use crate::units::Span;
use borsh::{BorshDeserialize, BorshSerialize};

/// A line of a file and its one or two fields.
type Row<'a> = (Line<'a>, Vec<&'a str>);

/// Units that may end the name of a column.
const UNITS: [&str; 4] = ["s", "ms", "us", "ns"];

/// A quantile function of delays, with linear interpolation between its points.
#[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct Quantiles {
    /// Probability from 0 to 1, and delay in nanoseconds; neither decreases.
    points: Vec<(f64, f64)>,
}

/// A delay as a function of time.
#[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct Course {
    /// Nanoseconds since the first row, and the delay in nanoseconds. Times increase, and there are
    /// at least two rows.
    rows: Vec<(u64, u64)>,
}

/// Error of an invalid list of percentiles or values.
pub(super) struct Unsorted(pub &'static str);

impl Quantiles {
    /// Creates a quantile function from measured values of equal probability, with linear
    /// interpolation between neighbours (type 7 of Hyndman and Fan 1996, which NumPy and R use).
    /// `None` if there are no values.
    #[must_use]
    pub fn of_values(values: &[Span]) -> Option<Self> {
        let mut nanos: Vec<_> = values.iter().map(|value| value.as_nanos() as f64).collect();
        nanos.sort_by(f64::total_cmp);
        let &only = nanos.first()?;
        if nanos.len() == 1 {
            nanos.push(only);
        }
        let last = (nanos.len() - 1) as f64;
        Some(Self {
            points: nanos.iter().enumerate().map(|(place, &value)| (place as f64 / last, value)).collect(),
        })
    }

    /// Creates a quantile function from percentiles: percentages from 0 to 100, and the delay that
    /// this percentage does not exceed.
    pub(super) fn of_percentiles(percentiles: &[(f64, Span)]) -> Result<Self, Unsorted> {
        let (Some(first), Some(last)) = (percentiles.first(), percentiles.last()) else {
            return Err(Unsorted("there must be at least the delays at 0 % and at 100 %"));
        };
        if (first.0..=last.0) != (0.0..=100.0) {
            return Err(Unsorted("must begin at 0 % and end at 100 %"));
        }
        if percentiles.windows(2).any(|pair| !(pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1)) {
            return Err(Unsorted("percentages must increase, and delays must not decrease"));
        }
        let points =
            percentiles.iter().map(|&(percent, delay)| (percent / 100.0, delay.as_nanos() as f64)).collect();
        Ok(Self { points })
    }

    /// Reads a file with one column (values) or two (percentage, delay); `file` is its name in
    /// errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, TraceError> {
        let (units, rows) = rows(file, text, &["percent", "delay"])?;
        let nothing =
            || Line { file, number: 1, text: "" }.wrong("delay", "", "there must be at least one value");
        if rows.first().is_some_and(|(_, fields)| fields.len() == 2) {
            let mut percentiles = Vec::new();
            let mut last = None;
            for (line, fields) in &rows {
                let percent = fields[0].trim_end_matches('%').trim();
                let percent = percent.parse::<f64>().ok().filter(|p| (0.0..=100.0).contains(p));
                let percent = percent
                    .ok_or_else(|| line.wrong("percent", fields[0], "must be a number from 0 to 100"))?;
                percentiles.push((percent, span(line, "delay", fields[1], units[1])?));
                last = Some(line);
            }
            return Self::of_percentiles(&percentiles).map_err(|Unsorted(wanted)| {
                last.map_or_else(nothing, |line| line.wrong("percent", line.text, wanted))
            });
        }
        let values = rows
            .iter()
            .map(|(line, fields)| span(line, "delay", fields[0], units[0]))
            .collect::<Result<Vec<_>, _>>()?;
        Self::of_values(&values).ok_or_else(nothing)
    }

    /// Returns the standard deviation in nanoseconds. Each piece is a uniform distribution between
    /// its ends.
    pub(super) fn deviation(&self) -> f64 {
        let pieces = || self.points.windows(2).map(|pair| (pair[1].0 - pair[0].0, pair[0].1, pair[1].1));
        let mean: f64 = pieces().map(|(share, low, high)| share * f64::midpoint(low, high)).sum();
        let variance: f64 = pieces()
            .map(|(share, low, high)| {
                let (low, high) = (low - mean, high - mean);
                share * (low * low + low * high + high * high) / 3.0
            })
            .sum();
        variance.sqrt()
    }

    /// Returns the delay in nanoseconds that a share `uniform` (0 to 1) of all delays does not
    /// exceed.
    pub(super) fn at(&self, uniform: f64) -> f64 {
        let above =
            self.points.partition_point(|&(share, _)| share <= uniform).clamp(1, self.points.len() - 1);
        let ((from, low), (to, high)) = (self.points[above - 1], self.points[above]);
        low + (high - low) * ((uniform - from) / (to - from)).clamp(0.0, 1.0)
    }
}

impl Course {
    /// Reads a file with two columns, time and delay; `file` is its name in errors.
    ///
    /// Times count from the first row and increase. The last row closes the trace: at its time the
    /// trace begins again.
    pub fn parse(file: &str, text: &str) -> Result<Self, TraceError> {
        let (units, lines) = rows(file, text, &["time", "delay"])?;
        let mut rows: Vec<(u64, u64)> = Vec::new();
        let mut start = None;
        for (line, fields) in &lines {
            let [time, delay] = fields[..] else {
                return Err(line.wrong("line", line.text, "must have two fields: time and delay"));
            };
            let instant = span(line, "time", time, units[0])?.as_nanos();
            let since = instant.checked_sub(*start.get_or_insert(instant));
            match since {
                Some(since) if rows.last().is_none_or(|&(before, _)| before < since) => {
                    rows.push((since, span(line, "delay", delay, units[1])?.as_nanos()));
                }
                _ => return Err(line.wrong("time", time, "must be later than in the row above")),
            }
        }
        if rows.len() < 2 {
            let line = lines.last().map_or(Line { file, number: 1, text: "" }, |(line, _)| *line);
            return Err(line.wrong(
                "line",
                line.text,
                "there must be at least two rows: the last one closes the trace",
            ));
        }
        Ok(Self { rows })
    }

    /// Returns the length of the trace.
    #[must_use]
    pub fn duration(&self) -> Span {
        Span::from_nanos(self.length())
    }

    fn length(&self) -> u64 {
        self.rows.last().map_or(1, |&(time, _)| time)
    }

    /// Returns the delay in nanoseconds after `elapsed` nanoseconds: that of the last row, or, if
    /// `straight`, interpolated linearly between the last row and the next one.
    pub(super) fn at(&self, elapsed: u64, straight: bool) -> u64 {
        let within = elapsed % self.length();
        let next = self.rows.partition_point(|&(time, _)| time <= within).clamp(1, self.rows.len() - 1);
        let ((from, low), (to, high)) = (self.rows[next - 1], self.rows[next]);
        if !straight {
            return low;
        }
        let share = (within - from) as f64 / (to - from) as f64;
        (low as f64 + (high as f64 - low as f64) * share).round() as u64
    }
}

/// Returns the unit of each column, if a heading gives it, and the rows of a file. All rows have
/// one field or all have two.
fn rows<'a>(
    file: &'a str,
    text: &'a str,
    columns: &[&'static str; 2],
) -> Result<([Option<&'a str>; 2], Vec<Row<'a>>), TraceError> {
    let mut units = [None; 2];
    let mut rows: Vec<Row<'a>> = Vec::new();
    let mut headed = false;
    for line in Line::of(file, text) {
        let trimmed = line.text.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        let fields: Vec<_> = trimmed.split(',').map(str::trim).collect();
        if fields.len() > 2 {
            return Err(line.wrong("line", line.text, "must have one field or two"));
        }
        let is_heading = rows.is_empty() && !headed && trimmed.starts_with(|c: char| c.is_ascii_alphabetic());
        if is_heading {
            headed = true;
            for (place, &field) in fields.iter().enumerate() {
                let unit = field.rsplit_once('_').map(|(_, unit)| unit).filter(|unit| UNITS.contains(unit));
                let named = columns.contains(&field.split('_').next().unwrap_or_default());
                if !named || (unit.is_none() && field.contains('_')) {
                    return Err(line.wrong(
                        "heading",
                        field,
                        "must be a column name such as delay_ms, time_s or percent",
                    ));
                }
                units[place] = unit;
            }
            continue;
        }
        if rows.first().is_some_and(|(_, first)| first.len() != fields.len()) {
            return Err(line.wrong("line", line.text, "must have as many fields as the lines above"));
        }
        rows.push((line, fields));
    }
    Ok((units, rows))
}

fn span(line: &Line<'_>, field: &'static str, text: &str, unit: Option<&str>) -> Result<Span, TraceError> {
    let parsed = match unit {
        Some(unit) if text.parse::<f64>().is_ok() => format!("{text}{unit}").parse::<Span>(),
        _ => text.parse(),
    };
    let wanted =
        "must be a time with its unit, such as 12.5ms, or a plain number under a heading such as delay_ms";
    parsed.ok().filter(|span| !span.is_forever()).ok_or_else(|| line.wrong(field, text, wanted))
}
