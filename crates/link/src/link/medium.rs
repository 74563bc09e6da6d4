//! The medium that packets of both directions cross between the stages above and those below.

use crate::packet::Packet;
use crate::stage::Outbox;
use crate::stage::outage::OutageCommand;
use crate::units::Time;
use arq::hop::{Block, Counters, EndRecord, Watch};
use vocabulary::Direction;

/// A medium between the directions of a link.
///
/// Its contract is that of a stage (see [`crate::stage`]) for both directions at once: a packet
/// enters by [`Medium::accept`] at its logical time, and leaves once, by the [`Medium::outbox`] of
/// its direction.
pub(super) trait Medium: Send {
    /// Returns whether the medium takes one more packet of a direction: it has begun every packet
    /// inside.
    fn is_ready(&self, direction: Direction) -> bool;

    /// Takes a packet that enters at `packet.at`.
    fn accept(&mut self, direction: Direction, packet: Packet);

    /// Returns the time of the next event.
    fn due(&self) -> Time;

    /// Handles the event that is due at `now`, the instant returned by [`Medium::due`].
    fn advance(&mut self, now: Time);

    /// Returns the packets of a direction that have left and were not taken yet.
    fn outbox(&mut self, direction: Direction) -> &mut Outbox;

    /// Returns the number of packets of a direction inside.
    fn inside(&self, direction: Direction) -> usize;

    /// Executes a command for an outage in a direction.
    fn obey(&mut self, direction: Direction, command: OutageCommand, now: Time);

    /// Removes and returns every packet inside, because the run ended.
    fn clear(&mut self) -> [Vec<Packet>; 2];

    /// Selects what to record from now on. Records and blocks stay inside until they are taken.
    fn watch(&mut self, watch: Watch);

    /// Returns the counters of a direction.
    fn counters(&self, direction: Direction) -> Counters;

    /// Returns the records of the ends of a link layer since the last call.
    fn take_records(&mut self) -> Vec<EndRecord>;

    /// Returns the blocks at both ends since the last call.
    fn take_blocks(&mut self) -> Vec<Block>;
}
