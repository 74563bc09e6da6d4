//! Frames, the contents of a sealed packet, which follow each other without separators. Numbers are
//! variable-length integers (RFC 9000, 16).
//!
//! | frame | code | fields |
//! |---|---|---|
//! | PADDING | 0 | no meaning; lengthens a probe for a greater packet length |
//! | PING | 1 | asks for an acknowledgement |
//! | ACK | 2 | delay in us, limit, packets: the last one, how many before it without a gap, count of further ranges, and for each: how many are missing, how many are there (each less 1) |
//! | DATA | 3 | message, offset, octets of the message, octets here; if the offset is 0: what it stays behind; the octets |
//! | HELLO | 4 | confirms the client's presence |
//! | WELCOME | 5 | accepted; ticket, 32 octets ([`datagram::forgotten`](crate::datagram)) |
//! | CLOSE | 6 | number of messages that were sent |
//! | RESET | 7 | |
//! | OLDEST | 8 | packets before this one are settled, whether they have arrived or not: no more need be said of them |
//! | NOTICE | 9 | message, octets of the message, what it stays behind; its first octets, [`HEAD_OCTETS`] or all: the message was given up, and counts as if it had arrived |
//!
//! *Limit* is the total of bytes of messages, each plus [`COST`], that the sender of the ACK has
//! room for since the beginning. *What it stays behind* lists the messages that a message must
//! follow: a count, and that many distances back to earlier messages; a distance of 0 means all of
//! them.

use crate::datagram::TICKET;
use resoa_protocol::lhp::HEAD_OCTETS;
use resoa_protocol::message::MESSAGE_OCTETS;
use std::ops::Range;

/// What a message uses of the limit beside its bytes: about the memory that it takes to keep one.
pub(super) const COST: u64 = 64;
/// Most ranges of packets in an ACK.
pub(super) const ACK_RANGES: usize = 64;
/// Most messages that a message can be told to follow.
pub(super) const BEHIND: usize = 8;

pub(super) const PADDING: u8 = 0;
const PING: u8 = 1;
const ACK: u8 = 2;
const DATA: u8 = 3;
const HELLO: u8 = 4;
const WELCOME: u8 = 5;
const CLOSE: u8 = 6;
const RESET: u8 = 7;
const OLDEST: u8 = 8;
const NOTICE: u8 = 9;

/// The bytes are not frames of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a frame of the Link Layer Protocol, version 3")]
pub(crate) struct Malformed;

/// A part of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Frame<'a> {
    Ping,
    Ack(Ack),
    Data(Data<'a>),
    Hello,
    Welcome(&'a [u8; TICKET]),
    Close { messages: u64 },
    Reset,
    Oldest(u64),
    Notice(Notice<'a>),
}

/// An acknowledgement of packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ack {
    /// Microseconds from the arrival of the last packet to this acknowledgement.
    pub(super) delay_us: u64,
    /// Room for messages; see the [module](self).
    pub(super) limit: u64,
    /// Ranges of packets, the last one first; not empty.
    pub(super) ranges: Vec<Range<u64>>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Data<'a> {
    pub(super) message: u64,
    pub(super) offset: u64,
    /// Length of the whole message.
    pub(super) length: u64,
    /// Distances to the messages that it follows; only in the first part.
    pub(super) behind: Vec<u64>,
    pub(super) octets: &'a [u8],
}

/// Notice that takes the place of a message that was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice<'a> {
    pub(super) message: u64,
    /// Length of the whole message.
    pub(super) length: u64,
    pub(super) behind: Vec<u64>,
    /// The first bytes of the message.
    pub(super) head: &'a [u8],
}

impl Notice<'_> {
    /// Returns how many of a message's first bytes a notice contains.
    fn head_of(length: u64) -> usize {
        length.min(HEAD_OCTETS as u64) as usize
    }

    /// Returns the length of the frame in bytes.
    pub(super) fn octets(message: u64, length: u64, behind: &[u64]) -> usize {
        let order = 1 + behind.iter().map(|distance| size(*distance)).sum::<usize>();
        1 + size(message) + size(length) + order + Self::head_of(length)
    }
}

impl Data<'_> {
    /// Returns the bytes of a part's fields. The length of its contents is assumed to take 2 bytes.
    pub(super) fn overhead(message: u64, offset: u64, length: u64, behind: &[u64]) -> usize {
        let order =
            if offset == 0 { 1 + behind.iter().map(|distance| size(*distance)).sum::<usize>() } else { 0 };
        1 + size(message) + size(offset) + size(length) + 2 + order
    }
}

/// Returns the bytes of a variable-length integer.
fn size(number: u64) -> usize {
    match number {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

fn put(out: &mut Vec<u8>, number: u64) {
    match number {
        0..0x40 => out.push(number as u8),
        0x40..0x4000 => out.extend((number as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => out.extend((number as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend((number | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

fn put_behind(out: &mut Vec<u8>, behind: &[u64]) {
    put(out, behind.len() as u64);
    for distance in behind {
        put(out, *distance);
    }
}

impl Frame<'_> {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Ping => out.push(PING),
            Self::Ack(Ack { delay_us, limit, ranges }) => {
                out.push(ACK);
                put(out, *delay_us);
                put(out, *limit);
                let mut ranges = ranges.iter();
                let Some(last) = ranges.next() else { unreachable!("something has arrived") };
                put(out, last.end - 1);
                put(out, last.end - 1 - last.start);
                put(out, ranges.len() as u64);
                let mut from = last.start;
                for range in ranges {
                    put(out, from - range.end - 1);
                    put(out, range.end - range.start - 1);
                    from = range.start;
                }
            }
            Self::Data(Data { message, offset, length, behind, octets }) => {
                out.push(DATA);
                for number in [*message, *offset, *length, octets.len() as u64] {
                    put(out, number);
                }
                if *offset == 0 {
                    put_behind(out, behind);
                }
                out.extend(*octets);
            }
            Self::Hello => out.push(HELLO),
            Self::Welcome(ticket) => {
                out.push(WELCOME);
                out.extend(*ticket);
            }
            Self::Close { messages } => {
                out.push(CLOSE);
                put(out, *messages);
            }
            Self::Reset => out.push(RESET),
            Self::Oldest(packet) => {
                out.push(OLDEST);
                put(out, *packet);
            }
            Self::Notice(Notice { message, length, behind, head }) => {
                out.push(NOTICE);
                put(out, *message);
                put(out, *length);
                put_behind(out, behind);
                out.extend(*head);
            }
        }
    }
}

/// Reads the frames of a packet.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    fn octets(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (octets, rest) = self.0.split_at_checked(count).ok_or(Malformed)?;
        self.0 = rest;
        Ok(octets)
    }

    fn number(&mut self) -> Result<u64, Malformed> {
        let first = *self.0.first().ok_or(Malformed)?;
        let octets = self.octets(1 << (first >> 6))?;
        let number = octets.iter().fold(0, |number, octet| number << 8 | u64::from(*octet));
        // Without the two bits that give the length.
        Ok(number & (u64::MAX >> (66 - 8 * octets.len())))
    }

    /// Returns the next frame; `None` after the last one.
    pub(super) fn next(&mut self) -> Result<Option<Frame<'a>>, Malformed> {
        while let Some((&PADDING, rest)) = self.0.split_first() {
            self.0 = rest;
        }
        let Some(&code) = self.0.first() else { return Ok(None) };
        self.0 = &self.0[1..];
        Ok(Some(match code {
            PING => Frame::Ping,
            ACK => Frame::Ack(self.ack()?),
            DATA => Frame::Data(self.data()?),
            HELLO => Frame::Hello,
            WELCOME => Frame::Welcome(self.octets(TICKET)?.try_into().map_err(|_| Malformed)?),
            CLOSE => Frame::Close { messages: self.number()? },
            RESET => Frame::Reset,
            OLDEST => Frame::Oldest(self.number()?),
            NOTICE => Frame::Notice(self.notice()?),
            _ => return Err(Malformed),
        }))
    }

    fn ack(&mut self) -> Result<Ack, Malformed> {
        let (delay_us, limit) = (self.number()?, self.number()?);
        let last = self.number()?;
        let start = last.checked_sub(self.number()?).ok_or(Malformed)?;
        let mut ranges = Vec::new();
        ranges.push(start..last + 1);
        let count = self.number()?;
        if count >= ACK_RANGES as u64 {
            return Err(Malformed);
        }
        let mut from = start;
        for _ in 0..count {
            let missing = self.number()? + 1;
            let end = from.checked_sub(missing).ok_or(Malformed)?;
            from = end.checked_sub(self.number()? + 1).ok_or(Malformed)?;
            ranges.push(from..end);
        }
        Ok(Ack { delay_us, limit, ranges })
    }

    fn data(&mut self) -> Result<Data<'a>, Malformed> {
        let (message, offset, length) = (self.number()?, self.number()?, self.number()?);
        let count = self.number()?;
        let behind = if offset == 0 { self.behind(message)? } else { Vec::new() };
        // Only a message without contents has an empty part.
        let is_inside = offset.checked_add(count).is_some_and(|end| end <= length);
        if !is_inside || length > MESSAGE_OCTETS as u64 || (count == 0 && length > 0) {
            return Err(Malformed);
        }
        Ok(Data { message, offset, length, behind, octets: self.octets(count as usize)? })
    }

    fn behind(&mut self, message: u64) -> Result<Vec<u64>, Malformed> {
        let distances = self.number()?;
        if distances > BEHIND as u64 {
            return Err(Malformed);
        }
        let mut behind = Vec::new();
        for _ in 0..distances {
            behind.push(Some(self.number()?).filter(|distance| *distance <= message).ok_or(Malformed)?);
        }
        Ok(behind)
    }

    fn notice(&mut self) -> Result<Notice<'a>, Malformed> {
        let (message, length) = (self.number()?, self.number()?);
        if length > MESSAGE_OCTETS as u64 {
            return Err(Malformed);
        }
        let behind = self.behind(message)?;
        Ok(Notice { message, length, behind, head: self.octets(Notice::head_of(length))? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn read(octets: &[u8]) -> Result<Vec<Frame<'_>>, Malformed> {
        let mut reader = Reader(octets);
        std::iter::from_fn(|| reader.next().transpose()).collect()
    }

    /// Frames are read as written, and so are ACKs with gaps of any width.
    #[test]
    fn frames_are_read_as_written() {
        let frames = [
            Frame::Ping,
            Frame::Ack(Ack { delay_us: 16_384, limit: 1 << 40, ranges: vec![70..1000, 63..64, 0..62] }),
            Frame::Data(Data { message: 9, offset: 0, length: 5, behind: vec![0, 9], octets: b"abc" }),
            Frame::Data(Data { message: 1 << 30, offset: 3, length: 5, behind: vec![], octets: b"de" }),
            Frame::Data(Data { message: 10, offset: 0, length: 0, behind: vec![], octets: b"" }),
            Frame::Hello,
            Frame::Welcome(&[7; TICKET]),
            Frame::Close { messages: 0x3fff_ffff },
            Frame::Reset,
            Frame::Oldest(63),
            Frame::Notice(Notice { message: 64, length: 3, behind: vec![1, 64], head: b"abc" }),
            Frame::Notice(Notice { message: 65, length: 1000, behind: vec![], head: &[7; HEAD_OCTETS] }),
        ];
        let mut octets = Vec::new();
        for frame in &frames {
            frame.write(&mut octets);
        }
        octets.resize(octets.len() + 100, PADDING);
        assert_eq!(read(&octets).expect("frames"), frames);
    }

    /// A notice is as long as calculated. It is refused if its message is longer than any may be,
    /// or follows too many messages or later ones.
    #[test]
    fn notices() {
        for (message, length, behind) in
            [(0, 0, vec![]), (70_000, 65_000, vec![64, 0]), (1 << 31, 20, vec![7])]
        {
            let mut octets = Vec::new();
            let head = &[1; HEAD_OCTETS][..Notice::head_of(length)];
            Frame::Notice(Notice { message, length, behind: behind.clone(), head }).write(&mut octets);
            assert_eq!(octets.len(), Notice::octets(message, length, &behind));
            assert_eq!(read(&octets[..octets.len() - 1]), Err(Malformed));
        }
        for (message, length, behind) in
            [(9, MESSAGE_OCTETS as u64 + 1, vec![]), (9, 5, vec![10]), (9, 5, vec![1; BEHIND + 1])]
        {
            let mut octets = Vec::new();
            Frame::Notice(Notice { message, length, behind, head: &[1; HEAD_OCTETS] }).write(&mut octets);
            assert_eq!(read(&octets), Err(Malformed));
        }
    }

    proptest! {
        /// Any bytes are parsed or refused, and every parsed part lies inside its message.
        #[test]
        fn any_octets(octets in vec(any::<u8>(), 0..60)) {
            for frame in read(&octets).unwrap_or_default() {
                match frame {
                    Frame::Data(data) => prop_assert!(data.offset + data.octets.len() as u64 <= data.length),
                    Frame::Notice(notice) => prop_assert!(notice.head.len() as u64 <= notice.length),
                    Frame::Ack(ack) => {
                        prop_assert!(ack.ranges.iter().all(|range| range.start < range.end));
                        prop_assert!(ack.ranges.windows(2).all(|two| two[1].end < two[0].start));
                    }
                    _ => {}
                }
            }
        }
    }
}
