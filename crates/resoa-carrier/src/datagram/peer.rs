//! One connection from its handshake to its end: keys, addresses, and the state machine between
//! them.

use super::INTRODUCTION;
use super::first::Ephemeral;
use super::forgotten::{is_token, name};
use super::packet::{HEADER, Packet, whole_number};
use super::port::{Address, Port};
use crate::keys::{PublicKey, SecretKey};
use crate::llp::{Event, Machine, Side, Silence};
use crate::noise::{ANSWER, Carried, FIRST, Failed, Initiator, Keys, TAG};
use resoa_protocol::lhp::{DisconnectReason, Identity, Indication, Statistics};
use std::time::Duration;

/// Time until a first message is repeated. It doubles each time, up to a second.
const PATIENCE: Duration = Duration::from_millis(250);
/// Unanswered probes after which a client asks the server whether it knows the connection.
const SILENT: u32 = 2;
/// How long packets of the other side are still answered after both ends are done.
const AFTERMATH: Duration = Duration::from_secs(3);

/// Phase of a connection.
enum Phase {
    /// A client waits for the server's answer.
    Asking(Asking),
    /// The keys are established.
    Keyed(Box<Keyed>),
    /// The connection never existed.
    Over(DisconnectReason),
}

struct Asking {
    initiator: Initiator,
    first: [u8; FIRST],
    cookie: [u8; 16],
    until: Duration,
    /// When the message is sent next, and the wait after that.
    next: Duration,
    patience: Duration,
}

struct Keyed {
    keys: Keys,
    machine: Machine,
    /// The other side's number for the connection.
    theirs: u32,
    /// The other side has confirmed its presence under the keys of both. A client does so by HELLO,
    /// after which our user is told of it.
    proved: bool,
    /// At a server: the client's key, the ephemeral key of its first message, and the answer.
    client: Option<(PublicKey, Ephemeral, [u8; ANSWER])>,
    since: Duration,
    /// Number of unanswered probes when the client last asked whether the server knows it.
    asked: u32,
    /// When packets are no longer answered, and the connection is removed.
    gone: Option<Duration>,
}

/// A connection; see the [module](self).
pub(super) struct Peer {
    /// The number by which the other side addresses us.
    pub(super) ours: u32,
    address: Option<Address>,
    phase: Phase,
    /// Our user wants messages at the moment.
    pub(super) wanted: bool,
    /// Our user was told to stop.
    full: bool,
}

impl Keyed {
    /// Returns a client's question whether the server knows the connection, once for each
    /// unanswered probe.
    fn question(&mut self, ours: u32) -> Option<Vec<u8>> {
        let unanswered = self.machine.unanswered();
        let before = std::mem::replace(&mut self.asked, unanswered);
        let ticket = self.machine.ticket().filter(|_| self.client.is_none())?;
        let is_due = unanswered >= SILENT && unanswered != before;
        is_due.then(|| Packet::Known { ours: self.theirs, theirs: ours, name: name(ticket) }.octets())
    }
}

impl Peer {
    fn new(ours: u32, address: Option<Address>, phase: Phase) -> Self {
        Self { ours, address, phase, wanted: true, full: false }
    }

    /// Creates a connection that never existed.
    pub(super) fn over(why: DisconnectReason) -> Self {
        Self::new(0, None, Phase::Over(why))
    }

    /// Creates a client's connection to this server.
    pub(super) fn asking(
        ours: u32,
        address: Address,
        key: &SecretKey,
        server: PublicKey,
        silence: Silence,
        now: Duration,
    ) -> Option<Self> {
        let (initiator, first) = Initiator::new(key, server, Carried::Llp).ok()?;
        let asking = Asking {
            initiator,
            first,
            cookie: [0; 16],
            until: now + INTRODUCTION.min(silence.end),
            next: now,
            patience: PATIENCE,
        };
        Some(Self::new(ours, Some(address), Phase::Asking(asking)))
    }

    /// Creates a server's connection with this client.
    #[expect(clippy::too_many_arguments, reason = "all that two first packets say")]
    pub(super) fn answered(
        ours: u32,
        theirs: u32,
        address: Address,
        first: &[u8],
        answer: [u8; ANSWER],
        (client, keys): (PublicKey, Keys),
        rooms: (usize, usize),
        silence: Silence,
        now: Duration,
    ) -> Self {
        let ephemeral = *first.first_chunk().expect("its length was looked at");
        let keyed = Keyed {
            keys,
            machine: Machine::new(Side::Server, rooms, silence, now),
            theirs,
            proved: false,
            client: Some((client, ephemeral, answer)),
            since: now,
            asked: 0,
            gone: None,
        };
        Self::new(ours, Some(address), Phase::Keyed(Box::new(keyed)))
    }

    /// Returns whether this is a connection whose client has not confirmed its presence yet.
    pub(super) fn is_stranger(&self) -> bool {
        matches!(&self.phase, Phase::Keyed(keyed) if !keyed.proved && keyed.client.is_some())
    }

    /// Returns the ephemeral key of the client's first message, at a server.
    pub(super) fn ephemeral(&self) -> Option<Ephemeral> {
        let Phase::Keyed(keyed) = &self.phase else { return None };
        keyed.client.as_ref().map(|(_, ephemeral, _)| *ephemeral)
    }

    /// Returns the answer to the first message, as long as the client may not have it.
    pub(super) fn answer(&self) -> Option<Vec<u8>> {
        let Phase::Keyed(keyed) = &self.phase else { return None };
        let (_, _, answer) = keyed.client.as_ref().filter(|_| !keyed.proved)?;
        Some(Packet::Answer { ours: keyed.theirs, theirs: self.ours, answer }.octets())
    }

    pub(super) fn machine(&mut self) -> Option<&mut Machine> {
        match &mut self.phase {
            Phase::Keyed(keyed) => Some(&mut keyed.machine),
            _ => None,
        }
    }

    /// Returns whether our user has closed the connection and it is not over yet.
    pub(super) fn is_closing(&self) -> bool {
        matches!(&self.phase, Phase::Keyed(keyed) if keyed.machine.is_closing())
    }

    pub(super) fn statistics(&self) -> Option<Statistics> {
        match &self.phase {
            Phase::Keyed(keyed) => Some(keyed.machine.statistics()),
            _ => None,
        }
    }

    /// Returns whether our user must stop. A user that was told to stop must wait for `On`.
    pub(super) fn fills_up(&mut self) -> bool {
        self.full |= self.machine().is_some_and(|machine| machine.is_full());
        self.full
    }

    /// Processes a packet for this connection.
    pub(super) fn packet(
        &mut self,
        packet: &Packet,
        from: Address,
        port: &Port,
        silence: Silence,
        now: Duration,
    ) {
        match (&mut self.phase, *packet) {
            (Phase::Asking(asking), Packet::Answer { theirs, answer, .. }) => {
                match asking.initiator.finish(answer) {
                    Ok(keys) => {
                        let machine = Machine::new(Side::Client, port.rooms(from), silence, now);
                        let keyed = Keyed {
                            keys,
                            machine,
                            theirs,
                            proved: true,
                            client: None,
                            since: now,
                            asked: 0,
                            gone: None,
                        };
                        self.phase = Phase::Keyed(Box::new(keyed));
                        self.address = Some(from);
                    }
                    Err(Failed::TurnedAway) => self.phase = Phase::Over(DisconnectReason::Reset),
                    // It is from somebody else.
                    Err(Failed::Forged) => {}
                }
            }
            (Phase::Asking(asking), Packet::Cookie { cookie, .. }) if asking.cookie != *cookie => {
                asking.cookie = *cookie;
                asking.next = now;
            }
            (Phase::Keyed(keyed), Packet::Sealed { number, sealed, .. }) => {
                let expected = keyed.machine.expected();
                let number = whole_number(number, expected);
                let mut frames = Vec::new();
                if !keyed.machine.is_new(number) || keyed.keys.open(number, sealed, &mut frames).is_err() {
                    return;
                }
                if number >= expected {
                    // The peer's address is the one that its latest packet came from.
                    self.address = Some(from);
                }
                if keyed.machine.packet(number, &frames, now).is_err() {
                    keyed.machine.fail();
                }
                // Until HELLO the connection counts as a stranger, because our user, which limits
                // all others, does not know of it.
                keyed.proved |= keyed.machine.has_said_hello();
            }
            (Phase::Keyed(keyed), Packet::Unknown { token, .. }) => {
                let is_ours = keyed.machine.ticket().is_some_and(|ticket| is_token(ticket, token));
                // A server's machine has its own ticket, which is no reason to end.
                if keyed.client.is_none() && is_ours {
                    keyed.machine.forgotten();
                }
            }
            _ => {}
        }
    }

    /// Sends what is due, as far as the kernel takes it.
    pub(super) fn transmit(&mut self, port: &mut Port, now: Duration) {
        let Some(address) = self.address else { return };
        match &mut self.phase {
            Phase::Over(_) => {}
            Phase::Asking(asking) => {
                if asking.next <= now {
                    let Asking { cookie, first, .. } = asking;
                    port.send(address, &Packet::First { theirs: self.ours, cookie, first }.octets());
                    asking.next = now + asking.patience;
                    asking.patience = (asking.patience * 2).min(Duration::from_secs(1));
                }
            }
            Phase::Keyed(keyed) => {
                if !keyed.proved {
                    return;
                }
                let mut frames = Vec::with_capacity(keyed.machine.packet_octets());
                let mut run = port.run(address);
                while !port.is_full() {
                    frames.clear();
                    let Some(number) = keyed.machine.transmit(now, &mut frames) else { break };
                    let octets = HEADER + frames.len() + TAG;
                    // The kernel refuses a whole run if its packets are too long. So a probe of the
                    // length goes alone, and no other packet is lost with it.
                    let is_tried = frames.len() > keyed.machine.packet_octets();
                    if is_tried || !port.fits(&run, octets) {
                        run = port.send_run(run);
                    }
                    let out = run.packet(octets);
                    let header = Packet::Sealed { ours: keyed.theirs, number: number as u32, sealed: &[] };
                    out.extend(header.octets());
                    keyed.keys.seal(number, &frames, out);
                    if is_tried {
                        run = port.send_run(run);
                    }
                }
                let run = port.send_run(run);
                port.keep(run);
                if let Some(question) = keyed.question(self.ours) {
                    port.send(address, &question);
                }
            }
        }
    }

    /// Does what is due, sends, and reports what has happened. Returns whether the connection goes
    /// on.
    pub(super) fn poll(&mut self, port: &mut Port, now: Duration, mut tell: impl FnMut(Indication)) -> bool {
        match &mut self.phase {
            Phase::Over(why) => {
                tell(Indication::Disconnected(*why));
                return false;
            }
            Phase::Asking(asking) if asking.until <= now => {
                tell(Indication::Disconnected(DisconnectReason::Unreachable));
                return false;
            }
            Phase::Asking(_) => {}
            Phase::Keyed(keyed) => {
                if keyed.gone.is_some_and(|gone| gone <= now)
                    || (!keyed.proved && keyed.since + INTRODUCTION <= now)
                {
                    return false;
                }
                if keyed.machine.deadline().is_some_and(|due| due <= now) {
                    keyed.machine.expire(now);
                }
                while let Some(event) = keyed.machine.take(self.wanted, now) {
                    tell(match event {
                        Event::Connect => {
                            let client = keyed.client.as_ref().map(|(client, ..)| client.0.to_vec());
                            Indication::Connect { identity: Identity(client.unwrap_or_default()) }
                        }
                        Event::Connected => Indication::Connected,
                        Event::Data(message) => Indication::Data(message),
                        Event::Lost(lost) => Indication::Lost(lost),
                        Event::Ended(why) => Indication::Disconnected(why),
                    });
                }
            }
        }
        self.transmit(port, now);
        if let Phase::Keyed(keyed) = &mut self.phase {
            if self.full && keyed.machine.has_room() {
                self.full = false;
                tell(Indication::On);
            }
            if keyed.machine.is_over() && keyed.gone.is_none() {
                keyed.gone = Some(now + AFTERMATH);
            }
        }
        true
    }

    /// Returns when the connection has something to do even if nothing happens.
    pub(super) fn deadline(&self) -> Option<Duration> {
        match &self.phase {
            Phase::Over(_) => None,
            Phase::Asking(asking) => Some(asking.next.min(asking.until)),
            Phase::Keyed(keyed) if !keyed.proved => {
                keyed.gone.into_iter().chain([keyed.since + INTRODUCTION]).min()
            }
            Phase::Keyed(keyed) => keyed.machine.deadline().into_iter().chain(keyed.gone).min(),
        }
    }
}
