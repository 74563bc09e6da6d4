//! Attribution of lost packets to loss events.
//!
//! A loss event is about those lost packets of the connection that were part of the data
//! outstanding then, were lost before the event, and belong to no earlier event. So a
//! retransmission that is lost again belongs to the event that this second loss caused. A loss that
//! an ongoing recovery repairs belongs to no event.

use super::stream::{Placed, Stream};
use super::{Change, Judged, LossDetection, LostPacket, Seen, Truth, changes};

/// A loss event: what the sender saw, and the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossEvent {
    /// What the sender saw and did.
    pub change: Change,
    /// What links had lost.
    pub truth: Truth,
}

impl LossEvent {
    /// Returns what the sender's loss differentiation said.
    #[must_use]
    pub const fn judged(&self) -> Option<&Judged> {
        self.change.judged.as_ref()
    }
}

/// Returns the loss events of a sender, and the number of lost packets that belong to none.
///
/// `rows` and `lost` are the sender's rows and lost packets, both in the order of time.
#[must_use]
pub fn attribute(rows: &[Seen], lost: Vec<LostPacket>) -> (Vec<LossEvent>, u64) {
    let (mut stream, mut waiting, mut without_event) = (Stream::default(), Vec::<Placed>::new(), 0);
    let mut events = Vec::new();
    let changes = changes(rows);
    let (mut rows, mut lost) = (rows.iter().peekable(), lost.into_iter().peekable());
    for change in changes {
        // Places each packet relative to the data that was outstanding when it was lost, up to the
        // row that shows the event.
        while let Some(row) = rows.next_if(|row| row.at <= change.seen) {
            stream.follow(row.snd_una);
            while let Some(packet) = lost.next_if(|packet| packet.left <= row.at) {
                waiting.push(stream.place(&packet));
            }
        }
        let (una, nxt) = (stream.at(change.snd_una), stream.at(change.snd_nxt));
        // The time of a timeout is not recorded; it is at the latest that of the row that shows it.
        let until = if change.kind == LossDetection::Timeout { change.seen } else { change.at };
        let about = |packet: &mut Placed| packet.lies_in(una, nxt) && packet.left <= until;
        let truth = Truth::of(&waiting.extract_if(.., about).collect::<Vec<_>>());
        without_event += waiting.extract_if(.., |packet| packet.end <= una).count() as u64;
        events.push(LossEvent { change, truth });
    }
    (events, without_event + (waiting.len() + lost.count()) as u64)
}

#[cfg(test)]
mod tests;
