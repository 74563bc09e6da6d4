//! Examination of one direction of a connection: each retransmission with its cause, the verdicts
//! of all evidence, and the joint verdict.

use super::delivery::{self, Delivery};
use super::pair::{Sides, offset};
use super::states::State;
use super::story::{Again, Story};
use super::{Evidence, Signs, SpuriousVerdict};
use super::{alignment, arrivals, duplicate_sack, forward, gap, round_trip_bound, states, timestamps};
use crate::loss_events::Ends;
use crate::retransmission::Cause;
use rustc_hash::FxHashMap;

/// A retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retransmission {
    /// Its index among the transmissions of the sender's side.
    pub at: usize,
    /// When it was captured at the sender's side, in nanoseconds since 1970.
    pub time: u64,
    /// Its first byte that had been sent before, relative.
    pub first: u64,
    /// Bytes from the first one that had been sent before to the last such one: an upper bound on
    /// the number of bytes sent before.
    pub bytes: u64,
    /// Its length in bytes at IP, which is its cost to a link.
    pub length: u32,
    /// Sequence number in the packet.
    pub sequence: u32,
    /// How often these bytes had been retransmitted before.
    pub repeated: u32,
    /// Why it was sent.
    pub cause: Cause,
    /// Verdict of each evidence.
    pub signs: Signs,
    /// Joint verdict.
    pub verdict: SpuriousVerdict,
    /// Evidence that decided.
    pub evidence: Option<Evidence>,
    /// Time of the acknowledgment that covers it, in nanoseconds since 1970.
    pub answered: Option<u64>,
    /// Number after the highest byte that had been sent by then, relative.
    pub outstanding: u64,
}

/// The retransmissions of one direction of a connection.
#[derive(Debug, Clone)]
pub struct Examined {
    /// Sender and receiver, as the sender's side shows them.
    pub ends: Ends,
    /// The connection's number at the sender's side, from 1.
    pub connection: usize,
    /// When its first packet was captured there, in nanoseconds since 1970.
    pub began: u64,
    /// Name of the capture at the sender's side.
    pub sender: String,
    /// Name of the capture at the receiver's side, if there is one.
    pub receiver: Option<String>,
    /// Number of packets sent with data, and their bytes at IP.
    pub sent: (u64, u64),
    /// The smallest round-trip time, in nanoseconds.
    pub least_round_trip: Option<u64>,
    /// Its retransmissions, in the order of time.
    pub retransmissions: Vec<Retransmission>,
}

/// Examines one flow. `states` are the recorded states of its sender, if there are any; they take
/// precedence in determining causes.
#[must_use]
pub fn examine(sides: &Sides<'_>, states: Option<&[State]>) -> Examined {
    let (place, flow) = sides.sender;
    let story = Story::new(flow);
    let mut all = story.retransmissions();
    if let Some(states) = states {
        for again in &mut all {
            again.cause = states::cause(states, story.packet(again).time, again.cause);
        }
    }
    let mut signs = vec![Signs::default(); all.len()];
    if let Some((_, receiver)) = sides.receiver {
        let deliveries = arrivals::deliveries(flow, receiver, offset(flow, receiver));
        write(&mut signs, Evidence::Arrivals, by_delivery(&story, &all, &deliveries));
    }
    let each = |evidence: fn(&Story<'_>, &Again) -> SpuriousVerdict| {
        all.iter().map(|again| evidence(&story, again)).collect()
    };
    write(&mut signs, Evidence::Acknowledged, each(acknowledged));
    write(&mut signs, Evidence::Timestamps, each(timestamps::timestamps));
    write(&mut signs, Evidence::DuplicateSack, duplicate_sack::duplicate_sack(&story, &all));
    write(&mut signs, Evidence::RoundTrip, each(round_trip_bound::round_trip_bound));
    write(&mut signs, Evidence::Gap, each(gap::gap));
    write(&mut signs, Evidence::Forward, each(forward::forward));
    if let Some(deliveries) = alignment::deliveries(&story) {
        write(&mut signs, Evidence::Alignment, by_delivery(&story, &all, &deliveries));
    }
    let repeated = spread(&all, &mut signs);
    let rows = all.iter().zip(signs).zip(repeated);
    let retransmissions =
        rows.map(|((again, signs), repeated)| row(&story, again, signs, repeated)).collect();
    Examined {
        ends: flow.ends,
        connection: flow.connection,
        began: flow.began,
        sender: place.title.clone(),
        receiver: sides.receiver.map(|(place, _)| place.title.clone()),
        sent: (
            flow.transmissions.len() as u64,
            flow.transmissions.iter().map(|sent| u64::from(sent.length)).sum(),
        ),
        least_round_trip: story.least_round_trip,
        retransmissions,
    }
}

/// Returns the verdict on each retransmission, from the outcomes of the transmissions before it.
fn by_delivery(story: &Story<'_>, all: &[Again], deliveries: &[Delivery]) -> Vec<SpuriousVerdict> {
    let verdict =
        |again: &Again| delivery::verdict(&story.flow.transmissions, &story.index, again.at, deliveries);
    all.iter().map(verdict).collect()
}

/// Says *spurious* if the receiver had acknowledged all of it before it was sent again.
fn acknowledged(story: &Story<'_>, again: &Again) -> SpuriousVerdict {
    let from = story.acks_behind(story.flow.transmissions[again.before].order);
    let told = story.is_told(from, again.acks, again.first, again.end);
    if told { SpuriousVerdict::Spurious } else { SpuriousVerdict::Unknown }
}

fn write(signs: &mut [Signs], evidence: Evidence, verdicts: Vec<SpuriousVerdict>) {
    signs.iter_mut().zip(verdicts).for_each(|(signs, verdict)| signs.set(evidence, verdict));
}

/// Transfers verdicts between retransmissions of the same bytes, and returns how often each had
/// been retransmitted before.
///
/// All retransmissions after a spurious one are spurious, and all before a necessary one are
/// necessary.
fn spread(all: &[Again], signs: &mut [Signs]) -> Vec<u32> {
    let places: FxHashMap<usize, usize> =
        all.iter().zip(0..).map(|(again, place)| (again.at, place)).collect();
    let before = |place: usize| {
        let earlier = *places.get(&all[place].before)?;
        (all[earlier].first <= all[place].first && all[place].end <= all[earlier].end).then_some(earlier)
    };
    let mut repeated = vec![0; all.len()];
    for place in 0..all.len() {
        let Some(earlier) = before(place) else { continue };
        repeated[place] = repeated[earlier] + 1;
        for evidence in Evidence::ALL {
            if signs[earlier].of(evidence) == SpuriousVerdict::Spurious {
                signs[place].set(evidence, SpuriousVerdict::Spurious);
            }
        }
    }
    for place in (0..all.len()).rev() {
        let Some(earlier) = before(place) else { continue };
        for evidence in Evidence::ALL {
            let is_free = signs[earlier].of(evidence) == SpuriousVerdict::Unknown;
            if is_free
                && signs[place].of(evidence) == SpuriousVerdict::Necessary
                && all[earlier].end == all[place].end
            {
                signs[earlier].set(evidence, SpuriousVerdict::Necessary);
            }
        }
    }
    repeated
}

fn row(story: &Story<'_>, again: &Again, signs: Signs, repeated: u32) -> Retransmission {
    let packet = story.packet(again);
    let (verdict, evidence) = signs.combined(|_| true);
    let answered = story.covering(again.acks, again.first, again.end);
    Retransmission {
        at: again.at,
        time: packet.time,
        first: again.first,
        bytes: again.end - again.first,
        length: packet.length,
        sequence: story.flow.sequence(packet.first),
        repeated,
        cause: again.cause,
        signs,
        verdict,
        evidence,
        answered: answered.map(|ack| story.flow.acknowledgments[ack].time),
        outstanding: story.sent_before(again.at),
    }
}

impl Examined {
    /// Returns the number of retransmissions that `wanted` accepts, and their bytes at IP.
    #[must_use]
    pub fn count(&self, wanted: impl Fn(&Retransmission) -> bool) -> (u64, u64) {
        let those = self.retransmissions.iter().filter(|again| wanted(again));
        those.fold((0, 0), |(count, bytes), again| (count + 1, bytes + u64::from(again.length)))
    }
}
