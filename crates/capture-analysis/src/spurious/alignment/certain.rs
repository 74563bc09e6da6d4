//! What the numbers alone prove: which transmissions have certainly arrived, and which had not
//! arrived before some acknowledgment.

use super::Said;
use crate::spurious::duplicate_sack::SURE_SHARE;
use crate::spurious::flow::Transmission;
use crate::spurious::story::Story;

/// Certain facts about the transmissions of a flow.
#[derive(Debug)]
pub struct Certain<'a> {
    story: &'a Story<'a>,
    round_trip: u64,
    /// For each transmission, the first acknowledgment that can answer it: one of its bytes was
    /// expected until then.
    awaited_until: Vec<u32>,
    /// Number of certain arrivals before each transmission.
    arrived: Vec<u32>,
    /// Whether each acknowledgment answers only one segment, because the receiver held data beyond
    /// a hole or had just received something twice.
    at_once: Vec<bool>,
}

impl<'a> Certain<'a> {
    /// Derives what is certain from a flow and from what alignments said of it so far.
    ///
    /// Acknowledged bytes arrived in a transmission that is not known to be lost. If the hole below
    /// them was filled and answered at once, that transmission was sent before the one that filled
    /// the hole.
    pub fn new(story: &'a Story<'a>, round_trip: u64, said: &[Said]) -> Self {
        let acks = story.flow.acknowledgments.len();
        let awaited_until = |sent: &Transmission| {
            let behind = story.beyond(0, sent.end - 1).unwrap_or(acks);
            if story.edge_before(behind) >= sent.first { behind as u32 } else { 0 }
        };
        let awaited_until = story.flow.transmissions.iter().map(awaited_until).collect();
        let mut certain = Self { story, round_trip, awaited_until, arrived: Vec::new(), at_once: Vec::new() };
        certain.at_once = certain.answered_at_once(said);
        let mut count = 0;
        let arrived = certain.sole(said);
        certain.arrived.push(0);
        certain.arrived.extend(arrived.into_iter().map(|arrived| {
            count += u32::from(arrived);
            count
        }));
        certain
    }

    /// Returns which acknowledgments answer only one segment: those that follow a duplicate, and
    /// those that advance after an earlier transmission is known to have arrived beyond the
    /// expected byte.
    fn answered_at_once(&self, said: &[Said]) -> Vec<bool> {
        let sent = &self.story.flow.transmissions;
        let mut highest = 0;
        let up_to = |(sent, said): (&Transmission, &Said)| {
            let before = highest;
            highest = if said.is_there() { highest.max(sent.end) } else { highest };
            before
        };
        let there: Vec<u64> = sent.iter().zip(said).map(up_to).collect();
        let acks = &self.story.flow.acknowledgments;
        let at_once = |at: usize| {
            let edge = self.story.edge_before(at);
            let is_duplicate = at > 0 && acks[at - 1].duplicate;
            let filler = || self.answerable(edge, at).filter(|one| said[*one].there).min();
            is_duplicate || (acks[at].number > edge && filler().is_some_and(|filler| there[filler] > edge))
        };
        (0..acks.len()).map(at_once).collect()
    }

    /// Returns which transmissions are the only ones that can have delivered acknowledged bytes.
    fn sole(&self, said: &[Said]) -> Vec<bool> {
        let can_be = |at: usize| said[at].there;
        let sent = &self.story.flow.transmissions;
        let mut sole = vec![false; sent.len()];
        let mut byte = sent.iter().map(|sent| sent.first).min().unwrap_or(0);
        for (at, ack) in self.story.flow.acknowledgments.iter().enumerate() {
            let edge = byte;
            let filler = self.answerable(edge, at).filter(|one| can_be(*one)).max();
            while byte < ack.number {
                let (mut first, mut all) = (None, 0);
                let (mut first_before, mut before, mut next) = (None, 0, u64::MAX);
                for one in self.answerable(byte, at) {
                    next = next.min(sent[one].end);
                    if !can_be(one) {
                        continue;
                    }
                    all += 1;
                    first = first.or(Some(one));
                    if byte > edge && self.at_once[at] && filler.is_some_and(|filler| one <= filler) {
                        before += 1;
                        first_before = first_before.or(Some(one));
                    }
                }
                // If no candidate was sent before the filler, the segments came in order, and one
                // acknowledgment answers them together.
                let only = if before > 0 {
                    first_before.filter(|_| before == 1)
                } else {
                    first.filter(|_| all == 1)
                };
                if let Some(only) = only {
                    sole[only] = true;
                }
                byte = if next == u64::MAX { ack.number } else { next.min(ack.number) };
            }
        }
        sole
    }

    /// Returns the transmissions of this byte that can be answered by the time of the
    /// acknowledgment at `ack`.
    pub fn answerable(&self, byte: u64, ack: usize) -> impl Iterator<Item = usize> {
        let sent = &self.story.flow.transmissions;
        let near = self.story.index.near(byte, byte + 1);
        near.filter(move |&at| sent[at].first <= byte && byte < sent[at].end && self.has_time(at, ack))
    }

    /// Returns whether the acknowledgment at `ack` came late enough after the transmission at `at`
    /// to answer it.
    pub fn has_time(&self, at: usize, ack: usize) -> bool {
        let (sent, ack) = (&self.story.flow.transmissions[at], &self.story.flow.acknowledgments[ack]);
        let least = (self.round_trip as f64 * SURE_SHARE) as u64;
        sent.order < ack.order && ack.time.saturating_sub(sent.time) >= least
    }

    /// Returns whether the transmission at `at` may have arrived when the acknowledgment at `ack`
    /// was sent.
    pub fn can_have_arrived(&self, at: usize, ack: usize) -> bool {
        self.awaited_until[at] as usize <= ack
    }

    /// Returns whether the acknowledgment at `ack` answers only one segment.
    pub fn is_at_once(&self, ack: usize) -> bool {
        self.at_once[ack]
    }

    /// Returns whether the transmission at `at` has certainly arrived.
    pub fn has_arrived(&self, at: usize) -> bool {
        self.arrived[at + 1] > self.arrived[at]
    }

    /// Returns the number of transmissions before that at `at` that have certainly arrived.
    pub fn arrived_before(&self, at: usize) -> u32 {
        self.arrived[at]
    }
}
