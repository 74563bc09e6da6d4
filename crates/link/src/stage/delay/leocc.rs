//! Delay traces of LeoReplayer, the emulator published with LeoCC.

use crate::stage::spec::{Line, TraceError};
use crate::units::Span;
use borsh::{BorshDeserialize, BorshSerialize};

/// Interval of LeoReplayer's examples.
pub const LEOCC_INTERVAL: Span = Span::from_millis(10);

/// Delays at regular intervals.
///
/// Each line is the one-way delay of packets that arrive in one interval, in whole milliseconds.
/// The interval is not in the file: it is the first argument of LeoReplayer's `mm-delay`,
/// [`LEOCC_INTERVAL`] in its examples. The trace begins again after its last line.
///
/// LeoReplayer records the rate of the link beside it, as opportunities in the format of
/// [`crate::stage::bottleneck::mahimahi`]. It lets packets overtake each other when the delay
/// falls: `reorder = true`.
///
/// Source: Lai et al., "LeoCC: Making Internet Congestion Control Robust to LEO Satellite
/// Dynamics", SIGCOMM 2025; `leoreplayer/replayer/src/frontend/delay_queue.cc` of the repository
/// SpaceNetLab/LeoCC.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Delays {
    /// Not empty.
    delays: Vec<Span>,
}

impl Delays {
    /// Reads a trace; `file` is its name in errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, TraceError> {
        let wanted = "must be a whole number of milliseconds, one per line";
        let delays = Line::of(file, text)
            .map(|line| {
                let field = line.text.trim();
                let millis = field.parse::<u32>().ok().filter(|_| !field.starts_with('+'));
                millis
                    .map(|millis| Span::from_millis(millis.into()))
                    .ok_or_else(|| line.wrong("delay", field, wanted))
            })
            .collect::<Result<Vec<_>, _>>()?;
        if delays.is_empty() {
            return Err(Line { file, number: 1, text: "" }.wrong(
                "delay",
                "",
                "there must be at least one line",
            ));
        }
        Ok(Self { delays })
    }

    /// Returns the number of lines.
    #[must_use]
    pub fn count(&self) -> usize {
        self.delays.len()
    }

    /// Returns the delay of the interval with this number, from 0.
    pub(super) fn at(&self, interval: u64) -> Span {
        self.delays[(interval % self.delays.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use crate::stage::bottleneck::tests::drive;
    use crate::stage::delay::{Delay, DelaySpec};

    const MS: u64 = 1_000_000;

    fn left(spec: &str, arrivals: &[u64]) -> Vec<f64> {
        #[derive(serde::Deserialize)]
        struct Field {
            delay: DelaySpec,
        }
        let Field { delay: mut spec } = toml::from_str(&format!("delay = {spec}")).expect("a delay");
        spec.load(&mut |_| Ok("12\n30\n11\n".to_owned())).expect("loaded");
        let mut stage = Delay::new(spec, &Seed::campaign(1)).expect("a stage");
        let fates = drive(&mut stage, arrivals.iter().map(|at| (at * MS, 100)));
        fates.iter().map(|fate| fate.at.as_secs_f64() * 1e3).collect()
    }

    #[test]
    fn each_line_applies_for_an_interval_and_the_trace_repeats() {
        let spec = r#"{ kind = "leocc", file = "d.txt", reorder = true }"#;
        // Lines at 0, 10 and 20 ms, and again at 30 ms. The delay falls at 20 ms: that packet
        // overtakes.
        assert_eq!(left(spec, &[0, 9, 10, 20, 30, 45]), [12.0, 21.0, 31.0, 40.0, 42.0, 75.0]);
        let spec = r#"{ kind = "leocc", file = "d.txt", interval = "100ms" }"#;
        assert_eq!(left(spec, &[0, 99, 100, 299, 300]), [12.0, 111.0, 130.0, 310.0, 312.0]);
        // In order, the packet of 20 ms waits for the one of 19 ms.
        let spec = r#"{ kind = "leocc", file = "d.txt" }"#;
        assert_eq!(left(spec, &[19, 20]), [49.0, 49.0]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wanted = "must be a whole number of milliseconds, one per line";
        for (text, error) in [
            ("", "d:1: delay ``: there must be at least one line".to_owned()),
            ("12\n\n", format!("d:2: delay ``: {wanted}")),
            ("12\n11.5\n", format!("d:2: delay `11.5`: {wanted}")),
            ("-3\n", format!("d:1: delay `-3`: {wanted}")),
        ] {
            assert_eq!(Delays::parse("d", text).expect_err(text).to_string(), error);
        }
        let law = super::super::Law::Leocc {
            file: crate::stage::spec::FromFile::with("d", Delays::parse("d", "1").expect("a delay")),
            interval: Span::ZERO,
        };
        let error = Delay::new(DelaySpec::in_order(law), &Seed::campaign(1)).expect_err("no interval");
        assert_eq!(error.to_string(), "interval = 0ms: must be above 0, such as 10ms");
    }
}
