//! Search for the cheapest alignments, acknowledgment by acknowledgment (Viterbi's algorithm in
//! both directions).
//!
//! It finds the cheapest alignment up to each acknowledgment, and the cheapest one from each on.
//! What it says of a transmission comes from all alignments that are nearly as cheap as the
//! cheapest of all. Costs are in hundredths of a natural logarithm.

use super::Said;
use super::certain::Certain;
use super::path::Path;
use crate::spurious::flow::{Acknowledgment, Transmission};
use crate::spurious::story::Story;

/// Cost of an acknowledgment that answers nothing sent after what was answered before, of one with
/// the time stamp of another segment, and of a certain arrival without an answer.
const STRANGE: u32 = 1200;

/// Alignments that cost more than the cheapest by this are dropped.
const BEAM: u32 = 2500;

/// An alignment that costs at most this more than the cheapest may be the true one: e^6, 400 to 1.
const MARGIN: u32 = 600;

/// Maximum number of packets in a row that are lost behind the bottleneck, or that one
/// acknowledgment answers.
const ROW: usize = 64;

/// Number of transmissions on both sides of an acknowledgment that get no verdict if it answers
/// none of them in order.
const DISPLACED: usize = 16;

/// Cost of what cannot be reached.
const NEVER: u32 = u32::MAX / 4;

/// Alignments up to some acknowledgment that have passed `behind` transmissions: the cost of the
/// cheapest one up to here, and from here on.
#[derive(Debug, Clone, Copy)]
struct Node {
    behind: usize,
    cost: u32,
    rest: u32,
}

/// Possible answer of an acknowledgment.
#[derive(Debug, Clone, Copy)]
struct Answer {
    /// The last transmission that it answers, and the first one in order.
    at: usize,
    from: usize,
    /// Its cost right after what was answered before, and its cost after one that the queue
    /// dropped.
    next: u32,
    skip: u32,
}

/// The alignments of a flow.
pub struct Aligned<'a> {
    story: &'a Story<'a>,
    certain: &'a Certain<'a>,
    path: &'a Path,
    layers: Vec<Vec<Node>>,
    /// What the cheap alignments say of each transmission.
    pub said: Vec<Said>,
    /// Transmissions and acknowledgments that cheap alignments match, and whether the queue dropped
    /// the packet right before.
    pairs: Vec<(usize, usize, bool)>,
    /// Number of acknowledgments that answer nothing in any cheap alignment.
    pub left_over: usize,
}

impl<'a> Aligned<'a> {
    /// Aligns the acknowledgments of a flow with its transmissions.
    pub fn new(story: &'a Story<'a>, certain: &'a Certain<'a>, path: &'a Path) -> Self {
        let said = vec![Said { there: false, lost: false }; story.flow.transmissions.len()];
        let start = Node { behind: 0, cost: 0, rest: NEVER };
        let mut aligned =
            Self { story, certain, path, layers: vec![vec![start]], said, pairs: Vec::new(), left_over: 0 };
        for ack in 0..story.flow.acknowledgments.len() {
            let next = aligned.forward(ack);
            aligned.layers.push(next);
        }
        aligned.backward();
        aligned
    }

    /// Returns the delays at certain drops by the queue, in nanoseconds.
    ///
    /// For each drop, these are the times from the transmission right after the dropped one, and
    /// from the dropped one itself, to the acknowledgment of the former.
    pub fn drops(&self) -> Vec<(u64, u64)> {
        let is_sure = |at: usize| self.said[at].is_there() && self.said[at - 1].is_lost();
        let alone = self.pairs.chunk_by(|one, other| one.0 == other.0).filter(|pairs| pairs.len() == 1);
        let drops = alone.filter_map(|pairs| pairs.first().filter(|pair| pair.2 && is_sure(pair.0)));
        drops.map(|&(at, ack, _)| (self.later(at, ack), self.later(at - 1, ack))).collect()
    }

    fn sent(&self, at: usize) -> &'a Transmission {
        &self.story.flow.transmissions[at]
    }

    fn ack(&self, ack: usize) -> &'a Acknowledgment {
        &self.story.flow.acknowledgments[ack]
    }

    /// Returns the time from the transmission at `at` to the acknowledgment at `ack`, in
    /// nanoseconds; 0 if the clock went back.
    fn later(&self, at: usize, ack: usize) -> u64 {
        self.ack(ack).time.saturating_sub(self.sent(at).time)
    }

    /// Returns the time of the acknowledgment before this one.
    fn before(&self, ack: usize) -> f64 {
        ack.checked_sub(1).map_or(0, |before| self.ack(before).time) as f64
    }

    /// Returns the cost if the acknowledgment at `ack` answers nothing: 0 for that of a SYN or FIN.
    fn unanswered(&self, ack: usize) -> u32 {
        let (edge, number) = (self.story.edge_before(ack), self.ack(ack).number);
        let moves = number > edge;
        let has_data = self.certain.answerable(number.saturating_sub(1), ack).next().is_some()
            || self.certain.answerable(edge, ack).next().is_some();
        if moves && !has_data { 0 } else { STRANGE }
    }

    /// Returns the possible answers of the acknowledgment at `ack`, in the order of transmissions,
    /// if at least `behind` transmissions have been passed.
    fn answers(&self, ack: usize, behind: usize) -> Vec<Answer> {
        let (edge, now) = (self.story.edge_before(ack), self.ack(ack));
        if now.number > edge {
            let mut answers: Vec<Answer> = self
                .certain
                .answerable(edge, ack)
                .filter(|at| *at >= behind && self.certain.can_have_arrived(*at, ack))
                .map(|at| self.answer(at, ack, true))
                .collect();
            let alone = self.certain.is_at_once(ack);
            let last = self.certain.answerable(now.number - 1, ack);
            let quiet = last.filter(|at| !alone && *at >= behind);
            answers.extend(quiet.filter_map(|at| self.quiet(at, ack, edge)));
            answers.sort_unstable_by_key(|answer| (answer.at, answer.from));
            answers.dedup_by_key(|answer| answer.at);
            return answers;
        }
        let until = self.story.flow.transmissions.len();
        (behind..until)
            .take_while(|at| self.certain.has_time(*at, ack))
            .filter(|at| {
                let sent = self.sent(*at);
                !(sent.first <= edge && edge < sent.end) && self.certain.can_have_arrived(*at, ack)
            })
            .map(|at| self.answer(at, ack, false))
            .collect()
    }

    /// Returns the answer to a single transmission.
    fn answer(&self, at: usize, ack: usize, fills: bool) -> Answer {
        let (sent, now, before) = (self.sent(at), self.ack(ack), self.before(ack));
        let off = self.path.off(now.time, self.path.behind(before, sent));
        let taken = self.path.taken(self.later(at, ack));
        let strange = fills && sent.stamp.zip(now.echo).is_some_and(|(stamp, echo)| stamp != echo);
        let next = off + taken + if strange { STRANGE } else { 0 };
        let dropped = at.checked_sub(1).map_or(0, |at| self.path.dropped(self.later(at, ack)));
        Answer { at, from: at, next, skip: next + dropped }
    }

    /// Returns the delayed answer to several segments in order (RFC 9293 section 3.8.6.3), the last
    /// of which is at `at`. It may be late, but not early.
    fn quiet(&self, at: usize, ack: usize, edge: u64) -> Option<Answer> {
        let now = self.ack(ack);
        if self.sent(at).end != now.number || self.sent(at).first <= edge {
            return None;
        }
        let chain = self.chain(at, ack, edge)?;
        let from = *chain.last()?;
        let needs: f64 = chain.iter().map(|at| self.path.needs(self.sent(*at))).sum();
        let cost = self.path.early(now.time, self.before(ack) + needs);
        Some(Answer { at, from, next: cost, skip: cost })
    }

    /// Returns the segments in order from the byte at `edge` to the one at `at`, the last one
    /// first.
    fn chain(&self, at: usize, ack: usize, edge: u64) -> Option<Vec<usize>> {
        let mut chain = vec![at];
        let mut last = at;
        while self.sent(last).first > edge {
            let before = self.certain.answerable(self.sent(last).first - 1, ack);
            last = before.filter(|one| *one < last).max().filter(|_| chain.len() < ROW)?;
            chain.push(last);
        }
        Some(chain)
    }

    /// Calls `found` with each possible answer after packets that were lost behind the bottleneck,
    /// and with its cost. The lost packets directly follow the node.
    fn gaps(&self, node: &Node, ack: usize, answers: &[Answer], mut found: impl FnMut(&Answer, u32)) {
        let (now, before) = (self.ack(ack), self.before(ack));
        let first = answers.partition_point(|answer| answer.at <= node.behind);
        let mut answers = answers[first..].iter().peekable();
        let mut gone = before;
        let (mut at, late) = (node.behind, now.time as f64);
        while let Some(answer) = answers.peek() {
            if at > node.behind + ROW || gone > late + self.path.needs(self.sent(at)) {
                return;
            }
            gone = self.path.behind(gone, self.sent(at));
            if answer.at == at {
                if answer.from == at {
                    let plain =
                        answer.next - self.path.off(now.time, self.path.behind(before, self.sent(at)));
                    let missed = self.missed(node.behind, at);
                    found(answer, self.path.off(now.time, gone) + plain + missed);
                }
                answers.next();
            }
            at += 1;
        }
    }

    /// Returns the cost of certain arrivals without an answer, from `behind` to before `at`.
    fn missed(&self, behind: usize, at: usize) -> u32 {
        STRANGE * (self.certain.arrived_before(at) - self.certain.arrived_before(behind))
    }

    /// Returns the alignments after the acknowledgment at `ack`.
    fn forward(&self, ack: usize) -> Vec<Node> {
        let nodes = &self.layers[ack];
        let answers = self.answers(ack, nodes.first().map_or(0, |node| node.behind));
        let unanswered = self.unanswered(ack);
        let mut reached: Vec<(usize, u32)> =
            nodes.iter().map(|node| (node.behind, node.cost + unanswered)).collect();
        // For each node, the smallest cost up to it, less the cost of all certain arrivals before.
        // Adding this cost at an answer leaves the certain arrivals in between unanswered.
        let debt = |at: usize| i64::from(STRANGE) * i64::from(self.certain.arrived_before(at));
        let mut least = i64::MAX;
        let cheapest: Vec<i64> = nodes
            .iter()
            .map(|node| {
                least = least.min(i64::from(node.cost) - debt(node.behind));
                least
            })
            .collect();
        for answer in &answers {
            let until = nodes.partition_point(|node| node.behind < answer.from);
            if let Some(before) = until.checked_sub(1) {
                let cost = cheapest[before] + debt(answer.from) + i64::from(answer.skip);
                reached.push((answer.at + 1, cost as u32));
            }
            if let Some(node) = nodes.get(until).filter(|node| node.behind == answer.from) {
                reached.push((answer.at + 1, node.cost + answer.next));
            }
        }
        for node in nodes {
            self.gaps(node, ack, &answers, |answer, cost| reached.push((answer.at + 1, node.cost + cost)));
        }
        reached.sort_unstable();
        reached.dedup_by_key(|entry| entry.0);
        let least = reached.iter().map(|entry| entry.1).min().unwrap_or(0);
        reached.retain(|entry| entry.1 <= least + BEAM);
        reached.into_iter().map(|(behind, cost)| Node { behind, cost: cost - least, rest: NEVER }).collect()
    }

    /// Goes back through the alignments and collects what the cheap ones say.
    fn backward(&mut self) {
        let mut marks = Marks { there: Vec::new(), lost: Vec::new(), open: Vec::new() };
        let Some(last) = self.layers.last_mut() else { return };
        for node in last.iter_mut() {
            node.rest = 0;
        }
        let settled = last.iter().filter(|node| node.cost <= MARGIN).map(|node| node.behind).min();
        marks.open.push((settled.unwrap_or(0), self.said.len()));
        for ack in (0..self.story.flow.acknowledgments.len()).rev() {
            let answers = self.answers(ack, self.layers[ack].first().map_or(0, |node| node.behind));
            let rests = self.rests(ack, &answers);
            for (node, rest) in self.layers[ack].iter_mut().zip(rests) {
                node.rest = rest;
            }
            self.mark(ack, &answers, &mut marks);
        }
        marks.write(self.certain, &mut self.said);
        self.pairs.sort_unstable();
    }

    /// Returns the cost from the layer after `ack` on, if `behind` transmissions have been passed
    /// there.
    fn rest(&self, ack: usize, behind: usize) -> u32 {
        let next = &self.layers[ack + 1];
        next.binary_search_by_key(&behind, |node| node.behind).map_or(NEVER, |at| next[at].rest)
    }

    /// Returns the cost from each node of a layer on.
    fn rests(&self, ack: usize, answers: &[Answer]) -> Vec<u32> {
        let debt = |at: usize| i64::from(STRANGE) * i64::from(self.certain.arrived_before(at));
        let mut by_from: Vec<(usize, i64, u32)> = answers
            .iter()
            .map(|answer| {
                let rest = self.rest(ack, answer.at + 1);
                (answer.from, i64::from(answer.skip + rest) + debt(answer.from), answer.next + rest)
            })
            .collect();
        by_from.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.0));
        // From the last node back, with the cheapest answer beyond each node.
        let (mut least, mut place) = (i64::MAX, 0);
        let nodes = &self.layers[ack];
        let unanswered = self.unanswered(ack);
        let mut rests = vec![NEVER; nodes.len()];
        for (node, rest) in nodes.iter().zip(&mut rests).rev() {
            while let Some(entry) = by_from.get(place).filter(|entry| entry.0 > node.behind) {
                least = least.min(entry.1);
                place += 1;
            }
            *rest = unanswered + self.rest(ack, node.behind);
            if least < i64::MAX {
                *rest = (*rest).min((least - debt(node.behind)).clamp(0, i64::from(NEVER)) as u32);
            }
            let here = by_from[place..].iter().take_while(|entry| entry.0 == node.behind);
            *rest = here.fold(*rest, |rest, entry| rest.min(entry.2));
            self.gaps(node, ack, answers, |answer, cost| {
                *rest = (*rest).min(cost + self.rest(ack, answer.at + 1));
            });
            *rest = (*rest).min(NEVER);
        }
        rests
    }

    /// Collects what the cheap alignments say of the acknowledgment at `ack`.
    fn mark(&mut self, ack: usize, answers: &[Answer], marks: &mut Marks) {
        let nodes = &self.layers[ack];
        let best = nodes.iter().map(|node| node.cost + node.rest).min().unwrap_or(NEVER);
        let edge = self.story.edge_before(ack);
        let is_cheap = |cost: u32| cost <= best + MARGIN;
        let mut pairs = Vec::new();
        for answer in answers {
            let rest = self.rest(ack, answer.at + 1);
            if rest >= NEVER {
                continue;
            }
            let cost = |node: &Node| node.cost + answer.skip + self.missed(node.behind, answer.from) + rest;
            let mut before = nodes.iter().take_while(|node| node.behind < answer.from);
            let skipped = before.find(|node| is_cheap(cost(node)));
            let at = nodes.binary_search_by_key(&answer.from, |node| node.behind);
            let next = at.is_ok_and(|at| is_cheap(nodes[at].cost + answer.next + rest));
            if let Some(node) = skipped {
                marks.lost.push((node.behind, answer.from));
                pairs.push((answer.at, ack, answer.from == answer.at));
            }
            if next {
                pairs.push((answer.at, ack, false));
            }
            if skipped.is_some() || next {
                let chain = if answer.from == answer.at { None } else { self.chain(answer.at, ack, edge) };
                let chain = chain.unwrap_or_else(|| vec![answer.at]);
                for pair in chain.windows(2) {
                    marks.lost.push((pair[1] + 1, pair[0]));
                }
                marks.there.extend(chain);
            }
        }
        let unanswered = self.unanswered(ack);
        let mut is_strange = false;
        for node in nodes {
            self.gaps(node, ack, answers, |answer, cost| {
                if is_cheap(node.cost + cost + self.rest(ack, answer.at + 1)) {
                    marks.lost.push((node.behind, answer.at));
                    marks.there.push(answer.at);
                    pairs.push((answer.at, ack, false));
                }
            });
            if unanswered > 0 && is_cheap(node.cost + unanswered + self.rest(ack, node.behind)) {
                let behind = node.behind;
                is_strange = true;
                marks.open.push((behind.saturating_sub(DISPLACED), behind + DISPLACED));
                marks.open.extend(self.certain.answerable(edge, ack).map(|at| (at, at + 1)));
            }
        }
        self.left_over += usize::from(is_strange && pairs.is_empty());
        self.pairs.extend(pairs);
    }
}

/// Findings on transmissions, before they are combined.
struct Marks {
    there: Vec<usize>,
    lost: Vec<(usize, usize)>,
    open: Vec<(usize, usize)>,
}

impl Marks {
    fn write(mut self, certain: &Certain<'_>, said: &mut [Said]) {
        for at in self.there {
            said[at].there = true;
        }
        for (ranges, is_open) in [(&mut self.lost, false), (&mut self.open, true)] {
            ranges.sort_unstable();
            let mut done = 0;
            for &mut (from, to) in ranges {
                let to = to.min(said.len());
                for (at, said) in said.iter_mut().enumerate().take(to).skip(from.max(done)) {
                    if is_open {
                        *said = Said::OPEN;
                    } else if certain.has_arrived(at) {
                        said.there = true;
                    } else {
                        said.lost = true;
                    }
                }
                done = done.max(to);
            }
        }
    }
}
