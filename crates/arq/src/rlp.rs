//! One end of the Radio Link Protocol of GSM data calls (GSM 04.22).
//!
//! The caller asks an [`Rlp`] for one frame at each tick of 20 ms ([`Rlp::tick`]) and hands it
//! arriving blocks ([`Rlp::receive`]), including those that could not be decoded. It sends packets
//! ([`Rlp::offer`]) as a stream of characters, as described in [`relay`]. The role of the end
//! matters only for the windows in XID.
//!
//! * Connection: XID if wanted, SABM and UA; DISC. It sends NULL without a connection, and RR when
//!   there is nothing else to send.
//! * Recovery: SREJ for each missing frame, repeated after T1; or REJ ([`Recovery`]). If the sender
//!   gets no acknowledgement for T1, it polls with P (*checkpoint*). The answer with F tells which
//!   frames have arrived.
//! * Persistency: N2 retransmissions of a frame, or N2 polls without an answer, lead to the action
//!   of [`crate::Then`]. To give up a frame, its sender announces the frame's number in a UI frame,
//!   which it repeats until N(R) has passed the number. **This is our own extension**: the standard
//!   has resets only, and how the semi-reliable mode of Ludwig 2.4.3 does it is not known.
//! * Flow control: RNR, and the X bit of L2R (XOFF, XON); see [`throttle`].
//!
//! **With a window of 61 and 62 numbers**, a selective-repeat receiver cannot distinguish another
//! copy of an old frame from a new one. After frames 0 to 60 it waits for 61, and would take
//! another copy of 1 for the new frame 1, two after 61. So no frame may be retransmitted unless the
//! receiver is known to miss it. Three rules ensure this on a channel that keeps the order, as a
//! circuit does, and whose round trip is not longer than T1 - T2:
//!
//! 1. An SREJ or REJ of a frame that was sent once is obeyed whenever it arrives. The receiver has
//!    seen a later frame, so this one is lost, and no other copy of it is in transit. If the frame
//!    was sent more often, the request is obeyed only if the last transmission was at least T1 - T2
//!    ago. A request that comes sooner may have been sent before the last copy could arrive.
//! 2. Between P and F, the sender sends no numbered frames and leaves an SREJ to be repeated. Then
//!    the frame N(R) of the answer is certainly missing. The sender retransmits it, and also the
//!    newest frame, which shows the receiver what else it misses. If the receiver has the newest
//!    frame, this does no harm: one number before V(R) is outside any window.
//! 3. A frame is given up only while it is the oldest, and the receiver skips a number only if it
//!    is V(R).
//!
//! The model in `arq/src/model` has a window of 3 and 4 numbers, where the same problem exists.

mod connection;
mod mode;
mod parameters;
mod reception;
pub mod relay;
#[cfg(test)]
mod tests;
pub mod throttle;
mod transmission;

pub use parameters::{Parameters, Recovery, TICKS_PER_SECOND};
pub use throttle::Throttle;

use super::{Order, ReceiveWindow, SendWindow};
use mode::Mode;
use packet::rlp::Frame;
use relay::{Numbers, Packer, Unpacker};
use throttle::Buffer;
use vocabulary::link_layer::{Event, Record, Way};
use vocabulary::units::Time;

/// Length of a block on the air, coded or not, in octets. A block is one frame.
pub const BLOCK_OCTETS: u32 = 30;
/// Length of an information field, in octets.
const INFORMATION_OCTETS: usize = 25;
/// Octets of an information field after the status octet.
pub const USER_OCTETS: usize = INFORMATION_OCTETS - 1;

/// Role of an end of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The mobile, which sets up the connection.
    Mobile,
    /// The network.
    Network,
}

/// One end; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rlp {
    role: Role,
    wanted: Parameters,
    /// Parameters in force.
    parameters: Parameters,
    mode: Mode,
    answer: Option<Answer>,
    send: SendWindow<Outgoing>,
    receive: ReceiveWindow<Vec<u8>, Gap>,
    packer: Packer,
    unpacker: Unpacker,
    buffer: Option<Buffer>,
    /// Packets to abandon once the other end has completed the reset or the end of the connection.
    doomed: Vec<Numbers>,
}

/// Content of a sent frame.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Outgoing {
    field: Vec<u8>,
    /// Packets that have a part in it, or the packet in whose middle it is.
    packets: Option<Numbers>,
    /// Ticks for which a copy may be in transit although the receiver requests the frame; 0 for a
    /// frame that was sent once (rule 1).
    under_way: u16,
}

/// Data of a missing frame: ticks until it is requested (again).
type Gap = u16;

/// A response that is due.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Answer {
    Acknowledge,
    DisconnectedMode,
    Final,
    Exchange(Vec<u8>),
    Test(Vec<u8>),
}

/// Output of an end besides its frames.
#[derive(Debug, Default)]
pub struct Output {
    /// Records for a monitor.
    pub records: Vec<Record>,
    /// Indications for the user of the link.
    pub indications: Vec<Indication>,
    /// Whether there were new data to send but no room in the window (*stalled window*, Ludwig
    /// 3.1.2).
    pub stalled: bool,
}

/// An indication for the user of the link.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Indication {
    /// The link is up, for the first time or after a reset.
    Connected,
    /// The link is down for good.
    Disconnected,
    /// A packet of the other end is complete.
    Delivered {
        /// Number with which the packet was offered.
        number: u16,
        /// The packet.
        bytes: Vec<u8>,
    },
    /// A packet of this end will not be delivered if it has not been delivered yet.
    Abandoned {
        /// Number with which the packet was offered.
        number: u16,
        /// The reason.
        why: Abandoned,
    },
}

/// Why a packet will not be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Abandoned {
    /// A frame with a part of it reached the limit of retransmissions.
    GivenUp,
    /// The link was reset.
    Reset,
    /// The connection has ended.
    Disconnected,
}

impl Rlp {
    /// Creates an end that is not connected. `throttle` applies to the data that it receives.
    ///
    /// # Panics
    /// If a window is 0 or not smaller than the modulus.
    #[must_use]
    pub fn new(role: Role, parameters: Parameters, throttle: Option<Throttle>) -> Self {
        Self {
            role,
            wanted: parameters,
            parameters,
            mode: Mode::Disconnected,
            answer: None,
            send: SendWindow::new(parameters.modulus, usize::from(parameters.send_window)),
            receive: ReceiveWindow::new(parameters.modulus, receive_window(&parameters), Order::InSequence),
            packer: Packer::default(),
            unpacker: Unpacker::default(),
            buffer: throttle.map(Buffer::new),
            doomed: Vec::new(),
        }
    }

    /// Accepts a packet of at most 65 535 octets. The user chooses the numbers. They must count up
    /// by one, modulo 65 536, and differ among packets that are inside at the same time.
    pub fn offer(&mut self, number: u16, bytes: &[u8]) {
        self.packer.push(number, bytes);
    }

    /// Returns the number of packets of which no octet is in a frame yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.packer.untouched()
    }

    /// Tells whether the connection is up at this end.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        matches!(self.mode, Mode::Accepted | Mode::Connected(_))
    }

    /// Tells whether the connection has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.mode == Mode::Ended
    }

    /// Returns the parameters in force.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Returns the frame of the block that begins at `now`. Must be called every 20 ms.
    pub fn tick(&mut self, now: Time, out: &mut Output) -> Frame {
        for outgoing in self.send.bodies_mut() {
            outgoing.under_way = outgoing.under_way.saturating_sub(1);
        }
        for (_, gap) in self.receive.gaps_mut() {
            *gap = gap.saturating_sub(1);
        }
        if self.mode.tick() {
            self.expire(now, out);
        }
        if self.mode == Mode::Ended {
            let numbers: Vec<_> = self.packer.drain().collect();
            for number in numbers {
                self.doomed.push((number, number));
            }
            self.report(Abandoned::Disconnected, out);
        }
        self.drain(out);
        self.compose(now, out)
    }

    /// Logs an event at `now`.
    fn note(&self, now: Time, way: Way, event: Event, ns: u16, aux: u32, out: &mut Output) {
        out.records.push(Record { at: now, way, event, ns, nr: self.receive.next(), aux });
    }

    /// Indicates that the packets in `doomed` are abandoned.
    fn report(&mut self, why: Abandoned, out: &mut Output) {
        for (first, last) in std::mem::take(&mut self.doomed) {
            let count = last.wrapping_sub(first);
            let numbers = (0..=count).map(|step| first.wrapping_add(step));
            out.indications.extend(numbers.map(|number| Indication::Abandoned { number, why }));
        }
    }

    /// Limits the counts of transmissions, so that states of a model that differ only in higher
    /// counts are equal.
    #[cfg(test)]
    pub(crate) fn forget(&mut self) {
        self.send.cap_counts(self.parameters.persistency.retransmissions.unwrap_or(0) + 1);
    }
}

/// Returns the size of the receive window: 1 with REJ, since such a receiver holds no frames.
fn receive_window(parameters: &Parameters) -> usize {
    match parameters.recovery {
        Recovery::Selective => usize::from(parameters.receive_window),
        Recovery::GoBack => 1,
    }
}
