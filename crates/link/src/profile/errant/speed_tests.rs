//! Speed tests from which ERRANT makes its models, and the models.

use super::Conditions;
use crate::seed::Stream;
use crate::stage::spec::{Line, SpecError, TraceError};
use rand::RngExt;
use rand_distr::StandardNormal;
use std::fmt;

/// Columns of a file of speed tests.
const COLUMNS: [&str; 7] =
    ["operator", "country", "access_technology", "rssi", "download_mbps", "upload_mbps", "rtt_ms"];

/// Fewest tests of a group for a model.
const FEWEST: usize = 10;
/// Most draws until one has no negative value.
const MOST_ATTEMPTS: usize = 10_000;

/// A group of speed tests that have a model in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Mobile network operator; `universal` for all.
    pub operator: String,
    /// Country; `universal` for all.
    pub country: String,
    /// Radio access technology: `2g`, `3g` or `4g`.
    pub technology: String,
    /// Signal quality: `bad`, `medium` or `good`.
    pub quality: String,
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operator, country, technology, quality } = self;
        write!(f, "{operator}/{country}/{technology}/{quality}")
    }
}

/// Speed tests as CSV with the heading
/// `operator,country,access_technology,rssi,download_mbps,upload_mbps,rtt_ms`. Each of the last
/// four may be empty; such a test counts for no distribution.
#[derive(Debug, Clone, PartialEq)]
pub struct SpeedTests {
    tests: Vec<Test>,
}

#[derive(Debug, Clone, PartialEq)]
struct Test {
    operator: String,
    country: String,
    technology: String,
    quality: &'static str,
    /// Download and upload in Mbit/s, round-trip time in milliseconds.
    values: Option<[f64; 3]>,
}

impl SpeedTests {
    /// Reads a file of speed tests; `file` is its name in errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, TraceError> {
        let mut lines = Line::of(file, text);
        header(file, lines.next(), &COLUMNS)?;
        let tests = lines.map(|line| {
            let fields = fields(&line, &COLUMNS)?;
            let number = |place: usize| match fields[place] {
                "" => Ok(None),
                text => match text.parse::<f64>() {
                    Ok(number) if number.abs() <= 1e9 => Ok(Some(number)),
                    _ => Err(line.wrong(COLUMNS[place], text, "must be a number, or empty")),
                },
            };
            let technology = fields[2].to_lowercase();
            let quality = quality(&technology, number(3)?);
            let values = match [number(4)?, number(5)?, number(6)?] {
                [Some(download), Some(upload), Some(rtt)] => Some([download, upload, rtt]),
                _ => None,
            };
            let (operator, country) = (fields[0].to_lowercase(), fields[1].to_lowercase());
            Ok(Test { operator, country, technology, quality, values })
        });
        Ok(Self { tests: tests.collect::<Result<_, _>>()? })
    }

    /// Returns the model of a group. `file` is the name of the tests in errors.
    pub(super) fn model(&self, file: &str, group: &Group) -> Result<Model, SpecError> {
        let is = |wanted: &str, known: &str| wanted.eq_ignore_ascii_case(known);
        let any = |wanted: &str, known: &str| is(wanted, "universal") || is(wanted, known);
        let tests: Vec<_> = self
            .tests
            .iter()
            .filter(|test| any(&group.operator, &test.operator) && any(&group.country, &test.country))
            .filter(|test| is(&group.technology, &test.technology) && is(&group.quality, test.quality))
            .collect();
        if tests.len() < FEWEST {
            let known = format!("{group} has {} speed tests in {file}", tests.len());
            return Err(SpecError::value("errant", known, "must have at least 10"));
        }
        let values: Vec<_> = tests.iter().filter_map(|test| test.values).collect();
        Model::new(values).ok_or_else(|| {
            SpecError::value(
                "errant",
                format!("{group} of {file}"),
                "its speed tests must differ in all three values",
            )
        })
    }
}

/// Returns the signal quality by ERRANT's thresholds of the received signal strength in dBm.
fn quality(technology: &str, rssi: Option<f64>) -> &'static str {
    let (good, medium) = match technology {
        "4g" => (-75.0, -85.0),
        "3g" | "2g" => (-85.0, -100.0),
        _ => return "unknown",
    };
    match rssi {
        Some(rssi) if rssi > good => "good",
        Some(rssi) if rssi > medium => "medium",
        Some(_) => "bad",
        None => "unknown",
    }
}

/// A kernel density estimate of three values with a Gaussian kernel and the bandwidth by
/// Silverman's rule, as `scipy.stats.gaussian_kde(…, "silverman")` makes it.
#[derive(Debug, Clone)]
pub(super) struct Model {
    values: Vec<[f64; 3]>,
    /// Lower triangular root of the kernel's covariance.
    root: [[f64; 3]; 3],
}

impl Model {
    /// `None` if the covariance of the values has no inverse.
    pub fn new(values: Vec<[f64; 3]>) -> Option<Self> {
        let count = values.len() as f64;
        if values.len() < 2 {
            return None;
        }
        let mean = [0, 1, 2].map(|place| values.iter().map(|value| value[place]).sum::<f64>() / count);
        let dimensions = 3.0;
        let factor = (count * (dimensions + 2.0) / 4.0).powf(-1.0 / (dimensions + 4.0));
        let covariance = |i: usize, j: usize| {
            let sum: f64 = values.iter().map(|value| (value[i] - mean[i]) * (value[j] - mean[j])).sum();
            sum / (count - 1.0) * factor * factor
        };
        // Cholesky decomposition.
        let mut root = [[0.0; 3]; 3];
        for i in 0..3 {
            for j in 0..=i {
                let sum: f64 = (0..j).map(|k| root[i][k] * root[j][k]).sum();
                let rest = covariance(i, j) - sum;
                root[i][j] = if i == j { rest.sqrt() } else { rest / root[j][j] };
            }
            let negligible = root[i][i] <= 1e-9 * covariance(i, i).sqrt();
            if !root[i][i].is_finite() || negligible {
                return None;
            }
        }
        Some(Self { values, root })
    }

    /// Draws rates and a round-trip time. Draws with a value that is not above 0 are repeated.
    pub fn draw(&self, stream: &mut Stream) -> Conditions {
        for _ in 0..MOST_ATTEMPTS {
            let [download, upload, rtt] = self.draw_any(stream);
            if download > 0.0 && upload > 0.0 && rtt > 0.0 {
                return Conditions { download: download * 1e3, upload: upload * 1e3, rtt };
            }
        }
        // Almost no measured value is above 0.
        Conditions { download: 1.0, upload: 1.0, rtt: 1.0 }
    }

    pub(super) fn draw_any(&self, stream: &mut Stream) -> [f64; 3] {
        let mut value = self.values[stream.random_range(0..self.values.len())];
        let normal: [f64; 3] = std::array::from_fn(|_| stream.sample(StandardNormal));
        for (value, root) in value.iter_mut().zip(&self.root) {
            *value += root.iter().zip(&normal).map(|(root, normal)| root * normal).sum::<f64>();
        }
        value
    }
}

/// Checks the heading of a CSV file.
pub(super) fn header(
    file: &str,
    line: Option<Line<'_>>,
    columns: &'static [&'static str],
) -> Result<(), TraceError> {
    let line = line.unwrap_or(Line { file, number: 1, text: "" });
    if line.text.split(',').map(str::trim).eq(columns.iter().copied()) {
        return Ok(());
    }
    let wanted = match columns.len() {
        6 => "must be operator,country,rat,quality,duration,period",
        7 => "must be operator,country,access_technology,rssi,download_mbps,upload_mbps,rtt_ms",
        _ => "must be time,operator,country,technology,quality,download,upload,rtt",
    };
    Err(line.wrong("heading", line.text, wanted))
}

/// Returns the fields of a line, one for each column.
pub(super) fn fields<'a>(line: &Line<'a>, columns: &[&str]) -> Result<Vec<&'a str>, TraceError> {
    let fields: Vec<_> = line.text.split(',').map(str::trim).collect();
    if fields.len() != columns.len() {
        return Err(line.wrong("line", line.text, "must have as many fields as the heading"));
    }
    Ok(fields)
}

/// Returns a number above 0.
pub(super) fn positive(line: &Line<'_>, field: &'static str, text: &str) -> Result<f64, TraceError> {
    let number = text.parse::<f64>().ok().filter(|&number| number > 0.0 && number <= 1e12);
    number.ok_or_else(|| line.wrong(field, text, "must be a number above 0"))
}
