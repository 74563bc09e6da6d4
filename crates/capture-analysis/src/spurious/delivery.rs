//! From what became of each transmission to verdicts on retransmissions.

use super::SpuriousVerdict;
use super::flow::Transmission;
use super::ranges::Ranges;

/// Outcome of one transmission.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Delivery {
    /// Bytes of it that reached the receiver.
    pub there: Ranges,
    /// Whether all other bytes of it are known to be lost; otherwise they may have arrived.
    pub sure: bool,
}

/// Transmissions of a flow by the bytes in them.
#[derive(Debug, Clone)]
pub struct Index {
    /// First byte and index, sorted.
    by_first: Vec<(u64, u32)>,
    longest: u64,
}

impl Index {
    /// Creates the index of these transmissions.
    #[must_use]
    pub fn new(transmissions: &[Transmission]) -> Self {
        let mut by_first: Vec<(u64, u32)> =
            transmissions.iter().zip(0..).map(|(sent, index)| (sent.first, index)).collect();
        by_first.sort_unstable();
        let longest = transmissions.iter().map(|sent| sent.end - sent.first).max().unwrap_or(0);
        Self { by_first, longest }
    }

    /// Returns the indices of transmissions that may have bytes of `first..end`, by their first
    /// bytes and, among equal ones, in the order of time.
    pub fn near(&self, first: u64, end: u64) -> impl Iterator<Item = usize> + use<'_> {
        let from = self.by_first.partition_point(|entry| entry.0 + self.longest <= first);
        let near = self.by_first[from..].iter().take_while(move |entry| entry.0 < end);
        near.map(|entry| entry.1 as usize)
    }

    /// Returns the indices of transmissions before `index` that share bytes with it.
    pub fn earlier<'a>(
        &'a self,
        transmissions: &'a [Transmission],
        index: usize,
    ) -> impl Iterator<Item = usize> + use<'a> {
        let Transmission { first, end, .. } = transmissions[index];
        self.near(first, end).filter(move |&other| {
            let sent = &transmissions[other];
            other < index && sent.first < end && first < sent.end
        })
    }
}

/// Returns whether the transmission at `at` was spurious, by the outcomes of earlier ones.
#[must_use]
pub fn verdict(
    transmissions: &[Transmission],
    index: &Index,
    at: usize,
    deliveries: &[Delivery],
) -> SpuriousVerdict {
    let Transmission { first, end, .. } = transmissions[at];
    // Bytes that had been sent before: without those that arrived and, in `certain`, also without
    // those that may have arrived.
    let (mut missing, mut certain) = (Ranges::default(), Ranges::default());
    for earlier in index.earlier(transmissions, at) {
        let sent = &transmissions[earlier];
        for set in [&mut missing, &mut certain] {
            set.add(sent.first.max(first), sent.end.min(end));
        }
    }
    if missing.is_empty() {
        return SpuriousVerdict::Unknown;
    }
    for earlier in index.earlier(transmissions, at) {
        let delivery = &deliveries[earlier];
        for &(low, high) in delivery.there.as_slice() {
            missing.remove(low, high);
            certain.remove(low, high);
        }
        if !delivery.sure {
            certain.remove(transmissions[earlier].first, transmissions[earlier].end);
        }
    }
    match (missing.is_empty(), certain.is_empty()) {
        (true, _) => SpuriousVerdict::Spurious,
        (false, false) => SpuriousVerdict::Necessary,
        (false, true) => SpuriousVerdict::Unknown,
    }
}
