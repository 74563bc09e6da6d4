//! The Radio Link Protocol of GSM data calls (GSM 04.22), one end of it.
//!
//! An [`Rlp`] is asked for one frame at each tick of 20 ms ([`Rlp::tick`]) and given those that
//! arrive ([`Rlp::receive`]); a block that could not be decoded is told as well. It sends packets
//! ([`Rlp::offer`]) as a stream of characters; [`relay`] says how. Which end it is matters for the
//! windows in XID alone.
//!
//! * Connection: XID if wanted, SABM and UA; DISC. NULL while there is none, RR when there is
//!   nothing to say.
//! * Recovery: SREJ for each missing frame, repeated after T1; or REJ ([`Recovery`]). If the sender
//!   hears nothing for T1 it asks with P (*checkpoint*), and the answer with F tells what has
//!   arrived.
//! * Persistency: a frame that was sent N2 times again, or N2 polls without an answer, end as
//!   [`crate::Then`] says. To give a frame up, its sender tells the other end by a UI frame
//!   with the frame's number, over and over until N(R) has passed it. **That is our own**: the
//!   standard has resets alone, and how the semi-reliable mode of Ludwig 2.4.3 does it is not
//!   known.
//! * Flow control: RNR, and the X bit of L2R (XOFF, XON); [`throttle`].
//!
//! **A window of 61 and 62 numbers** leave a selective-repeat receiver no way to tell an old frame
//! that comes once more from a new one: having 0 to 60 it waits for 61, and would take another copy
//! of 1 for the new frame 1, two after 61. So no frame may be sent again unless the receiver is
//! known to miss it. Three rules ensure that on a channel which keeps the order, as a circuit does,
//! and whose round trip is not longer than T1 - T2:
//!
//! 1. An SREJ or REJ of a frame that was sent once is followed whenever it comes: the receiver has
//!    seen a frame that was sent later, so this one is lost, and no other copy of it is under way.
//!    One of a frame that was sent more often is followed only if that was T1 - T2 ago or earlier:
//!    one that comes sooner may have been sent before the last copy could arrive.
//! 2. Between P and F no numbered frame is sent (and an SREJ is left to be repeated). Then N(R) of
//!    the answer is missing for certain. It is sent again, and so is the newest frame, which at
//!    most shows the receiver what else it misses: one step behind V(R) is outside of any window.
//! 3. A frame is given up only while it is the oldest, and the receiver passes over a number only
//!    if it is V(R).
//!
//! The model in `arq/model` has a window of 3 and 4 numbers, where the same would happen.

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

/// Octets of a block on the air, coded or not: it is one frame.
pub const BLOCK_OCTETS: u32 = 30;
/// Octets of an information field.
const INFORMATION_OCTETS: usize = 25;
/// Those of them behind the status octet.
pub const USER_OCTETS: usize = INFORMATION_OCTETS - 1;

/// Which end of the connection.
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
    /// As agreed.
    parameters: Parameters,
    mode: Mode,
    answer: Option<Answer>,
    send: SendWindow<Outgoing>,
    receive: ReceiveWindow<Vec<u8>, Gap>,
    packer: Packer,
    unpacker: Unpacker,
    buffer: Option<Buffer>,
    /// Packets that go with a reset or the end of the connection, as soon as the other end has done
    /// it.
    doomed: Vec<Numbers>,
}

/// What a sent frame carries.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Outgoing {
    field: Vec<u8>,
    /// Packets with a part in it, or in the middle of which it stands.
    packets: Option<Numbers>,
    /// Ticks for which a copy may be under way although the receiver asks for it; 0 for a frame
    /// that was sent once (rule 1).
    under_way: u16,
}

/// What is kept with a missing frame: ticks until it is asked for (again).
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

/// What an entity says beside its frames.
#[derive(Debug, Default)]
pub struct Output {
    /// For a monitor.
    pub records: Vec<Record>,
    /// For the user of the link.
    pub indications: Vec<Indication>,
    /// There was something new to send, and no place in the window (*stalled window*, Ludwig
    /// 3.1.2).
    pub stalled: bool,
}

/// What the user of the link is told.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Indication {
    /// The link is up, for the first time or after a reset.
    Connected,
    /// The link is down for good.
    Disconnected,
    /// A packet of the other end.
    Delivered {
        /// The number that it was offered with.
        number: u16,
        /// The packet.
        bytes: Vec<u8>,
    },
    /// A packet of this end that will not be delivered if it has not been by now.
    Abandoned {
        /// The number that it was offered with.
        number: u16,
        /// Why.
        why: Abandoned,
    },
}

/// Why a packet will not be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Abandoned {
    /// A frame with a part of it was sent as often as it may be.
    GivenUp,
    /// The link was reset.
    Reset,
    /// The connection has ended.
    Disconnected,
}

impl Rlp {
    /// An end that is not connected. `throttle` is of what it receives.
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

    /// Takes a packet of at most 65 535 octets. Numbers are the user's; those of packets that are
    /// inside at the same time differ, and they count up by one, modulo 65 536.
    pub fn offer(&mut self, number: u16, bytes: &[u8]) {
        self.packer.push(number, bytes);
    }

    /// Packets of which no octet is in a frame yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.packer.untouched()
    }

    /// Whether the connection is up at this end.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        matches!(self.mode, Mode::Accepted | Mode::Connected(_))
    }

    /// Whether the connection has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.mode == Mode::Ended
    }

    /// The parameters in force.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The frame that is sent in the block that begins at `now`. To be called every 20 ms.
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

    /// Notes something at `now`.
    fn note(&self, now: Time, way: Way, event: Event, ns: u16, aux: u32, out: &mut Output) {
        out.records.push(Record { at: now, way, event, ns, nr: self.receive.next(), aux });
    }

    /// Tells of the packets that are doomed.
    fn report(&mut self, why: Abandoned, out: &mut Output) {
        for (first, last) in std::mem::take(&mut self.doomed) {
            let count = last.wrapping_sub(first);
            let numbers = (0..=count).map(|step| first.wrapping_add(step));
            out.indications.extend(numbers.map(|number| Indication::Abandoned { number, why }));
        }
    }

    /// Counts how often frames were sent only as far as that matters, so that states of a model
    /// which differ in nothing else are one.
    #[cfg(test)]
    pub(crate) fn forget(&mut self) {
        self.send.cap_counts(self.parameters.persistency.retransmissions.unwrap_or(0) + 1);
    }
}

/// A receiver that asks by REJ holds nothing.
fn receive_window(parameters: &Parameters) -> usize {
    match parameters.recovery {
        Recovery::Selective => usize::from(parameters.receive_window),
        Recovery::GoBack => 1,
    }
}
