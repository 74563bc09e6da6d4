//! Rates, delays and losses over time, computed from the states of a link.

use crate::remote::{FlowStatus, Status, WayStatus};
use std::collections::{HashMap, VecDeque};

/// Time over which a number is averaged, in nanoseconds.
const WINDOW: u64 = 1_000_000_000;
/// Time between two points of the charts, in nanoseconds. A screen has no room for more.
const STEP: u64 = 500_000_000;
/// Time that the charts show, in seconds.
pub const SHOWN: f64 = 60.0;

/// States of a link, the newest last, as far back as the charts reach.
#[derive(Default)]
pub struct History {
    states: VecDeque<Status>,
    up: Charts,
    down: Charts,
}

/// Points of the charts of one direction: seconds since the start of the link, and a value.
#[derive(Default)]
pub struct Charts {
    /// Rate at the far end in bit/s.
    pub rate: VecDeque<(f64, f64)>,
    /// Mean delay in milliseconds. A time without packets has no point.
    pub delay: VecDeque<(f64, f64)>,
    /// Time and state at the last point.
    last: Option<(u64, WayStatus)>,
}

/// Numbers of one direction over the last second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Recent {
    /// Rate at the far end in bit/s.
    pub rate: f64,
    /// Packets that entered, per second.
    pub packets: f64,
    /// Packets that were lost.
    pub lost: u64,
    /// Mean delay of the delivered packets in milliseconds.
    pub delay: Option<f64>,
    /// Their mean time in the queue in milliseconds.
    pub queueing: Option<f64>,
}

impl History {
    /// Adds the newest state.
    pub fn add(&mut self, status: Status) {
        self.up.add(status.at_ns, &status.up);
        self.down.add(status.at_ns, &status.down);
        self.states.push_back(status);
        let newest = self.newest().at_ns;
        // One state at the beginning of the window stays.
        while self.states.get(1).is_some_and(|second| second.at_ns + WINDOW <= newest) {
            self.states.pop_front();
        }
    }

    /// Returns the newest state.
    ///
    /// # Panics
    /// If there is none.
    pub fn newest(&self) -> &Status {
        self.states.back().expect("a state")
    }

    /// Returns the charts, up and down.
    pub fn charts(&self) -> [&Charts; 2] {
        [&self.up, &self.down]
    }

    /// Returns the numbers of the last second, up and down.
    pub fn recent(&self) -> [Recent; 2] {
        let (Some(first), Some(last)) = (self.states.front(), self.states.back()) else {
            return Default::default();
        };
        let seconds = seconds_between(first, last);
        [(&first.up, &last.up), (&first.down, &last.down)].map(|(before, now)| Recent {
            rate: per(bits(before, now), seconds),
            packets: per((now.packets - before.packets) as f64, seconds),
            lost: now.lost - before.lost,
            delay: mean_ms(before, now, |way| way.delay_sum_ns),
            queueing: mean_ms(before, now, |way| way.queueing_sum_ns),
        })
    }

    /// Returns the rates at which a flow's packets entered over the last second, up and down, in
    /// bit/s.
    pub fn flow_rates(&self) -> HashMap<(&str, &str, &str), [f64; 2]> {
        let (Some(first), Some(last)) = (self.states.front(), self.states.back()) else {
            return HashMap::new();
        };
        let seconds = seconds_between(first, last);
        let before: HashMap<_, _> =
            first.flows.iter().map(|flow| (key(flow), [flow.up.bytes, flow.down.bytes])).collect();
        let rate = |flow: &FlowStatus, place: usize, now: u64| {
            let before = before.get(&key(flow)).map_or(0, |bytes| bytes[place]);
            // Fewer bytes than before: the flow was forgotten in between.
            per(now.saturating_sub(before) as f64 * 8.0, seconds)
        };
        let one = |flow| (key(flow), [rate(flow, 0, flow.up.bytes), rate(flow, 1, flow.down.bytes)]);
        last.flows.iter().map(one).collect()
    }
}

/// Returns what identifies a flow.
pub fn key(flow: &FlowStatus) -> (&str, &str, &str) {
    (&flow.protocol, &flow.inside, &flow.outside)
}

impl Charts {
    fn add(&mut self, at_ns: u64, now: &WayStatus) {
        let Some((since, before)) = &self.last else {
            self.last = Some((at_ns, now.clone()));
            return;
        };
        if at_ns < since + STEP {
            return;
        }
        let at = at_ns as f64 / 1e9;
        self.rate.push_back((at, per(bits(before, now), (at_ns - since) as f64 / 1e9)));
        self.delay.extend(mean_ms(before, now, |way| way.delay_sum_ns).map(|delay| (at, delay)));
        self.last = Some((at_ns, now.clone()));
        for points in [&mut self.rate, &mut self.delay] {
            while points.front().is_some_and(|&(then, _)| then < at - SHOWN) {
                points.pop_front();
            }
        }
    }
}

fn seconds_between(first: &Status, last: &Status) -> f64 {
    (last.at_ns - first.at_ns) as f64 / 1e9
}

fn per(amount: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { amount / seconds } else { 0.0 }
}

fn bits(before: &WayStatus, now: &WayStatus) -> f64 {
    (now.delivered_bytes - before.delivered_bytes) as f64 * 8.0
}

/// Returns the mean per packet that was delivered in between.
fn mean_ms(before: &WayStatus, now: &WayStatus, sum: impl Fn(&WayStatus) -> u64) -> Option<f64> {
    let packets = now.delivered - before.delivered;
    (packets > 0).then(|| (sum(now) - sum(before)) as f64 / packets as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::watch::example;

    #[test]
    fn rates_and_delays_are_those_of_the_last_second() {
        let mut history = History::default();
        for tenth in 0..30 {
            history.add(example::status(tenth));
        }
        let [up, down] = history.recent();
        assert_eq!(up, Recent::default());
        // 100 packets of 1250 bytes a second, of which the bottleneck loses none.
        assert_eq!((down.rate, down.packets, down.lost), (1e6, 100.0, 0));
        assert_eq!((down.delay, down.queueing), (Some(40.0), Some(10.0)));
        let rates = history.flow_rates();
        let rates = rates[&("tcp", "10.0.0.2:4000", "10.0.0.1:80")].map(|rate| rate.to_string());
        assert_eq!(rates, ["0", "1000000"]);
    }

    #[test]
    fn charts_forget_what_is_no_longer_shown() {
        let mut history = History::default();
        for tenth in 0..700 {
            history.add(example::status(tenth));
        }
        let [_, down] = history.charts();
        let [first, last] = [down.rate.front(), down.rate.back()].map(|point| point.expect("a point").0);
        assert!((59.8..=SHOWN).contains(&(last - first)), "{first} to {last}");
        assert!(history.states.len() <= 12, "{}", history.states.len());
    }
}
