//! Models that `loss_differentiation` lacks: rounds, Vegas, Veno's slow growth, the bandwidth of
//! Westwood+.

use crate::connection::Connection;
use loss_differentiation::{Usage, Window};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Rounds of a connection (Veno, Vegas) and the minimum round-trip time of each.
pub struct Rounds {
    alpha: u32,
    beta: u32,
    gamma: u32,
    end: u32,
    samples: Vec<f64>,
    least: Option<f64>,
    /// Veno: N of the last round that ended.
    held: Option<f64>,
    grows: bool,
    asleep: bool,
}

impl Rounds {
    pub fn new(random: &mut ChaCha8Rng) -> Self {
        let mut bound = || random.random_range(0..8);
        let (alpha, beta, gamma) = (bound(), bound(), bound());
        Self {
            alpha,
            beta,
            gamma,
            end: 0,
            samples: Vec::new(),
            least: None,
            held: None,
            grows: false,
            asleep: false,
        }
    }

    pub fn set(&self, set: impl Fn(&str, u32)) {
        set("alpha", self.alpha);
        set("beta", self.beta);
        set("gamma", self.gamma);
    }

    pub fn begin(&mut self, next: u32) {
        self.end = next;
        self.samples.clear();
    }

    pub fn sample(&mut self, rtt: f64) {
        self.samples.push(rtt);
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
    }

    fn round_trip(&self) -> f64 {
        self.samples.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn is_over(&self, acknowledged: u32) -> bool {
        acknowledged.wrapping_sub(self.end).cast_signed() > 0
    }

    /// Veno, before a sample: returns whether a round ends, and keeps its N.
    pub fn veno_ended(&mut self, connection: &Connection, is_first: bool) -> bool {
        if is_first {
            self.begin(connection.snd_nxt);
            return false;
        }
        if !self.is_over(connection.snd_una) {
            return false;
        }
        let rtt = self.round_trip();
        if rtt > 0.0 {
            self.held =
                Some(f64::from(connection.snd_cwnd) * (rtt - self.least.expect("there are samples")) / rtt);
        }
        self.begin(connection.snd_nxt);
        true
    }

    pub fn is_heavy(&self, backlog: u32) -> bool {
        self.held.is_some_and(|held| held >= f64::from(backlog))
    }

    /// Vegas follows the kernel's states.
    pub fn settled(&mut self, state: u8, next: u32) {
        self.asleep = state != 0;
        if !self.asleep {
            self.begin(next);
        }
    }

    pub fn vegas_grew(
        &mut self,
        window: &mut Window,
        is_limited: bool,
        acked: u32,
        connection: &Connection,
        base: Option<f64>,
    ) {
        let slow = window.cwnd < window.ssthresh;
        if self.asleep {
            if is_limited {
                grow(window, acked, Usage::FULL);
            }
        } else if self.is_over(connection.snd_una) {
            if self.samples.len() < 3 {
                if is_limited {
                    grow(window, acked, Usage::FULL);
                }
            } else {
                self.adjust(window, slow, is_limited, base.expect("there are samples"));
            }
            self.grows = !self.grows;
            self.begin(connection.snd_nxt);
        } else if self.grows && is_limited && slow {
            let most = window.ssthresh - window.cwnd;
            window.cwnd = (window.cwnd + acked.min(most)).min(window.clamp);
        }
    }

    /// Compares Diff = cwnd (1 - BaseRTT/RTT) with the bounds.
    fn adjust(&self, window: &mut Window, slow: bool, is_limited: bool, base: f64) {
        let rtt = self.round_trip();
        let cwnd = f64::from(window.cwnd);
        // In whole numbers, so that equality is exact; a clock may show 0.
        let waiting = cwnd * (rtt - base);
        let bound = |segments: u32| f64::from(segments) * rtt.max(1.0);
        let mut new = window.cwnd;
        if slow {
            if waiting <= bound(self.gamma) {
                return;
            }
            let held = (cwnd * base / rtt).floor() as u32 + 1;
            new = new.min(held).max(2);
            window.ssthresh = new;
        } else if waiting > bound(self.beta) {
            new = (new - 1).max(2);
            window.ssthresh = window.ssthresh.min(new);
        } else if is_limited && waiting < bound(self.alpha) {
            new += 1;
        }
        window.cwnd = new.min(window.clamp);
    }
}

/// Grows the window as NewReno does. If all acknowledged segments were counted as delivered before,
/// `acked` is 0; Linux spends a full counter even then.
pub fn grow(window: &mut Window, acked: u32, usage: Usage) {
    if acked == 0 && window.limits(usage) && !window.in_slow_start() {
        if window.counter >= window.cwnd {
            (window.counter, window.cwnd) = (0, window.cwnd + 1);
        }
        window.cwnd = window.cwnd.min(window.clamp);
    }
    window.grow(acked, usage);
}

/// Grows the window additively in every second round: per twice the window.
pub fn grow_slowly(window: &mut Window, acked: u32) {
    let mut left = acked;
    if window.cwnd < window.ssthresh {
        let taken = left.min(window.ssthresh - window.cwnd);
        window.cwnd = (window.cwnd + taken).min(window.clamp);
        left -= taken;
        if left == 0 {
            return;
        }
    }
    let needed = 2 * window.cwnd;
    if window.counter >= needed {
        window.counter = 0;
        window.cwnd += 1;
    }
    window.counter += left;
    window.cwnd = (window.cwnd + window.counter / needed).min(window.clamp);
    window.counter %= needed;
}

/// Bandwidth of Westwood+ in segments per second, after one filter and after both.
#[derive(Default)]
pub struct Bandwidth {
    before: Option<(u64, u32)>,
    filtered: Option<(f64, f64)>,
}

impl Bandwidth {
    pub fn acknowledged(&mut self, now: u64, delivered: u32, rtt: f64) {
        let Some((then, count)) = self.before else {
            self.before = Some((now, delivered));
            return;
        };
        let time = (now - then) as f64;
        if time < 50_000.0 || time < rtt {
            return;
        }
        let sample = f64::from(delivered.wrapping_sub(count)) / time * 1e6;
        self.filtered = Some(match self.filtered {
            // Two zeros count as no sample yet.
            Some((once, twice)) if once + twice > 0.0 => {
                let once = 0.875 * once + 0.125 * sample;
                (once, 0.875 * twice + 0.125 * once)
            }
            _ => (sample, sample),
        });
        self.before = Some((now, delivered));
    }

    /// Returns what the path holds. The C side's rounding filters stay within a few units of the
    /// second; a `shown` within that is as right.
    pub fn threshold(&self, least: Option<f64>, shown: u32) -> u32 {
        let twice = self.filtered.map_or(0.0, |(_, twice)| twice);
        let least = least.unwrap_or_default();
        let wanted = (twice * least / 1e6).max(2.0);
        let rounding = 10.0 / 256.0 * least / 1e6;
        let near = (wanted - rounding).floor().max(2.0)..=(wanted + rounding).floor();
        if near.contains(&f64::from(shown)) { shown } else { wanted as u32 }
    }
}
