//! `lasthop rto capture --model`: compares a measured cycle with a cycle of the model (LL-33).

use super::model::digits;
use super::{line, table};
use crate::failure::Failure;
use crate::figure::Figure;
use serde_json::{Value, json};
use std::io::Write;
use std::ops::Range;
use timers::bulk::{Bulk, Summary};
use timers::{Estimate, Followed, Sample, Settings, cycles};

/// Number of cycles of the model. The first cycles still depend on the first sample.
const CYCLES: u32 = 12;

/// A measured cycle and its model.
pub struct Overlay<'a> {
    samples: &'a [Sample],
    timers: &'a [Followed],
    /// Indices of the samples of the compared cycle; then its number, counted from 1, which is also
    /// the number of cycles.
    cycle: Range<usize>,
    number: usize,
    bulk: Bulk,
    /// Estimates of each timer in the model.
    said: Vec<Vec<Estimate>>,
}

/// A timer, with its summaries over the measured cycle and over the model.
type Both<'a> = (&'a Followed, Summary, Summary);

impl<'a> Overlay<'a> {
    /// Creates the model of the last whole cycle.
    pub fn new(samples: &'a [Sample], timers: &'a [Followed], settings: Settings) -> Result<Self, Failure> {
        let found = cycles(samples);
        let number = found.len();
        let Some(cycle) = found.into_iter().next_back() else {
            return Err("--model: no whole cycle: round-trip times must fall from high to low at least twice, as in a transfer that only the network limits; capture for longer, or omit --model"
                .into());
        };
        let bulk = cycles::model(&samples[cycle.clone()], CYCLES).ok_or(
            "--model: the last cycle has too few samples at different times to give a service time",
        )??;
        let said = timers.iter().map(|of| bulk.run(of.timer, settings)).collect();
        Ok(Self { samples, timers, cycle, number, bulk, said })
    }

    /// Returns the maximum load and the service time of the model.
    fn parameters(&self) -> (u32, f64) {
        let load = self.bulk.rows.iter().map(|row| row.load).max().unwrap_or(0);
        (load, self.bulk.rows.first().map_or(0.0, |row| row.sample.at_s))
    }

    fn both(&self) -> impl Iterator<Item = Both<'_>> {
        self.timers.iter().zip(&self.said).map(|(of, said)| {
            (of, Summary::over(self.samples, &of.estimates, self.cycle.clone()), self.bulk.last_cycle(said))
        })
    }

    /// Prints the comparison as a table.
    pub fn text(&self, output: &mut impl Write) -> Result<(), Failure> {
        let (load, service) = self.parameters();
        let Some((_, measured, model)) = self.both().next() else { return Ok(()) };
        let span = |range: &Range<usize>| {
            let of = &self.samples[range.clone()];
            of.last().map_or(0.0, |last| last.at_s - of[0].at_s)
        };
        writeln!(
            output,
            "\nwhole cycle {0} of {0}: {1} round-trip times in {2} s, {3} to {4} s\nmodel with at most {load} segments, service time {5} s: {6} in {7} s, {8} to {9} s",
            self.number,
            measured.rows,
            digits(span(&self.cycle)),
            digits(measured.least_rtt_s),
            digits(measured.greatest_rtt_s),
            digits(service),
            model.rows,
            digits(service * model.rows as f64),
            digits(model.least_rtt_s),
            digits(model.greatest_rtt_s),
        )?;
        let header = [
            "timer",
            "max RTO",
            "model",
            "min RTO/RTT",
            "model",
            "mean RTO/RTT",
            "model",
            "last RTO",
            "model",
            "RTO < RTT",
            "model",
        ];
        let rows = self.both().map(|(of, measured, model)| {
            let pair = |value: fn(&Summary) -> String| [value(&measured), value(&model)];
            let cells = [
                pair(|of| format!("{} s", digits(of.greatest_rto_s))),
                pair(|of| format!("{:.3}", of.least_ratio)),
                pair(|of| format!("{:.3}", of.mean_ratio)),
                pair(|of| format!("{} s", digits(of.last_rto_s))),
                pair(|of| of.spurious.to_string()),
            ];
            [of.timer.name().to_owned()].into_iter().chain(cells.into_iter().flatten()).collect()
        });
        writeln!(output, "{}", table(header.map(str::to_owned).to_vec(), rows.collect()))?;
        Ok(())
    }

    /// Returns the comparison as a JSON object.
    pub fn object(&self) -> Value {
        let (load, service_s) = self.parameters();
        let timers: Vec<_> = self
            .both()
            .map(|(of, measured, model)| json!({ "timer": of.timer, "measured": measured, "model": model }))
            .collect();
        json!({ "cycle": self.number, "load": load, "service_s": service_s, "timers": timers })
    }

    /// Returns the figure of the last cycle. Its end is aligned with the end of the model's last
    /// cycle; the model's lines begin where its cycle begins.
    pub fn figure(&self, title: String) -> Figure {
        let samples = &self.samples[self.cycle.clone()];
        let rows = &self.bulk.rows[self.bulk.last()];
        let end = samples.last().map_or(0.0, |sample| sample.at_s);
        let shift = end - rows.last().map_or(0.0, |row| row.sample.at_s);
        let mut lines = vec![line("RTT", false, samples.iter().map(|sample| (sample.at_s, sample.rtt_s)))];
        lines.push(line(
            "RTT, model",
            true,
            rows.iter().map(|row| (row.sample.at_s + shift, row.sample.rtt_s)),
        ));
        for (of, said) in self.timers.iter().zip(&self.said) {
            let name = of.timer.name();
            let measured = samples.iter().zip(&of.estimates[self.cycle.clone()]);
            lines.push(line(
                &format!("RTO, {name}"),
                false,
                measured.map(|(sample, of)| (sample.at_s, of.rto_s)),
            ));
            let model = rows.iter().zip(&said[self.bulk.last()]);
            let model = model.map(|(row, of)| (row.sample.at_s + shift, of.rto_s));
            lines.push(line(&format!("RTO, {name}, model"), true, model));
        }
        Figure {
            title,
            horizontal: "time since the first round-trip time (s)".to_owned(),
            vertical: "round-trip time, timeout (s)".to_owned(),
            lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timers::bulk::Regime;
    use timers::{TimerAlgorithm, follow};

    /// LL-33: over a transfer that equals the model, the model matches exactly, in every column.
    #[test]
    fn ll_33_the_model_over_itself() {
        let bulk = Bulk::new(8, 6.25, 12, Regime::NetworkLimited).expect("a transfer");
        // A fall ends the twelfth cycle as well.
        let mut samples: Vec<Sample> = bulk.rows.iter().map(|row| row.sample).collect();
        let last = samples[samples.len() - 1];
        samples.push(Sample { at_s: last.at_s + 6.25, rtt_s: 25.0, flight: 4.0 });
        let set = Settings::default();
        let timers: Vec<Followed> = [TimerAlgorithm::Lite, TimerAlgorithm::Eifel]
            .into_iter()
            .filter_map(|kind| follow(kind, set, &samples))
            .collect();
        let overlay = Overlay::new(&samples, &timers, set).unwrap_or_else(|error| panic!("{error}"));
        let mut text = Vec::new();
        overlay.text(&mut text).unwrap_or_else(|error| panic!("{error}"));
        let text = String::from_utf8(text).expect("UTF-8");
        assert!(
            text.contains("whole cycle 11 of 11: 30 round-trip times in 181.25 s, 25.00 to 50.00 s"),
            "{text}"
        );
        assert!(
            text.contains(
                "model with at most 8 segments, service time 6.25 s: 30 in 187.50 s, 25.00 to 50.00 s"
            ),
            "{text}"
        );
        let lite = text.lines().find(|line| line.trim_start().starts_with("lite")).expect("a row");
        let cells: Vec<_> = lite.split_whitespace().filter(|cell| *cell != "s").skip(1).collect();
        assert!(cells.chunks(2).all(|pair| pair[0] == pair[1]) && cells.len() == 10, "{lite}");
        let object = overlay.object();
        assert_eq!((&object["load"], &object["cycle"]), (&8.into(), &11.into()));
        let figure = overlay.figure("both".to_owned());
        assert_eq!(figure.lines.len(), 6);
        let [measured, model] = [&figure.lines[0], &figure.lines[1]];
        assert_eq!(measured.points, model.points, "the ends of both cycles are one");
    }

    #[test]
    fn without_a_cycle_there_is_nothing_to_lay_it_under() {
        let samples = [Sample { at_s: 1.0, rtt_s: 1.0, flight: 1.0 }; 3];
        let error = Overlay::new(&samples, &[], Settings::default()).err().expect("no cycle");
        assert!(error.to_string().starts_with("--model: no whole cycle"), "{error}");
    }
}
