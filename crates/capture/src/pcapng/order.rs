//! Sorting of packets by time, each written once its fate is known.
//!
//! The comment on a packet that enters tells its fate, which is known only when the packet has
//! left. So records wait here until every earlier one has its fate and no earlier one can come
//! ([`Order::settled`]). Waiting records are those of packets inside the links, and all records
//! since the oldest of them. If they exceed the limit, the oldest is written without its fate; the
//! record of its delivery still has it.

use super::words;
use super::write::{Interface, Packet, Writer};
use crate::event::{EndedPacket, Header, LinkInfo, Outcome};
use crate::units::{Time, WallTime};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use vocabulary::{Direction, LinkId};

/// Sorts packets by time and writes them.
pub struct Order<W> {
    writer: Writer<W>,
    started: WallTime,
    ends: HashMap<LinkId, Ends>,
    waiting: BTreeMap<Place, Waiting>,
    /// Packets that have entered and not ended: the place of the waiting record, or the first bytes
    /// of a packet whose record was written early.
    inside: HashMap<(LinkId, Direction, u64), Inside>,
    settled: Time,
    /// Bytes of waiting records.
    held: usize,
    limit: usize,
    sequence: u64,
    last_written: Time,
    report: OrderReport,
    /// Memory of written records, for reuse.
    spare: Vec<(Vec<u8>, String)>,
}

/// Counts of written records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OrderReport {
    /// Records of packets.
    pub records: u64,
    /// Packets that were written before their fate was known, because too much was inside the
    /// links.
    pub without_fate: u64,
    /// Records that came after later ones had been written.
    pub out_of_order: u64,
    /// Maximum of bytes that waited at a time.
    pub most_held: usize,
}

/// Numbers of the interfaces at the ends of a link.
#[derive(Clone, Copy)]
struct Ends {
    host: u32,
    network: u32,
}

/// Position in the order: the time, then the order of arrival here.
type Place = (Time, u64);

struct Waiting {
    interface: u32,
    length: u32,
    bytes: Vec<u8>,
    comment: String,
    inbound: bool,
    /// The packet, where it enters.
    enters: Option<(LinkId, Direction, u64)>,
    /// Whether its fate is not known yet.
    waits: bool,
}

enum Inside {
    Waiting(Place),
    Written(Vec<u8>),
}

/// Bytes kept of a packet whose record was written before its fate was known. They include all
/// headers.
const HEADERS: usize = 128;

/// Memory of a record besides its bytes, as an estimate.
const OVERHEAD: usize = 256;

/// Number of records whose memory is kept for reuse.
const SPARE: usize = 1024;

impl<W: Write> Order<W> {
    /// Begins a capture of the links in `header`. At most about `limit` bytes of records wait.
    pub fn new(output: W, header: &Header, snap_length: u32, limit: usize) -> io::Result<Self> {
        let application = format!("lasthop {} (seed {})", header.lasthop, header.seed);
        let mut order = Self {
            writer: Writer::new(output, &application, snap_length)?,
            started: header.started,
            ends: HashMap::new(),
            waiting: BTreeMap::new(),
            inside: HashMap::new(),
            settled: Time::ZERO,
            held: 0,
            limit,
            sequence: 0,
            last_written: Time::ZERO,
            report: OrderReport::default(),
            spare: Vec::new(),
        };
        for link in &header.links {
            order.link(link)?;
        }
        Ok(order)
    }

    /// Adds the ends of a link if its number is new. Descriptions of existing ends do not change.
    pub fn link(&mut self, link: &LinkInfo) -> io::Result<()> {
        if self.ends.contains_key(&link.id) {
            return Ok(());
        }
        let description = description(link);
        let rate = link.up.bits_per_second.filter(|_| link.up.bits_per_second == link.down.bits_per_second);
        let mut end = |which: &str| {
            self.writer.interface(&Interface {
                name: &format!("{} {which} end", link.name),
                description: &description,
                layer: link.layer,
                bits_per_second: rate,
            })
        };
        let ends = Ends { host: end("host")?, network: end("network")? };
        self.ends.insert(link.id, ends);
        Ok(())
    }

    /// Adds a packet of `length` bytes that enters a described link.
    pub fn entered(
        &mut self,
        link: LinkId,
        direction: Direction,
        number: u64,
        at: Time,
        length: u32,
        bytes: &[u8],
    ) {
        let Some(ends) = self.ends.get(&link) else { return };
        let interface = ends.entering(direction);
        let (mut own, mut comment) = self.spare.pop().unwrap_or_default();
        own.extend_from_slice(bytes);
        words::packet(&mut comment, direction, number);
        let key = (link, direction, number);
        let record = Waiting {
            interface,
            length,
            bytes: own,
            comment,
            inbound: false,
            enters: Some(key),
            waits: true,
        };
        let place = self.put(at, record);
        self.inside.insert(key, Inside::Waiting(place));
    }

    /// Adds the end of a packet or a copy. `bytes` are those with which it leaves, if they have
    /// changed or it is a copy. `stage` is as in [`words::fate`]. Of a packet that entered before
    /// the capture began, nothing is written.
    pub fn ended(&mut self, ended: &EndedPacket, stage: Option<&str>, bytes: Option<&[u8]>) {
        let Some(ends) = self.ends.get(&ended.link) else { return };
        let interface = ends.leaving(ended.direction);
        let key = (ended.link, ended.direction, ended.number);
        if bytes.is_none() && !self.inside.contains_key(&key) {
            return;
        }
        let entering = match self.inside.get(&key) {
            Some(Inside::Waiting(place)) => self.waiting.get(place),
            _ => None,
        };
        if ended.outcome == Outcome::Delivered {
            let same: &[u8] = match (self.inside.get(&key), entering) {
                (_, Some(entering)) => &entering.bytes,
                (Some(Inside::Written(head)), _) => head,
                _ => &[],
            };
            let (mut own, mut comment) = self.spare.pop().unwrap_or_default();
            own.extend_from_slice(bytes.unwrap_or(same));
            words::packet(&mut comment, ended.direction, ended.number);
            words::fate(&mut comment, ended, stage);
            let length = ended.length;
            let record =
                Waiting { interface, length, bytes: own, comment, inbound: true, enters: None, waits: false };
            self.put(ended.left, record);
        }
        if let Some(Inside::Waiting(place)) = self.inside.get(&key)
            && let Some(entering) = self.waiting.get_mut(place)
        {
            // A copy may end before its original, or after it while the record still waits. Then
            // the comment has both fates.
            words::fate(&mut entering.comment, ended, stage);
            if !ended.copy {
                entering.waits = false;
            }
        }
        if !ended.copy && matches!(self.inside.get(&key), Some(Inside::Written(_))) {
            self.inside.remove(&key);
        }
    }

    /// Writes all records that are ready. The caller promises that no record before `now` will
    /// follow.
    pub fn settled(&mut self, now: Time) -> io::Result<()> {
        self.settled = self.settled.max(now);
        self.write_ready()
    }

    /// Writes all records that are ready, and the oldest others if too many wait.
    pub fn write_ready(&mut self) -> io::Result<()> {
        self.report.most_held = self.report.most_held.max(self.held);
        while let Some(first) = self.waiting.first_entry() {
            let ready = first.key().0 <= self.settled && !first.get().waits;
            if !ready && self.held <= self.limit {
                break;
            }
            let (place, mut record) = first.remove_entry();
            if let Some(key) = record.enters.filter(|_| record.waits) {
                self.report.without_fate += 1;
                words::unknown(&mut record.comment);
                let head = &record.bytes[..record.bytes.len().min(HEADERS)];
                self.inside.insert(key, Inside::Written(head.to_vec()));
            } else if let Some(key) = record.enters {
                self.inside.remove(&key);
            }
            self.write(place.0, record)?;
        }
        Ok(())
    }

    /// Flushes the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    /// Writes all records, marks packets that are still inside as in flight, and flushes.
    pub fn finish(mut self) -> io::Result<(OrderReport, W)> {
        while let Some((place, mut record)) = self.waiting.pop_first() {
            if record.waits {
                words::in_flight(&mut record.comment);
            }
            self.write(place.0, record)?;
        }
        self.writer.flush()?;
        Ok((self.report, self.writer.into_inner()))
    }

    /// Returns the time until which everything is known.
    pub fn known_until(&self) -> Time {
        self.settled
    }

    /// Returns the counts so far.
    pub fn report(&self) -> OrderReport {
        self.report
    }

    fn put(&mut self, at: Time, record: Waiting) -> Place {
        let place = (at, self.sequence);
        self.sequence += 1;
        self.held += record.bytes.len() + OVERHEAD;
        self.waiting.insert(place, record);
        place
    }

    fn write(&mut self, at: Time, mut record: Waiting) -> io::Result<()> {
        self.held -= record.bytes.len() + OVERHEAD;
        self.report.records += 1;
        self.report.out_of_order += u64::from(at < self.last_written);
        self.last_written = self.last_written.max(at);
        self.writer.packet(&Packet {
            interface: record.interface,
            time: self.started.at(at),
            length: record.length,
            bytes: &record.bytes,
            comment: &record.comment,
            inbound: record.inbound,
            wrong_checksum: false,
        })?;
        if self.spare.len() < SPARE {
            record.bytes.clear();
            record.comment.clear();
            self.spare.push((record.bytes, record.comment));
        }
        Ok(())
    }
}

impl Ends {
    fn entering(self, direction: Direction) -> u32 {
        match direction {
            Direction::Up => self.host,
            Direction::Down => self.network,
        }
    }

    fn leaving(self, direction: Direction) -> u32 {
        match direction {
            Direction::Up => self.network,
            Direction::Down => self.host,
        }
    }
}

/// Describes a link, as in `up: umts, 64000 bit/s; down: umts, 384000 bit/s`.
fn description(link: &LinkInfo) -> String {
    let ways = Direction::BOTH.map(|direction| {
        let way = link.way(direction);
        let profile = if way.profile.is_empty() { "no profile" } else { way.profile.trim() };
        match way.bits_per_second {
            Some(rate) => format!("{direction}: {profile}, {rate} bit/s"),
            None => format!("{direction}: {profile}"),
        }
    });
    ways.join("; ")
}
