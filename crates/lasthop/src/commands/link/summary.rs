//! Summary of what a link did to a program's packets, after the program has ended.

use super::Failure;
use crate::arguments::LinkArguments;
use crate::notice::Notice;
use capture::output;
use capture::{Direction, LinkId, Recorded, Summary};
use emulator::Ending;
use emulator::host::Unusable;
use emulator::pauses::Pauses;
use emulator::punctuality::{Overload, Punctuality};
use experiment::recording::{Recording, overload};
use link::arq::hop::Counters;
use link::units::{BitRate, Span};
use packet::Check;
use serde_json::{Value, json};
use virtual_time::guest;

/// The result of a run.
pub struct Outcome {
    seed: u64,
    seconds: f64,
    recorded: Recorded,
    punctuality: Punctuality,
    pauses: Pauses,
    overload: Vec<Overload>,
    refused: Option<String>,
    /// Counters of the link layer, up and down.
    counted: Vec<Counters>,
}

/// Names a check, and tells if no counter of the receiver counts it.
fn words(check: Check) -> String {
    match check {
        Check::TcpEnd => format!("{check} (not counted)"),
        _ => check.to_string(),
    }
}

impl Outcome {
    /// Closes the recorder and determines whether the run was overloaded.
    pub fn new(ended: Ending<Unusable, Recording>, dropped: u64, seed: u64) -> Result<Self, Failure> {
        let Ending { driver, observer, punctuality, pauses, refused, counted, at } = ended;
        let recorded = observer.into_recorder().close(at)?;
        let overload = overload(&punctuality, &pauses, dropped + driver.0, recorded.stalls);
        let refused =
            refused.map(|(count, error)| format!("{count} packets could not be delivered: {error}"));
        let counted = counted.into_iter().map(|(_, counted)| counted).collect();
        let seconds = at.as_secs_f64();
        Ok(Self { seed, seconds, recorded, punctuality, pauses, overload, refused, counted })
    }

    /// Prints the summary and writes the requested files.
    pub fn report(&self, notice: Notice, arguments: &LinkArguments, id: &str) -> Result<(), Failure> {
        for direction in Direction::BOTH {
            notice.say(format_args!("{direction:<4} {}", self.line(direction)));
        }
        for (direction, counted) in Direction::BOTH.into_iter().zip(&self.counted) {
            let Counters { first, again, erased, rejects, resets, .. } = counted;
            notice.say(format_args!(
                "{direction:<4} link layer: {first} frames, {again} retransmitted, {erased} erased on the air, {rejects} requested again, {resets} resets"
            ));
        }
        if let Some(captured) = self.recorded.capture.as_ref().and_then(|captured| captured.path.as_ref()) {
            notice.say(format_args!("capture: {}", captured.display()));
        }
        if let Some(events) = &self.recorded.events {
            notice.say(format_args!("events:  {} ({} fates)", events.path.display(), events.fates));
        }
        let Pauses { count, total, longest, waited, .. } = self.pauses;
        if count > 0 {
            notice.say(format_args!(
                "the emulator did not run for {total} ({count} times, at most {longest}); {waited} packets waited to be read"
            ));
        }
        for reason in &self.overload {
            notice.warn(format_args!("overloaded: {reason}"));
        }
        if let Some(refused) = &self.refused {
            notice.warn(refused);
        }
        if let Some(path) = &arguments.json {
            let text = serde_json::to_string(&self.json(id))?;
            output::write(path, text + "\n")
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        Ok(())
    }

    fn line(&self, direction: Direction) -> String {
        let counters = self.summary().way(LinkId(0), direction);
        let mut parts = vec![format!("{} packets", counters.packets)];
        if counters.lost > 0 {
            let reasons: Vec<_> = counters
                .lost_by_reason
                .iter()
                .filter(|(_, count)| *count > 0)
                .map(|(reason, count)| format!("{count} {reason}"))
                .collect();
            parts.push(format!("{} lost ({})", counters.lost, reasons.join(", ")));
        } else {
            parts.push("none lost".to_owned());
        }
        if counters.damaged > 0 {
            let found = counters.damaged_found_by.iter();
            let found: Vec<_> = found.map(|(check, count)| format!("{count} by {}", words(check))).collect();
            parts.push(format!("{} damaged (found: {})", counters.damaged, found.join(", ")));
        }
        for (count, what) in [
            (counters.duplicated, "duplicated"),
            (counters.reordered, "re-ordered"),
            (counters.congestion_marked, "marked"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        parts.push(format!("{} at IP level", self.rate(counters.delivered_bytes)));
        if let Some(mean) = counters.delay.mean() {
            let mean = Span::from_nanos(mean.as_nanos() / 1000 * 1000);
            parts.push(format!("{mean} mean delay"));
        }
        parts.join(", ")
    }

    /// Returns the rate of `bytes` over the duration of the run.
    fn rate(&self, bytes: u64) -> String {
        let bits = (bytes as f64 * 8.0 / self.seconds.max(1e-9)).round() as u64;
        // Three significant digits are enough.
        let digits = 10u64.pow(bits.max(1).ilog10().saturating_sub(2));
        BitRate::from_bits_per_second(bits / digits * digits)
            .map_or("0 bit/s".into(), |rate| rate.to_string())
    }

    fn summary(&self) -> &Summary {
        &self.recorded.summary
    }

    /// Returns the object of `--json`.
    fn json(&self, id: &str) -> Value {
        let way = |direction| {
            let counters = self.summary().way(LinkId(0), direction);
            let lost: serde_json::Map<String, Value> = counters
                .lost_by_reason
                .iter()
                .filter(|(_, count)| *count > 0)
                .map(|(reason, count)| (reason.name().to_owned(), count.into()))
                .collect();
            json!({
                "packets": counters.packets,
                "lost": counters.lost,
                "damaged": counters.damaged,
                "damaged_found_by": counters.damaged_found_by,
                "duplicated": counters.duplicated,
                "reordered": counters.reordered,
                "bytes": counters.bytes,
                "delivered": counters.delivered,
                "delivered_bytes": counters.delivered_bytes,
                "congestion_marked": counters.congestion_marked,
                "lost_by_reason": lost,
                "delay_mean_ns": counters.delay.mean().map(capture::Span::as_nanos),
                "waiting_mean_ns": counters.waiting.mean().map(capture::Span::as_nanos),
            })
        };
        let link_layer = |place: usize| {
            self.counted.get(place).map(|counted| {
                let Counters { first, again, erased, rejects, resets, stalls } = counted;
                json!({
                    "frames": first, "again": again, "erased": erased, "rejects": rejects, "resets": resets,
                    "stalls": stalls,
                })
            })
        };
        let mut object = json!({
            "link": id,
            "seed": self.seed,
            "seconds": self.seconds,
            "clock": if guest::is_here() { "virtual" } else { "real" },
            "up": way(Direction::Up),
            "down": way(Direction::Down),
            "overloaded": !self.overload.is_empty(),
            "overload_reasons": self.overload.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "lateness_ns": {
                "median": self.punctuality.quantile(0.5).as_nanos(),
                "p99": self.punctuality.quantile(0.99).as_nanos(),
                "worst": self.punctuality.worst().as_nanos(),
                "mean": self.punctuality.off().by.as_nanos(),
            },
            "pauses": {
                "count": self.pauses.count,
                "total_ns": self.pauses.total.as_nanos(),
                "longest_ns": self.pauses.longest.as_nanos(),
                "packets_waited": self.pauses.waited,
            },
            "link_time_mean_ns": self.punctuality.off().of.as_nanos(),
        });
        // Links without a link layer have no such member.
        for (place, direction) in ["up", "down"].into_iter().enumerate() {
            if let Some(counted) = link_layer(place) {
                object[direction]["link_layer"] = counted;
            }
        }
        object
    }
}
