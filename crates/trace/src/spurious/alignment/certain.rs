//! What the numbers alone say: which transmissions have arrived for certain, and which not before
//! some acknowledgment.

use super::Said;
use crate::spurious::duplicate_sack::SURE_SHARE;
use crate::spurious::flow::Transmission;
use crate::spurious::story::Story;

/// What is certain of the transmissions of a flow.
#[derive(Debug)]
pub struct Certain<'a> {
    story: &'a Story<'a>,
    round_trip: u64,
    /// Each transmission can be answered by this acknowledgment or one behind it: a byte of it was
    /// awaited until then.
    awaited_until: Vec<u32>,
    /// How many of the transmissions before each have arrived.
    arrived: Vec<u32>,
    /// Whether each acknowledgment answers one segment alone, since the receiver held data beyond a
    /// hole, or had just got something twice.
    at_once: Vec<bool>,
}

impl<'a> Certain<'a> {
    /// Of a flow of which so much is known: bytes that were acknowledged were in a transmission
    /// that can be there, and that was sent before the one that filled the hole before them, if
    /// that was answered at once.
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

    /// Which acknowledgments come behind a duplicate, or when what is there of a transmission
    /// before lies beyond the byte awaited.
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

    /// Which transmissions are the only ones that can have brought what was acknowledged.
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
                // Nothing before the filler: segments in order, which one acknowledgment answers
                // together.
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

    /// Transmissions of this byte that the acknowledgment at `ack`, or one before it, can answer.
    pub fn answerable(&self, byte: u64, ack: usize) -> impl Iterator<Item = usize> {
        let sent = &self.story.flow.transmissions;
        let near = self.story.index.near(byte, byte + 1);
        near.filter(move |&at| sent[at].first <= byte && byte < sent[at].end && self.has_time(at, ack))
    }

    /// Whether the acknowledgment at `ack` came late enough behind the transmission at `at` to
    /// answer it.
    pub fn has_time(&self, at: usize, ack: usize) -> bool {
        let (sent, ack) = (&self.story.flow.transmissions[at], &self.story.flow.acknowledgments[ack]);
        let least = (self.round_trip as f64 * SURE_SHARE) as u64;
        sent.order < ack.order && ack.time.saturating_sub(sent.time) >= least
    }

    /// Whether the transmission at `at` may have arrived when the acknowledgment at `ack` was sent.
    pub fn can_have_arrived(&self, at: usize, ack: usize) -> bool {
        self.awaited_until[at] as usize <= ack
    }

    /// Whether the acknowledgment at `ack` answers one segment alone.
    pub fn is_at_once(&self, ack: usize) -> bool {
        self.at_once[ack]
    }

    /// Whether the transmission at `at` has arrived.
    pub fn has_arrived(&self, at: usize) -> bool {
        self.arrived[at + 1] > self.arrived[at]
    }

    /// How many of the transmissions before that at `at` have arrived.
    pub fn arrived_before(&self, at: usize) -> u32 {
        self.arrived[at]
    }
}
