//! From what the event loop shows to what the recorder takes: the two crates do not know each
//! other.

use crate::capacity;
use capture::link_layer::blocks::Block;
use capture::link_layer::{Event, Row, Way};
use capture::{Capacity, Channel, Direction, Ended, LinkId, LinkInfo, Outcome, Recorder, Span, Time};
use emulator::pauses::Pauses;
use emulator::punctuality::{Overload, Punctuality};
use emulator::{Observer, WayId};
use link::arq::hop::Watch;
use link::{ChannelState, Effect, Link, Loss, Packet};
use packet::{Check, Frame};

/// Records what happens on links whose ways were added up first, then down: way `2n` is up and
/// `2n + 1` down of link `n`.
pub struct Recording {
    recorder: Recorder,
    /// Memory for a packet that is a part of a larger segment, whose bytes come into being only
    /// here.
    bytes: Vec<u8>,
    wants_bytes: bool,
    /// The links as the recorder knows them: a change of their stages has to be told, since fates
    /// name stages by number.
    links: Vec<LinkInfo>,
    /// When to look at link layers again, if they are watched.
    look: Option<link::units::Time>,
    /// Bytes of traces that the log still takes.
    room: usize,
}

/// How long what an idle link layer does may wait: nobody wakes up for it, and after an hour there
/// would be more records at once than there is memory for.
const LOOK: link::units::Span = link::units::Span::from_secs(10);

impl Recording {
    /// `links` are those that the recorder was started with; `wants_bytes` says whether it keeps
    /// more than counters.
    #[must_use]
    pub fn new(recorder: Recorder, links: Vec<LinkInfo>, wants_bytes: bool) -> Self {
        let ways = links.iter().flat_map(|link| [&link.up, &link.down]);
        let sizes = ways.flat_map(|way| &way.capacity).map(|capacity| capacity.rate.size());
        let room = capacity::ROOM.saturating_sub(sizes.sum());
        Self { recorder, bytes: Vec::new(), wants_bytes, links, look: None, room }
    }

    /// The same for links of which something is watched ([`Link::watch`]).
    #[must_use]
    pub fn watching(self, watch: Watch) -> Self {
        let look = (watch != Watch::default()).then(|| link::units::Time::ZERO + LOOK);
        Self { look, ..self }
    }

    /// The recorder, to close it.
    #[must_use]
    pub fn into_recorder(self) -> Recorder {
        self.recorder
    }
}

const fn place(way: WayId) -> (LinkId, Direction) {
    let direction = if way.0.is_multiple_of(2) { Direction::Up } else { Direction::Down };
    (LinkId((way.0 / 2) as u16), direction)
}

const fn time(time: link::units::Time) -> Time {
    Time::from_nanos(time.as_nanos())
}

/// The packet's complete bytes, written into `memory` if they do not exist as such.
fn bytes<'a>(frame: &'a Frame, wanted: bool, memory: &'a mut Vec<u8>) -> &'a [u8] {
    if !wanted {
        return &[];
    }
    memory.clear();
    frame.write_into(memory);
    memory
}

const fn loss(loss: Loss) -> capture::Loss {
    match loss {
        Loss::QueueFull => capture::Loss::QueueFull,
        Loss::QueueHead => capture::Loss::QueueHead,
        Loss::QueueAge => capture::Loss::QueueAge,
        Loss::CoDel => capture::Loss::CoDel,
        Loss::Red => capture::Loss::Red,
        Loss::Error(_) => capture::Loss::Error,
        Loss::Listed => capture::Loss::Listed,
        Loss::Outage => capture::Loss::Outage,
        Loss::Expired => capture::Loss::Expired,
        Loss::Persistency => capture::Loss::Persistency,
        Loss::LinkReset => capture::Loss::LinkReset,
        Loss::Disconnected => capture::Loss::Disconnected,
        Loss::RunEnded => capture::Loss::RunEnded,
    }
}

/// What the marks of a packet come to.
fn ended(way: WayId, packet: &Packet) -> Ended {
    let (link, direction) = place(way);
    let mut ended = Ended {
        sending: capture::Sending { start: time(packet.sending.start), end: time(packet.sending.end) },
        channel: packet.channel.map(|channel| match channel {
            ChannelState::Good => Channel::Good,
            ChannelState::Bad => Channel::Bad,
        }),
        ..Ended::untouched(
            link,
            direction,
            packet.number,
            packet.frame.len() as u32,
            time(packet.arrived),
            time(packet.at),
        )
    };
    for mark in &packet.marks {
        match mark.effect {
            Effect::Lost(why) => {
                ended.outcome = Outcome::Lost(loss(why));
                ended.stage = Some(mark.stage);
            }
            Effect::ChecksumSpoiled => {
                ended.checksum_spoiled = true;
                ended.stage = Some(mark.stage);
            }
            Effect::BitsFlipped(bits) => {
                ended.bits_flipped += bits;
                ended.stage = Some(mark.stage);
            }
            Effect::CongestionMarked => ended.congestion_marked = true,
            Effect::Copied => ended.copy = true,
            Effect::Held(span) => ended.held = Span::from_nanos(span.as_nanos()),
            Effect::Overtaken(count) => ended.overtaken = count,
        }
    }
    if ended.is_damaged() && ended.outcome == Outcome::Delivered {
        ended.found_by = Some(Check::of(packet.frame.layer(), &packet.frame.to_bytes()));
    }
    ended
}

const fn side(way: link::arq::record::Way) -> Way {
    match way {
        link::arq::record::Way::Sent => Way::Sent,
        link::arq::record::Way::Received => Way::Received,
    }
}

/// What the end that sends on `way` has noted.
fn row(way: WayId, record: &link::arq::record::Record) -> Row {
    use link::arq::record::{Kind, Record};
    let Record { at, way: record_way, kind, ns, nr, aux } = *record;
    let (link, end) = place(way);
    let event = match kind {
        Kind::First => Event::First,
        Kind::Again => Event::Again,
        Kind::SelectiveReject => Event::SelectiveReject,
        Kind::Reject => Event::Reject,
        Kind::XOn => Event::XOn,
        Kind::XOff => Event::XOff,
        Kind::Reset => Event::Reset,
        Kind::Erased => Event::Erased,
        Kind::Right => Event::Right,
    };
    let time_ns = i64::try_from(at.as_nanos()).unwrap_or(i64::MAX);
    Row { time_ns, link, end, way: side(record_way), event, ns, nr, aux }
}

impl Observer for Recording {
    fn entered(&mut self, way: WayId, number: u64, frame: &Frame, now: link::units::Time) {
        let (link, direction) = place(way);
        let bytes = bytes(frame, self.wants_bytes, &mut self.bytes);
        self.recorder.entered(link, direction, number, time(now), frame.len() as u32, bytes);
    }

    fn ended(&mut self, way: WayId, packet: &Packet) {
        let ended = ended(way, packet);
        let bytes = bytes(&packet.frame, self.wants_bytes && !ended.is_unchanged(), &mut self.bytes);
        self.recorder.ended(&ended, bytes);
    }

    fn visited(&mut self, way: WayId, link: &Link, now: link::units::Time) {
        let Some(info) = self.links.get_mut(way.link()) else { return };
        let known = match way.direction() {
            link::Direction::Up => &mut info.up,
            link::Direction::Down => &mut info.down,
        };
        let offered = capacity::of(link, way.direction(), info.layer.into(), time(now), self.room);
        let is_new = |offered: &Capacity| {
            let last = known.capacity.last();
            last.is_none_or(|last| Capacity { since: last.since, ..offered.clone() } != *last)
        };
        let offered = offered.filter(is_new);
        if offered.is_some() || known.stages != link.stage_names(way.direction()) {
            self.room = self.room.saturating_sub(offered.as_ref().map_or(0, |offered| offered.rate.size()));
            known.stages = link.stage_names(way.direction()).to_vec();
            known.capacity.extend(offered);
            self.recorder.describe(info);
        }
    }

    fn noted(&mut self, way: WayId, record: &link::arq::record::Record) {
        self.recorder.link_layer(&row(way, record));
    }

    fn block(&mut self, way: WayId, block: &link::arq::hop::Block) {
        let (link, end) = place(way);
        let (at, octets) = (time(block.at), &block.octets[..]);
        self.recorder.block(&Block { link, end, way: side(block.way), at, octets, erased: block.erased });
    }

    fn note(&mut self, text: &str, now: link::units::Time) {
        self.recorder.note(time(now), text);
    }

    fn settled(&mut self, now: link::units::Time) {
        self.look = self.look.map(|look| if look <= now { now + LOOK } else { look });
        self.recorder.settled(time(now));
    }

    fn due(&self) -> link::units::Time {
        let recorder = link::units::Time::from_nanos(self.recorder.due().as_nanos());
        self.look.map_or(recorder, |look| look.min(recorder))
    }
}

/// Why a run was overloaded: packets that left too late, packets that waited while the emulator did
/// not run, packets that the kernel had to drop because nobody read them, waits for the disk. Empty
/// if it was not.
#[must_use]
pub fn overload(
    punctuality: &Punctuality,
    pauses: &Pauses,
    dropped: u64,
    stalls: capture::Stalls,
) -> Vec<Overload> {
    let mut reasons: Vec<_> = punctuality.verdict().into_iter().collect();
    reasons.extend(pauses.verdict(punctuality.total()));
    if dropped > 0 {
        reasons.push(Overload::DroppedByKernel { packets: dropped });
    }
    if stalls.count > 0 {
        reasons.push(Overload::RecorderBlocked { times: stalls.count });
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::units::{Span as Length, Time as Instant};

    fn recording(watch: Watch) -> Recording {
        let header = capture::Header::new("0.1.0", capture::WallTime::from_nanos(0), 7, Vec::new());
        let recorder = Recorder::start(header, capture::Options::default()).expect("a recorder");
        Recording::new(recorder, Vec::new(), false).watching(watch)
    }

    /// An idle link layer notes something every 20 ms, and no more of it waits than ten seconds'
    /// worth.
    #[test]
    fn idle_link_layers_are_looked_at() {
        let at = |seconds| Instant::ZERO + Length::from_secs(seconds);
        assert_eq!(recording(Watch::default()).due(), Instant::NEVER);
        for watch in [Watch { records: true, blocks: false }, Watch { records: false, blocks: true }] {
            let mut recording = recording(watch);
            assert_eq!(recording.due(), at(10));
            recording.settled(at(3));
            assert_eq!(recording.due(), at(10));
            recording.settled(at(3600));
            assert_eq!(recording.due(), at(3610));
        }
    }
}
