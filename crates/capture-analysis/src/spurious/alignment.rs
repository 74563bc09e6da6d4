//! Alignment of acknowledgments with the transmissions that they answer.
//!
//! On a path that keeps the order, transmissions that arrive are answered in the order in which
//! they were sent. Without SACK, a duplicate acknowledgment does not say what it answers. But a
//! receiver that holds data beyond a hole answers every segment at once (RFC 5681 section 4.2). So
//! the acknowledgments of a recovery and the transmissions that arrived are two sequences in the
//! same order, and the transmissions that are left over were lost. Two things show which these are:
//!
//! * the numbers: a duplicate does not answer a transmission with the expected byte. An
//!   acknowledgment that advances answers one with this byte, and has its time stamp. A
//!   transmission with a byte that is still expected later has not arrived before; acknowledged
//!   bytes have arrived ([`certain`]).
//! * the times: a bottleneck sends one packet after the other. A packet that is lost behind it
//!   leaves its time free; its queue drops a packet when it is full and not before ([`path`]).
//!
//! An alignment of the two sequences has a cost for everything unlikely in it ([`layers`]). A
//! transmission gets a verdict only if all alignments that are nearly as cheap as the cheapest one
//! agree on it. Where the delay varies by more than the bottleneck's time for a packet, the times
//! say nothing. Where a path changes the order, acknowledgments are left over; then there are no
//! verdicts at all.

mod certain;
mod layers;
mod path;

use super::delivery::Delivery;
use super::flow::Transmission;
use super::ranges::Ranges;
use super::story::Story;
use certain::Certain;
use layers::Aligned;
use path::Path;

/// Maximum number of rounds. The losses found in one round tell the next one which transmissions of
/// the same bytes must have arrived, and how long the queue is.
const ROUNDS: usize = 8;

/// Acknowledgments that may answer nothing on a path that keeps the order: the first number (for
/// SYN and FIN, or a new window), plus one per the second number of duplicates.
const LEFT_OVER: (usize, usize) = (4, 500);

/// What the alignments say of a transmission: that it arrived, that it was lost, or both if they
/// disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Said {
    there: bool,
    lost: bool,
}

impl Said {
    /// Not known.
    const OPEN: Self = Self { there: true, lost: true };

    const fn is_there(self) -> bool {
        self.there && !self.lost
    }

    const fn is_lost(self) -> bool {
        self.lost && !self.there
    }
}

/// Returns what became of each transmission.
///
/// `None` if SACK is in use, which reveals more, if too little is known of the path, or if the path
/// changes the order.
#[must_use]
pub fn deliveries(story: &Story<'_>) -> Option<Vec<Delivery>> {
    if story.flow.sack {
        return None;
    }
    let mut path = Path::of(story)?;
    let mut said = vec![Said::OPEN; story.flow.transmissions.len()];
    let duplicates = story.flow.acknowledgments.iter().filter(|ack| ack.duplicate).count();
    for round in 0..ROUNDS {
        let certain = Certain::new(story, path.round_trip, &said);
        let aligned = Aligned::new(story, &certain, &path);
        if round == 0 && aligned.left_over > LEFT_OVER.0 + duplicates / LEFT_OVER.1 {
            return None;
        }
        let drops = aligned.drops();
        let before = std::mem::replace(&mut said, aligned.said);
        path.learn(&drops);
        contradictions(story, &mut said);
        if before == said {
            break;
        }
    }
    let delivery = |(sent, said): (&Transmission, &Said)| {
        let mut there = Ranges::default();
        if said.is_there() {
            there.add(sent.first, sent.end);
        }
        Delivery { there, sure: said.there != said.lost }
    };
    Some(story.flow.transmissions.iter().zip(&said).map(delivery).collect())
}

/// Withdraws verdicts that contradict acknowledgments: acknowledged bytes had arrived.
///
/// Where all transmissions of an acknowledged byte are said to be lost, the order was changed, or
/// one acknowledgment answered several. Then nothing is said of the transmissions from the first of
/// them up to the acknowledgment.
fn contradictions(story: &Story<'_>, said: &mut [Said]) {
    let sent = &story.flow.transmissions;
    let mut byte = sent.iter().map(|sent| sent.first).min().unwrap_or(0);
    for ack in &story.flow.acknowledgments {
        while byte < ack.number {
            let near = || story.index.near(byte, byte + 1);
            let has = |at: &usize| {
                let sent = &sent[*at];
                sent.first <= byte && byte < sent.end && sent.order < ack.order
            };
            let Some(first) = near().find(has) else { return };
            if !near().filter(has).any(|at| said[at].there) {
                let until = sent.partition_point(|sent| sent.order < ack.order);
                said[first..until].fill(Said::OPEN);
            }
            byte = sent[first].end;
        }
    }
}
