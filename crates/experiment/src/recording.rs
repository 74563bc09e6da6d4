//! Passing on what the event loop reports to the recorder; the two crates do not know each other.

use crate::capacity;
use capture::link_layer::blocks::Block;
use capture::link_layer::{Record, Row};
use capture::{Capacity, Direction, EndedPacket, LinkId, LinkInfo, Outcome, Recorder, Span, Time};
use emulator::pauses::Pauses;
use emulator::punctuality::{Overload, Punctuality};
use emulator::{Observer, WayId};
use link::arq::hop::Watch;
use link::{Effect, Link, Packet};
use packet::{Check, Frame};

/// Records the events of links: way `2n` is the up direction of link `n`, `2n + 1` its down
/// direction.
pub struct Recording {
    recorder: Recorder,
    /// Buffer for the bytes of a packet that is a part of a larger segment, which are only made
    /// here.
    bytes: Vec<u8>,
    wants_bytes: bool,
    /// The links as the recorder knows them. It must be told of changes to their stages, since
    /// fates name stages by number.
    links: Vec<LinkInfo>,
    /// When to look at link layers again, if they are watched.
    look: Option<Time>,
    /// Bytes of traces for which the log still has room.
    room: usize,
}

/// Longest time for which records of an idle link layer may wait.
///
/// No event collects them earlier, and the records of an hour would need more memory than there is.
const LOOK: Span = Span::from_secs(10);

impl Recording {
    /// Returns an observer for the links with which the recorder was started.
    ///
    /// `wants_bytes` says whether the recorder keeps more than counters.
    #[must_use]
    pub fn new(recorder: Recorder, links: Vec<LinkInfo>, wants_bytes: bool) -> Self {
        let ways = links.iter().flat_map(|link| [&link.up, &link.down]);
        let sizes = ways.flat_map(|way| &way.capacity).map(|capacity| capacity.rate.size());
        let room = capacity::ROOM.saturating_sub(sizes.sum());
        Self { recorder, bytes: Vec::new(), wants_bytes, links, look: None, room }
    }

    /// Prepares for links of which something is watched ([`Link::watch`]).
    #[must_use]
    pub fn watching(self, watch: Watch) -> Self {
        let look = (watch != Watch::default()).then(|| Time::ZERO + LOOK);
        Self { look, ..self }
    }

    /// Returns the recorder, so that it can be closed.
    #[must_use]
    pub fn into_recorder(self) -> Recorder {
        self.recorder
    }
}

const fn place(way: WayId) -> (LinkId, Direction) {
    let direction = if way.0.is_multiple_of(2) { Direction::Up } else { Direction::Down };
    (LinkId((way.0 / 2) as u16), direction)
}

/// Returns the packet's complete bytes, written into `memory`; empty if they are not wanted.
fn bytes<'a>(frame: &'a Frame, wanted: bool, memory: &'a mut Vec<u8>) -> &'a [u8] {
    if !wanted {
        return &[];
    }
    memory.clear();
    frame.write_into(memory);
    memory
}

/// Converts a packet with its marks into a record of its fate.
fn ended(way: WayId, packet: &Packet) -> EndedPacket {
    let (link, direction) = place(way);
    let mut ended = EndedPacket {
        sending: packet.sending,
        channel: packet.channel,
        ..EndedPacket::untouched(
            link,
            direction,
            packet.number,
            packet.frame.len() as u32,
            packet.arrived,
            packet.at,
        )
    };
    for mark in &packet.marks {
        match mark.effect {
            Effect::Lost(why) => {
                ended.outcome = Outcome::Lost(why);
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
            Effect::Held(span) => ended.held = span,
            Effect::Overtaken(count) => ended.overtaken = count,
        }
    }
    if ended.is_damaged() && ended.outcome == Outcome::Delivered {
        ended.found_by = Some(Check::of(packet.frame.layer(), &packet.frame.to_bytes()));
    }
    ended
}

impl Observer for Recording {
    fn wants_bytes(&self) -> bool {
        self.wants_bytes || self.recorder.wants_bytes()
    }

    fn entered(&mut self, way: WayId, number: u64, frame: &Frame, now: Time) {
        let (link, direction) = place(way);
        let wanted = self.wants_bytes();
        let bytes = bytes(frame, wanted, &mut self.bytes);
        self.recorder.entered(link, direction, number, now, frame.len() as u32, bytes);
    }

    fn ended(&mut self, way: WayId, packet: &Packet) {
        let ended = ended(way, packet);
        let bytes = bytes(&packet.frame, self.wants_bytes && !ended.is_unchanged(), &mut self.bytes);
        self.recorder.ended(&ended, bytes);
    }

    fn visited(&mut self, way: WayId, link: &Link, now: Time) {
        let Some(info) = self.links.get_mut(way.link()) else { return };
        let known = match way.direction() {
            Direction::Up => &mut info.up,
            Direction::Down => &mut info.down,
        };
        let offered = capacity::of(link, way.direction(), info.layer, now, self.room);
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

    fn noted(&mut self, way: WayId, record: &Record) {
        let (link, end) = place(way);
        self.recorder.link_layer(&Row { link, end, record: *record });
    }

    fn block(&mut self, way: WayId, block: &link::arq::hop::Block) {
        let (link, end) = place(way);
        let link::arq::hop::Block { way, at, erased, .. } = *block;
        self.recorder.block(&Block { link, end, way, at, octets: &block.octets, erased });
    }

    fn note(&mut self, text: &str, now: Time) {
        self.recorder.note(now, text);
    }

    fn flush(&mut self) {
        self.recorder.flush();
    }

    fn settled(&mut self, now: Time) {
        self.look = self.look.map(|look| if look <= now { now + LOOK } else { look });
        self.recorder.settled(now);
    }

    fn due(&self) -> Time {
        let recorder = self.recorder.due();
        self.look.map_or(recorder, |look| look.min(recorder))
    }
}

/// Returns why a run was overloaded; empty if it was not.
///
/// The reasons are packets that left too late, packets that waited while the emulator did not run,
/// packets that the kernel dropped because nobody read them, and waits for the disk.
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

    fn recording(watch: Watch) -> Recording {
        let header = capture::Header::new("0.1.0", capture::WallTime::from_nanos(0), 7, Vec::new());
        let recorder = Recorder::start(header, capture::RecorderOptions::default()).expect("a recorder");
        Recording::new(recorder, Vec::new(), false).watching(watch)
    }

    /// An idle link layer makes a record every 20 ms, and at most those of ten seconds wait.
    #[test]
    fn idle_link_layers_are_looked_at() {
        let at = |seconds| Time::ZERO + Span::from_secs(seconds);
        assert_eq!(recording(Watch::default()).due(), Time::NEVER);
        for watch in [Watch { records: true, blocks: false }, Watch { records: false, blocks: true }] {
            let mut recording = recording(watch);
            assert_eq!(recording.due(), at(10));
            recording.settled(at(3));
            assert_eq!(recording.due(), at(10));
            recording.settled(at(3600));
            assert_eq!(recording.due(), at(3610));
        }
    }

    #[test]
    fn ways_are_the_directions_of_links() {
        use Direction::{Down, Up};
        assert_eq!(
            [0, 1, 2, 3].map(|way| place(WayId(way))),
            [(LinkId(0), Up), (LinkId(0), Down), (LinkId(1), Up), (LinkId(1), Down),]
        );
    }

    /// Returns the end of packet 7 of way 3, after these effects of stages 4, 5, ….
    fn after(effects: &[Effect]) -> EndedPacket {
        let at = Time::from_nanos;
        let mut packet = Packet::new(7, Frame::owned(packet::Layer::Ip, vec![0x45; 40]), at(100));
        packet.at = at(900);
        packet.sending = link::Sending { start: at(200), end: at(300) };
        packet.channel = Some(link::ChannelState::Bad);
        for (stage, &effect) in (4..).zip(effects) {
            packet.marks.push(link::Mark { stage, at: at(500), effect });
        }
        ended(WayId(3), &packet)
    }

    #[test]
    fn each_effect_of_a_stage_has_its_field() {
        let at = Time::from_nanos;
        let untouched = EndedPacket {
            sending: link::Sending { start: at(200), end: at(300) },
            channel: Some(link::ChannelState::Bad),
            ..EndedPacket::untouched(LinkId(1), Direction::Down, 7, 40, at(100), at(900))
        };
        assert_eq!(after(&[]), untouched);
        let marked = after(&[
            Effect::CongestionMarked,
            Effect::Copied,
            Effect::Held(Span::from_nanos(50)),
            Effect::Overtaken(3),
        ]);
        let expected = EndedPacket {
            congestion_marked: true,
            copy: true,
            held: Span::from_nanos(50),
            overtaken: 3,
            ..untouched
        };
        assert_eq!(marked, expected, "none of them names a stage");
        let lost = after(&[Effect::Overtaken(1), Effect::Lost(link::Loss::Outage)]);
        assert_eq!((lost.outcome, lost.stage), (Outcome::Lost(link::Loss::Outage), Some(5)));
    }

    /// Damage is counted with the check that finds it, unless nobody receives the packet.
    #[test]
    fn damage_adds_up_and_is_judged_when_it_arrives() {
        let damaged = after(&[Effect::BitsFlipped(2), Effect::CongestionMarked, Effect::BitsFlipped(3)]);
        assert_eq!((damaged.bits_flipped, damaged.stage), (5, Some(6)));
        assert!(damaged.found_by.is_some());
        let spoiled = after(&[Effect::ChecksumSpoiled]);
        assert!(spoiled.checksum_spoiled && spoiled.stage == Some(4) && spoiled.found_by.is_some());
        let lost = after(&[Effect::BitsFlipped(2), Effect::Lost(link::Loss::Outage)]);
        assert_eq!((lost.bits_flipped, lost.stage, lost.found_by), (2, Some(5), None));
        assert_eq!(after(&[]).found_by, None);
    }

    #[test]
    fn bytes_are_only_made_if_they_are_wanted() {
        let frame = Frame::owned(packet::Layer::Ip, vec![1, 2, 3]);
        let mut memory = vec![9; 5];
        assert_eq!(bytes(&frame, false, &mut memory), [0_u8; 0]);
        assert_eq!(bytes(&frame, true, &mut memory), [1, 2, 3]);
    }

    #[test]
    fn each_reason_of_an_overload_is_told() {
        let (on_time, no_pause) = (Punctuality::default(), Pauses::default());
        let stalls = |count| capture::Stalls { count, ..capture::Stalls::default() };
        assert!(overload(&on_time, &no_pause, 0, stalls(0)).is_empty());
        let dropped = overload(&on_time, &no_pause, 3, stalls(0));
        assert_eq!(dropped, [Overload::DroppedByKernel { packets: 3 }]);
        let stalled = overload(&on_time, &no_pause, 0, stalls(2));
        assert_eq!(stalled, [Overload::RecorderBlocked { times: 2 }]);
        let mut late = Punctuality::default();
        late.note(Time::ZERO, Time::ZERO + Span::from_secs(9), Span::ZERO);
        let all = overload(&late, &no_pause, 1, stalls(1));
        assert!(matches!(all[0], Overload::FarTooLate { .. } | Overload::Late { .. }), "{all:?}");
        assert!(all.len() >= 3, "{all:?}");
    }
}
