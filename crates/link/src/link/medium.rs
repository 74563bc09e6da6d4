//! What packets of both directions cross between the stages above and those below.

use crate::packet::Packet;
use crate::stage::Outbox;
use crate::stage::outage::OutageCommand;
use crate::units::Time;
use arq::hop::{Block, Counters, EndRecord, Watch};
use vocabulary::Direction;

/// What joins the directions of a link. Its contract is that of a stage (see [`crate::stage`]) for
/// both directions at once: a packet comes by [`Medium::accept`] at its logical time, and leaves
/// once by its direction's [`Medium::outbox`].
pub(super) trait Medium: Send {
    /// Whether it takes one more packet of a direction: no other one waits inside that was not
    /// begun.
    fn is_ready(&self, direction: Direction) -> bool;

    /// A packet enters at `packet.at`.
    fn accept(&mut self, direction: Direction, packet: Packet);

    /// When something next happens.
    fn due(&self) -> Time;

    /// Does what is due at `now`, which is the instant that [`Medium::due`] gave.
    fn advance(&mut self, now: Time);

    /// Packets of a direction that have left and were not fetched yet.
    fn outbox(&mut self, direction: Direction) -> &mut Outbox;

    /// Packets of a direction that are inside.
    fn inside(&self, direction: Direction) -> usize;

    /// An outage by command in a direction.
    fn obey(&mut self, direction: Direction, command: OutageCommand, now: Time);

    /// Gives up every packet inside, because the run ended.
    fn clear(&mut self) -> [Vec<Packet>; 2];

    /// From here on it keeps what is watched, until it is taken.
    fn watch(&mut self, watch: Watch);

    /// What was sent in a direction so far.
    fn counters(&self, direction: Direction) -> Counters;

    /// What the ends of a link layer have noted since the last call.
    fn take_records(&mut self) -> Vec<EndRecord>;

    /// The blocks at both ends since the last call.
    fn take_blocks(&mut self) -> Vec<Block>;
}
