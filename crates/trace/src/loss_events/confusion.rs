//! Verdicts against true causes: counts that add up over runs, and the shares that matter.
//!
//! How sure a share is follows from its two counts alone (`results::statistics::wilson`).

use super::{Kind, LossEvent, TrueCause};
use ldas::Verdict;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// A share of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Share {
    /// How many of them.
    pub of: u64,
    /// How many there are.
    pub all: u64,
}

/// How many losses of each true cause got each verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Confusion {
    /// By true cause in the order of [`TrueCause::ALL`], then by verdict in the order of [`Verdict::ALL`].
    judged: [[u64; 2]; 5],
    /// By true cause: nobody judged them.
    unjudged: [u64; 5],
}

/// How often a count was off by how much: what was counted less what was true.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Differences(pub BTreeMap<i64, u64>);

/// All loss events of senders, counted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// Those found by acknowledgements: here a detector judged.
    pub recovery: Confusion,
    /// Timeouts, which are congestion without asking.
    pub timeout: Confusion,
    /// Reductions without recovery, likewise.
    pub cwr: Confusion,
    /// Lost segments as senders counted them when recovery began, less those that were lost.
    pub differences: Differences,
}

impl Share {
    /// The share, from 0 to 1; `None` of nothing.
    #[must_use]
    pub fn value(self) -> Option<f64> {
        (self.all > 0).then(|| self.of as f64 / self.all as f64)
    }
}

impl Confusion {
    /// Counts a loss.
    pub fn add(&mut self, cause: TrueCause, verdict: Option<Verdict>) {
        match verdict {
            Some(verdict) => self.judged[cause as usize][verdict as usize] += 1,
            None => self.unjudged[cause as usize] += 1,
        }
    }

    /// How many losses of this cause got this verdict, or none.
    #[must_use]
    pub const fn count(&self, cause: TrueCause, verdict: Option<Verdict>) -> u64 {
        match verdict {
            Some(verdict) => self.judged[cause as usize][verdict as usize],
            None => self.unjudged[cause as usize],
        }
    }

    /// All losses, judged or not.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.judged.iter().flatten().chain(&self.unjudged).sum()
    }

    /// Of the judged losses of this cause, how many got this verdict.
    #[must_use]
    pub fn share(&self, cause: TrueCause, verdict: Verdict) -> Share {
        Share { of: self.count(cause, Some(verdict)), all: self.judged[cause as usize].iter().sum() }
    }

    /// Of the judged losses that were wireless or congestion, how many were taken for what they were. Outages are neither, and
    /// what is mixed or was no loss has no right verdict.
    #[must_use]
    pub fn right(&self) -> Share {
        let right = [(TrueCause::Wireless, Verdict::Wireless), (TrueCause::Congestion, Verdict::Congestion)]
            .map(|(cause, verdict)| self.share(cause, verdict));
        Share { of: right[0].of + right[1].of, all: right[0].all + right[1].all }
    }

    /// Of all that was judged, how much was judged wireless (section 5.3.3 of the thesis: "classified random").
    #[must_use]
    pub fn judged_wireless(&self) -> Share {
        let of = self.judged.iter().map(|counts| counts[Verdict::Wireless as usize]).sum();
        Share { of, all: self.judged.iter().flatten().sum() }
    }
}

impl AddAssign<&Self> for Confusion {
    fn add_assign(&mut self, other: &Self) {
        let all = self.judged.iter_mut().flatten().chain(&mut self.unjudged);
        for (mine, theirs) in all.zip(other.judged.iter().flatten().chain(&other.unjudged)) {
            *mine += theirs;
        }
    }
}

impl AddAssign<&Self> for Differences {
    fn add_assign(&mut self, other: &Self) {
        for (difference, count) in &other.0 {
            *self.0.entry(*difference).or_default() += count;
        }
    }
}

impl Differences {
    /// Counts a difference.
    pub fn add(&mut self, difference: i64) {
        *self.0.entry(difference).or_default() += 1;
    }

    /// How many counts were right.
    #[must_use]
    pub fn right(&self) -> Share {
        Share { of: self.0.get(&0).copied().unwrap_or(0), all: self.0.values().sum() }
    }
}

impl Tally {
    /// Counts a loss event.
    pub fn add(&mut self, event: &LossEvent) {
        let verdict = event.judged().and_then(|judged| judged.verdict);
        self.of_mut(event.change.kind).add(event.truth.cause, verdict);
        if let Some(difference) = event.difference() {
            self.differences.add(difference);
        }
    }

    /// The counts of one kind of event.
    #[must_use]
    pub const fn of(&self, kind: Kind) -> &Confusion {
        match kind {
            Kind::Recovery => &self.recovery,
            Kind::Timeout => &self.timeout,
            Kind::Cwr => &self.cwr,
        }
    }

    const fn of_mut(&mut self, kind: Kind) -> &mut Confusion {
        match kind {
            Kind::Recovery => &mut self.recovery,
            Kind::Timeout => &mut self.timeout,
            Kind::Cwr => &mut self.cwr,
        }
    }
}

impl AddAssign<&Self> for Tally {
    fn add_assign(&mut self, other: &Self) {
        for kind in Kind::ALL {
            *self.of_mut(kind) += other.of(kind);
        }
        self.differences += &other.differences;
    }
}

impl<'a> FromIterator<&'a LossEvent> for Tally {
    fn from_iter<T: IntoIterator<Item = &'a LossEvent>>(events: T) -> Self {
        let mut tally = Self::default();
        for event in events {
            tally.add(event);
        }
        tally
    }
}

#[cfg(test)]
mod tests;
