//! Expected behaviour of the C side: from `loss_differentiation` where it has it, otherwise from
//! the formulas again, in floating point.

mod rates;

use crate::Seen;
use crate::connection::{Connection, State};
use loss_differentiation::{
    Algorithm, Arrival, Detector, Form, Gain, Loss, LossVerdict, Parameters, Quantum, Reduction, Statistics,
    Usage, Window, reduced,
};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rates::{Bandwidth, Rounds};

/// The contract's rounding of mean and deviation, us. The actual error is much smaller (`CLOSE`).
const MEAN_ROUNDING: f64 = 1.0 / 8.0;
const DEV_ROUNDING: f64 = 1.0 / 4.0;
/// Error of values kept with 24 binary places and shown with 8, beyond half a shown unit: what
/// recurrences with a gain of 1/256 accumulate.
const CLOSE: f64 = 1.0 / 500.0;
/// Unit of values shown with 8 binary places.
const UNIT: f64 = 1.0 / 256.0;

const WIRELESS: u8 = 1;
const CONGESTION: u8 = 2;

/// Expected state of a connection.
pub struct Model {
    name: &'static str,
    number: u32,
    detector: Option<Detector>,
    statistics: Option<Statistics>,
    gain: Gain,
    quantum: Quantum,
    reduction: Reduction,
    backlog: u32,
    least: Option<f64>,
    samples: u32,
    rounds: Rounds,
    bandwidth: Bandwidth,
    counted: Counted,
}

/// Counters, and what is known of the last loss.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counted {
    pending: bool,
    n: u16,
    verdict: u8,
    reason: u8,
    base: u32,
    timeouts: u16,
    local: u16,
    events: u32,
    wireless: u32,
}

impl Model {
    /// Creates a model with random parameters, which `set` passes to the C side.
    pub fn new(name: &'static str, random: &mut ChaCha8Rng, set: impl Fn(&str, u32)) -> Self {
        let gain = random.random_range(2..=8);
        set("gain", gain);
        let quantum = match random.random_range(0..8) {
            0 => 1000,
            1 => 10_000,
            2 => random.random_range(1..30),
            _ => 0,
        };
        set("quantum_us", quantum);
        let number = match name {
            "newzag" => 1,
            "newzag_v1" => 2,
            "zigzag" => 3,
            "biaz" => 4,
            "mbiaz" => 5,
            "spike" => 6,
            "veno" => 7,
            "westwood" => 8,
            "vegas" => 9,
            _ => 0,
        };
        let known = [
            Algorithm::NewZag,
            Algorithm::NewZagV1,
            Algorithm::ZigZag,
            Algorithm::Biaz,
            Algorithm::MBiaz,
            Algorithm::Spike,
            Algorithm::Veno,
        ];
        let kind = (1..=7).contains(&number).then(|| known[number as usize - 1]);
        let gain = Gain::new(gain.try_into().expect("small")).expect("an allowed one");
        let mut parameters =
            Parameters { gain, quantum: Quantum::of_us(quantum), ..Parameters::of(Algorithm::NewZag) };
        let wireless_percent = random.random_range(1..=100);
        if kind.is_some() {
            set("wireless_percent", wireless_percent);
        }
        if matches!(number, 4 | 5) {
            parameters.bound_quarters = random.random_range(1..12);
            set("bound_quarters", parameters.bound_quarters);
        }
        if number == 6 {
            // Half of the cases use whole milliseconds, like the published values.
            let unit = if random.random() { 1000 } else { 1 };
            parameters.spike_start_us = random.random_range(0..40_000 / unit) * unit;
            parameters.spike_end_us = random.random_range(0..20_000 / unit) * unit;
            set("spike_start_us", parameters.spike_start_us);
            set("spike_end_us", parameters.spike_end_us);
        }
        if number == 7 {
            parameters.backlog = random.random_range(0..8);
            set("backlog", parameters.backlog);
        }
        let rounds = Rounds::new(random);
        if number == 9 {
            rounds.set(set);
        }
        Self {
            name,
            number,
            detector: kind.map(|kind| Detector::with(kind, Form::SenderOnly, parameters)),
            statistics: None,
            gain,
            quantum: Quantum::of_us(quantum),
            reduction: Reduction { wireless_percent },
            backlog: parameters.backlog,
            least: None,
            samples: 0,
            rounds,
            bandwidth: Bandwidth::default(),
            counted: Counted::default(),
        }
    }

    /// `init`: writes the mark, and zero elsewhere.
    pub fn began(&mut self, connection: &Connection) {
        let mark = 0x4c48_0100 | self.number;
        assert_eq!(connection.state, State { mark, ..State::default() });
        self.rounds.begin(connection.snd_nxt);
    }

    /// `pkts_acked`; returns whether a round ended.
    pub fn acknowledged(&mut self, before: &Connection, after: &Connection, rtt: i32) -> bool {
        let mut ended = false;
        if rtt > 0 {
            if self.number == 7 {
                ended = self.rounds.veno_ended(before, self.samples == 0);
                if ended {
                    self.detector.as_mut().expect("Veno has one").round(before.snd_cwnd);
                }
            }
            self.sample(f64::from(rtt));
        }
        if let Some(detector) = &mut self.detector {
            detector.arrival(Arrival {
                at_us: before.tcp_mstamp as f64,
                delivered: before.delivered,
                in_order: before.sacked_out == 0,
            });
        }
        if self.number == 8 {
            let latest = self.statistics.map_or(0.0, |its| its.latest_us);
            self.bandwidth.acknowledged(before.tcp_mstamp, before.delivered, latest);
        }
        self.compare_samples(&after.state);
        ended
    }

    fn sample(&mut self, rtt: f64) {
        let read = self.quantum.read(rtt);
        self.samples += 1;
        Statistics::add(&mut self.statistics, read, self.gain);
        self.least = Some(self.least.map_or(read, |least| least.min(read)));
        self.rounds.sample(read);
        if let Some(detector) = &mut self.detector {
            detector.sample(rtt);
        }
    }

    fn compare_samples(&self, state: &State) {
        assert_eq!(state.mark, 0x4c48_0100 | self.number);
        assert_eq!(state.samples, self.samples);
        let shown = |value: u32| f64::from(value) * UNIT;
        if let Some(Statistics { mean_us, dev_us, latest_us }) = self.statistics {
            let (mean, dev) = ((shown(state.mean) - mean_us).abs(), (shown(state.dev) - dev_us).abs());
            assert!(mean <= MEAN_ROUNDING && dev <= DEV_ROUNDING, "{state:?} {mean_us} {dev_us}");
            assert!(mean <= UNIT / 2.0 + CLOSE && dev <= UNIT / 2.0 + CLOSE, "{state:?} {mean_us} {dev_us}");
            assert_eq!(state.rtt, latest_us as u32);
        } else {
            assert_eq!((state.mean, state.dev, state.rtt), (0, 0, 0));
        }
        let least = match self.number {
            6..=9 => Some(f64::from(state.least)),
            _ => Some(shown(state.least)),
        };
        let wanted = match (self.number, &self.detector) {
            (6..=9, _) => self.least,
            (_, Some(detector)) => detector.least_us().map(|least| least.max(UNIT)),
            _ => None,
        };
        let off = least.unwrap_or_default() - wanted.unwrap_or_default();
        assert!(off.abs() <= if self.number <= 5 { UNIT / 2.0 + 1e-9 } else { 0.0 }, "{state:?} {wanted:?}");
        if self.number == 6 {
            let judged = self.detector.as_ref().expect("Spike has one").judge(Loss { n: 1, cwnd: 1 });
            assert_eq!(
                state.span == 1,
                judged.verdict == LossVerdict::Congestion && self.samples > 0,
                "{state:?}"
            );
        }
    }

    /// `cong_avoid`.
    pub fn grew(&mut self, before: &Connection, after: &Connection, acked: u32) {
        let mut window = Window {
            cwnd: before.snd_cwnd,
            ssthresh: before.snd_ssthresh,
            counter: before.snd_cwnd_cnt,
            clamp: before.snd_cwnd_clamp,
        };
        let usage =
            Usage { is_cwnd_limited: before.is_cwnd_limited != 0, max_packets_out: before.max_packets_out };
        let is_limited = window.limits(usage);
        if self.number == 9 {
            self.rounds.vegas_grew(&mut window, is_limited, acked, before, self.least);
        } else if self.number == 7 && is_limited && self.rounds.is_heavy(self.backlog) {
            rates::grow_slowly(&mut window, acked);
        } else {
            rates::grow(&mut window, acked, usage);
        }
        let got = (after.snd_cwnd, after.snd_cwnd_cnt, after.snd_ssthresh);
        assert_eq!(got, (window.cwnd, window.counter, window.ssthresh), "{}: {before:?}, {acked}", self.name);
    }

    /// `ssthresh`.
    pub fn judged(&mut self, before: &Connection, after: &Connection, threshold: u32, seen: &mut Seen) {
        let n = before.lost_out.clamp(1, 0xffff);
        self.counted.n = n.try_into().expect("at most 2^16 - 1");
        self.counted.base = before.snd_cwnd;
        self.counted.pending = true;
        let state = &after.state;
        let Some(detector) = &self.detector else {
            (self.counted.verdict, self.counted.reason) = (0, 0);
            assert_eq!(threshold, reduced(before.snd_cwnd, LossVerdict::Congestion, self.reduction));
            assert_eq!(state.limit, 0);
            self.compare_counted(state);
            return;
        };
        let judged = detector.judge(Loss { n, cwnd: before.snd_cwnd });
        seen.judged += 1;
        let verdict = if judged.verdict == LossVerdict::Wireless { WIRELESS } else { CONGESTION };
        seen.wireless += u64::from(verdict == WIRELESS);
        let mut taken = judged.verdict;
        if state.verdict != verdict {
            // Only allowed where rounding can make the difference. What follows uses the C side's
            // verdict.
            let measured = judged.measured.expect("there was a sample");
            let rounding = self.rounding(n);
            let is_near =
                |bound: Option<f64>| bound.is_some_and(|bound| (measured - bound).abs() <= rounding);
            assert!(is_near(judged.limit) || is_near(judged.floor), "{}: {judged:?} {state:?}", self.name);
            seen.near += 1;
            taken = if state.verdict == WIRELESS { LossVerdict::Wireless } else { LossVerdict::Congestion };
        }
        self.counted.verdict = state.verdict;
        self.counted.reason = if judged.measured.is_some() { 1 } else { 2 };
        assert_eq!(threshold, reduced(before.snd_cwnd, taken, self.reduction), "{}: {judged:?}", self.name);
        // Limits that do not fit are shown as the largest that does.
        let limit = judged.limit.unwrap_or_default().clamp(0.0, f64::from(u32::MAX) * UNIT);
        let off = f64::from(state.limit) * UNIT - limit;
        assert!(off.abs() <= self.rounding(n) + UNIT / 2.0, "{}: {judged:?} {state:?}", self.name);
        self.compare_counted(state);
    }

    /// Returns the largest error of a limit, in the limit's unit.
    fn rounding(&self, n: u32) -> f64 {
        match self.number {
            1..=3 => 2.0 * UNIT,
            // Each of the segments lost or delivered meanwhile adds at most half a unit of error.
            4 | 5 => {
                let judged = self.detector.as_ref().expect("Biaz has one").judge(Loss { n, cwnd: 1 });
                let least = self.detector.as_ref().and_then(Detector::least_us).unwrap_or(1.0);
                judged.limit.unwrap_or_default() / least.max(UNIT / 16.0) * UNIT.max(UNIT - least)
            }
            7 => 1e-9,
            _ => 0.0,
        }
    }

    /// `set_state`.
    pub fn settled(&mut self, before: &Connection, after: &Connection, state: u8) {
        let counted = &mut self.counted;
        let was_pending = std::mem::take(&mut counted.pending);
        let mut threshold = before.snd_ssthresh;
        let half = (counted.base / 2).max(2);
        match state {
            4 => {
                counted.timeouts = counted.timeouts.wrapping_add(1);
                counted.n = before.lost_out.clamp(1, 0xffff).try_into().expect("at most 2^16 - 1");
                (counted.verdict, counted.reason) = (CONGESTION, 3);
                if was_pending {
                    threshold = if self.number == 8 {
                        self.bandwidth.threshold(self.least, after.snd_ssthresh)
                    } else {
                        half
                    };
                }
            }
            3 if was_pending => {
                counted.events += 1;
                counted.wireless += u32::from(counted.verdict == WIRELESS);
            }
            2 if was_pending => {
                counted.local = counted.local.wrapping_add(1);
                (counted.verdict, counted.reason) = (CONGESTION, 4);
                threshold = half;
            }
            _ => {}
        }
        assert_eq!(after.snd_ssthresh, threshold, "{}: state {state}", self.name);
        assert_eq!((after.snd_cwnd, after.snd_cwnd_cnt), (before.snd_cwnd, before.snd_cwnd_cnt));
        if self.number == 9 {
            self.rounds.settled(state, before.snd_nxt);
        }
        self.compare_counted(&after.state);
    }

    /// `cwnd_event`: Westwood sets the window at the end of a recovery.
    pub fn completed(&mut self, before: &Connection, after: &Connection, is_complete: bool) {
        if self.number == 8 && is_complete {
            let threshold = self.bandwidth.threshold(self.least, after.snd_ssthresh);
            assert_eq!((after.snd_cwnd, after.snd_ssthresh), (threshold, threshold));
        } else {
            assert_eq!((after.snd_cwnd, after.snd_ssthresh), (before.snd_cwnd, before.snd_ssthresh));
        }
    }

    fn compare_counted(&self, state: &State) {
        let got = Counted {
            pending: self.counted.pending,
            n: state.n,
            verdict: state.verdict,
            reason: state.reason,
            base: state.base,
            timeouts: state.timeouts,
            local: state.local,
            events: state.events,
            wireless: state.wireless,
        };
        assert_eq!(got, self.counted, "{}", self.name);
    }
}
