//! Fetching the server's list of a phase, in parts that are requested until they arrive.

use crate::NEVER;
use crate::message::Report;
use std::collections::BTreeMap;

/// Most requests without an answer at a time.
const WINDOW: usize = 8;
const LONGEST_WAIT: u64 = super::LONGEST_WAIT;

#[derive(Debug)]
pub(super) struct Fetching {
    /// Parts that have not arrived: when each is requested, and the wait after that.
    missing: BTreeMap<u32, (u64, u64)>,
    parts: Option<u32>,
    wait: u64,
    sent: u32,
    arrivals: Vec<(u32, u64)>,
}

impl Fetching {
    pub fn new(now: u64, wait: u64) -> Self {
        let missing = BTreeMap::from([(0, (now, wait))]);
        Self { missing, parts: None, wait, sent: 0, arrivals: Vec::new() }
    }

    pub fn due(&self) -> u64 {
        self.missing.values().take(WINDOW).map(|(due, _)| *due).min().unwrap_or(NEVER)
    }

    /// Returns the part to request at `now`.
    pub fn request(&mut self, now: u64) -> Option<u32> {
        let (part, (due, wait)) = self.missing.iter_mut().take(WINDOW).find(|(_, (due, _))| *due <= now)?;
        *due = now.saturating_add(*wait);
        *wait = wait.saturating_mul(2).min(LONGEST_WAIT);
        Some(*part)
    }

    pub fn take(&mut self, report: Report, now: u64) {
        if self.parts.is_none() {
            self.parts = Some(report.parts);
            self.missing.extend((1..report.parts).map(|part| (part, (now, self.wait))));
        }
        if self.missing.remove(&report.part).is_some() {
            self.sent = report.sent;
            self.arrivals.extend(report.arrivals);
        }
    }

    pub fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }

    /// Returns the number of packets that the server has sent, and its arrivals in any order.
    pub fn into_list(self) -> (u32, Vec<(u32, u64)>) {
        (self.sent, self.arrivals)
    }
}
