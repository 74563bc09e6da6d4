//! Which transmission does each acknowledgment answer? A path that keeps the order answers what
//! arrives in the order in which it was sent.
//!
//! Without SACK a duplicate acknowledgment does not say what it answers. But a receiver that holds
//! data beyond a hole answers every segment at once (RFC 5681 section 4.2), so the acknowledgments
//! of a recovery and the transmissions that arrived are two sequences in the same order, and what
//! is left over was lost. Which is left over is told by
//!
//! * the numbers: a duplicate answers nothing that has the byte awaited, an acknowledgment that
//!   moves on answers what has it, with its time stamp; what has a byte that is awaited later has
//!   not arrived before, and what was acknowledged has ([`certain`]);
//! * the times: a bottleneck sends one packet behind the other. A packet that is lost behind it
//!   leaves its time free; its queue drops one when it is full and not before ([`path`]).
//!
//! Each alignment of the two sequences costs something where it is unlikely ([`layers`]). Of all
//! that are nearly as cheap as the cheapest, what each says of a transmission has to be the same;
//! else nothing is said. Where the delay varies by more than what the bottleneck needs for a packet
//! the times say nothing. Where a path changes the order acknowledgments are left over, and nothing
//! is said at all.

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

/// What one round says was lost tells the next what of the same bytes must have arrived, and how
/// long the queue is.
const ROUNDS: usize = 8;

/// Acknowledgments that may answer nothing on a path that keeps the order: so many (those of SYN
/// and FIN, of a new window), and one in so many duplicates.
const LEFT_OVER: (usize, usize) = (4, 500);

/// What alignments say of a transmission: that it arrived, that it did not; both, if some say this
/// and some that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Said {
    there: bool,
    lost: bool,
}

impl Said {
    /// Nothing is known.
    const OPEN: Self = Self { there: true, lost: true };

    const fn is_there(self) -> bool {
        self.there && !self.lost
    }

    const fn is_lost(self) -> bool {
        self.lost && !self.there
    }
}

/// What became of each transmission; `None` where SACK is in use, which tells more, where too
/// little is known of the path, or where that changes the order.
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

/// What was acknowledged had arrived. Where all transmissions of it are said to be lost, the order
/// was another one, or one acknowledgment answered several: nothing is said of what was sent from
/// the first of them on.
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
