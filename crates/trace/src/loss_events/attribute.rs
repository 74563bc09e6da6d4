//! Which lost packets a loss event is about.
//!
//! Those of the connection that lie among what was outstanding then, were lost before, and belong
//! to no earlier event. So a segment that was sent again and lost again belongs to the event that
//! its second loss led to, and a loss that recovery repairs while it is at it belongs to none.

use super::stream::{Placed, Stream};
use super::{Change, Judged, Kind, LostPacket, Seen, Truth, changes};

/// A loss event: what the sender saw, and what was true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossEvent {
    /// What the sender saw and did.
    pub change: Change,
    /// What links had lost.
    pub truth: Truth,
}

impl LossEvent {
    /// What the sender's loss differentiation said.
    #[must_use]
    pub const fn judged(&self) -> Option<&Judged> {
        self.change.judged.as_ref()
    }
}

/// The loss events of a sender, from its rows and its lost packets, both in the order of time, and
/// how many of the packets belong to none.
#[must_use]
pub fn attribute(rows: &[Seen], lost: Vec<LostPacket>) -> (Vec<LossEvent>, u64) {
    let (mut stream, mut waiting, mut without_event) = (Stream::default(), Vec::<Placed>::new(), 0);
    let mut events = Vec::new();
    let changes = changes(rows);
    let (mut rows, mut lost) = (rows.iter().peekable(), lost.into_iter().peekable());
    for change in changes {
        // Up to the row that shows it, each packet is placed beside what was outstanding when it
        // was lost.
        while let Some(row) = rows.next_if(|row| row.at <= change.seen) {
            stream.follow(row.snd_una);
            while let Some(packet) = lost.next_if(|packet| packet.left <= row.at) {
                waiting.push(stream.place(&packet));
            }
        }
        let (una, nxt) = (stream.at(change.snd_una), stream.at(change.snd_nxt));
        // Nothing tells when a timer ran out but that the next row shows it.
        let until = if change.kind == Kind::Timeout { change.seen } else { change.at };
        let about = |packet: &mut Placed| packet.lies_in(una, nxt) && packet.left <= until;
        let truth = Truth::of(&waiting.extract_if(.., about).collect::<Vec<_>>());
        without_event += waiting.extract_if(.., |packet| packet.end <= una).count() as u64;
        events.push(LossEvent { change, truth });
    }
    (events, without_event + (waiting.len() + lost.count()) as u64)
}

#[cfg(test)]
mod tests;
