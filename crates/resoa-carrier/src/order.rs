//! Determines which earlier messages a message must follow.
//!
//! The Export Protocol needs more than order within each socket, and less than order of all
//! messages:
//!
//! * Messages of one rsockID stay in order.
//! * A connection that no program has accepted yet is addressed by its listener's rsockID and an
//!   incarnation. All such messages stay in order with each other and with the listener's own
//!   messages. ACCEPTED gives the connection an rsockID. Messages with that rsockID follow ACCEPTED
//!   and, in the other direction, every message by incarnation.
//! * A program may close a socket and give its address, or its place within the limit of sockets,
//!   to the next socket. So a message that takes an address or makes a socket follows every CLOSE,
//!   and a CLOSE follows the earlier ones. The same holds for `shutdown` of a listener, after which
//!   another socket may have its address (SO_REUSEADDR).
//! * A datagram with an address of its own, which includes every datagram that arrives, follows its
//!   socket's earlier messages, but no message follows it: the next one does not wait for a lost
//!   one. A datagram to the address that its socket is connected to stays in order, because that
//!   address may change. (A CLOSE can overtake a datagram of the first kind, as in any network.)
//! * A message about the client as a whole, or one that this side cannot parse, follows everything
//!   before it, and everything after follows it.
//!
//! No other order is observable. A network promises no order between connections. And if a program
//! acts on one socket and then on another, the return of the first call depends on messages of the
//! first socket only.

use std::collections::HashMap;

/// Messages that stay in order with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Lane {
    /// Messages of one rsockID.
    Socket(u32),
    /// Messages addressed by incarnation.
    Arrivals,
    /// Messages that give up addresses and sockets.
    Releases,
}

/// Position of a message in the order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// It follows the last message of each lane in both lists. Later messages of a lane that it
    /// `joins` follow it.
    Lanes { joins: Vec<Lane>, behind: Vec<Lane> },
    /// It follows every earlier message, and every later message follows it.
    Alone,
}

const HEADER: usize = 7;
const REQUEST: u8 = 1;
const CALL: u8 = 3;
const UPDATE: u8 = 4;
const CONTROL: u8 = 5;
const CREATE: u8 = 2;
const CHILD: u8 = 4;
const CONSUMED: u8 = 8;
/// Ops of REQUEST.
const BIND: u8 = 1;
const CONNECT: u8 = 2;
const DISCONNECT: u8 = 3;
const LISTEN: u8 = 4;
/// Ops of CALL.
const CALL_LISTEN: u8 = 1;
const ACCEPTED: u8 = 2;
const CLOSE: u8 = 7;
const SHUTDOWN: u8 = 8;
/// `SHUT_RD`, of which the server is told for listeners. It is also told for connections whose
/// writing half is shut down; ordering these behind a CLOSE does no harm.
const READ: u8 = 0;
/// Op of both CALL and UPDATE. In a CALL an address follows, which begins with its family, or 0 for
/// none.
const DATAGRAM: u8 = 4;
/// Code of CONTROL.
const ERROR: u8 = 8;

impl Place {
    /// Returns the position of an encoded message of the Export Protocol.
    pub(crate) fn of(message: &[u8]) -> Self {
        let Some(&[kind, op, flags, a, b, c, d]) = message.first_chunk::<HEADER>() else {
            return Self::Alone;
        };
        let socket = u32::from_be_bytes([a, b, c, d]);
        let kind = kind & 0xf;
        if socket == 0 || !(REQUEST..=CONTROL).contains(&kind) {
            return Self::Alone;
        }
        let has = |flag: u8| flags & flag != 0;
        if may_be_lost(message) {
            let address = HEADER + if has(CONSUMED) { 4 } else { 0 };
            if kind == UPDATE || message.get(address).is_some_and(|family| *family != 0) {
                return Self::Lanes { joins: Vec::new(), behind: vec![Lane::Socket(socket)] };
            }
        }
        let mut joins = vec![Lane::Socket(socket)];
        let mut behind = Vec::new();
        if has(CHILD) {
            joins.push(Lane::Arrivals);
        }
        let fields = [(CHILD, 4), (CONSUMED, 4), (CREATE, 3)];
        let optional: usize = fields.iter().filter(|(flag, _)| has(*flag)).map(|(_, octets)| octets).sum();
        let of_op = message.get(HEADER + optional..).unwrap_or_default();
        let is_listener_shut = (kind, op) == (CALL, SHUTDOWN) && of_op.first() == Some(&READ);
        if is_listener_shut || matches!((kind, op), (CALL, CLOSE) | (REQUEST, DISCONNECT) | (CONTROL, ERROR))
        {
            joins.push(Lane::Releases);
        }
        let makes = matches!(kind, REQUEST | CALL) && has(CREATE);
        if makes || matches!((kind, op), (REQUEST, BIND | CONNECT | LISTEN) | (CALL, CALL_LISTEN)) {
            behind.push(Lane::Releases);
        }
        if (kind, op) == (CALL, ACCEPTED) {
            // The rsockID follows the incarnation.
            let Some(number) = of_op.get(4..).and_then(<[u8]>::first_chunk::<4>) else {
                return Self::Alone;
            };
            joins.push(Lane::Socket(u32::from_be_bytes(*number)));
        }
        Self::Lanes { joins, behind }
    }
}

/// Returns whether a message is just the payload of a datagram, so that losing it is losing a
/// datagram. A message that makes a socket is not, nor is one addressed by incarnation.
pub(crate) fn may_be_lost(message: &[u8]) -> bool {
    let Some(&[kind, op, flags, a, b, c, d]) = message.first_chunk::<HEADER>() else { return false };
    let is_datagram = op == DATAGRAM && matches!(kind & 0xf, CALL | UPDATE);
    is_datagram && flags & (CREATE | CHILD) == 0 && [a, b, c, d] != [0; 4]
}

/// The last message of each lane, unless the other side already has it.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    last: HashMap<Lane, u64>,
    alone: Option<u64>,
}

/// Number of lanes up to which finished ones are kept.
const IDLE: usize = 256;

impl Lanes {
    /// Returns the messages that `message` has to follow, as distances back; 0 stands for all. The
    /// other side has all messages before `done`.
    pub(crate) fn behind(&mut self, message: u64, place: Place, done: u64) -> Vec<u64> {
        let Place::Lanes { joins, behind } = place else {
            self.last.clear();
            self.alone = Some(message);
            return vec![0];
        };
        // If nothing is in flight, `done` is one more than `message`.
        if self.last.len() > IDLE && self.last.len() as u64 > 4 * message.saturating_sub(done) {
            self.last.retain(|_, last| *last >= done);
        }
        let is_new = joins.iter().any(|lane| self.last.get(lane).is_none_or(|last| *last < done));
        // It may be the first message with the rsockID of a connection that was addressed by
        // incarnation until now.
        let arrivals = is_new.then_some(Lane::Arrivals);
        let lanes = joins.iter().chain(&behind).chain(&arrivals);
        let mut before: Vec<_> =
            lanes.filter_map(|lane| self.last.get(lane)).copied().chain(self.alone).collect();
        before.retain(|last| *last >= done);
        before.sort_unstable();
        before.dedup();
        self.last.extend(joins.into_iter().map(|lane| (lane, message)));
        before.into_iter().map(|last| message - last).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use resoa_protocol::message::{
        Ancillary, Body, Call, CloseState, Control, Create, Family, Fault, Half, Operation, RsockType, Update,
    };
    use resoa_protocol::{Incarnation, Message, RsockId, Target, Xid};

    fn socket(id: u32) -> Target {
        Target::Socket(RsockId(id))
    }

    fn child(listener: u32) -> Target {
        Target::Child { listener: RsockId(listener), incarnation: Incarnation(5) }
    }

    fn call(target: Target, call: Call) -> Vec<u8> {
        Message { target, body: Body::Call { create: None, consumed: 3, call } }.encode()
    }

    fn write(target: Target) -> Vec<u8> {
        call(target, Call::Write { bytes: vec![1], urgent: false, scarce: false })
    }

    fn close(target: Target) -> Vec<u8> {
        call(target, Call::Close { state: CloseState::Close, abort: false, linger: false })
    }

    fn bind(target: Target) -> Vec<u8> {
        let create = Some(Create { family: Family::V4, kind: RsockType::Stream });
        let operation = Operation::Bind(([127, 0, 0, 1], 80).into());
        Message { target, body: Body::Request { xid: Xid(1), create, operation } }.encode()
    }

    fn data(target: Target) -> Vec<u8> {
        Message::update(target, Update::Data(vec![1])).encode()
    }

    /// Returns the messages that each of these has to follow, as positions in the list.
    fn behind(messages: &[Vec<u8>]) -> Vec<Vec<u64>> {
        let mut lanes = Lanes::default();
        let numbered = (0..).zip(messages);
        numbered
            .map(|(number, message)| {
                let distances = lanes.behind(number, Place::of(message), 0);
                distances.into_iter().map(|distance| number - distance).collect()
            })
            .collect()
    }

    /// Sockets do not wait for each other, and each socket's messages stay in order.
    #[test]
    fn sockets_do_not_wait_for_each_other() {
        let messages = [write(socket(1)), write(socket(2)), write(socket(1)), data(socket(2))];
        assert_eq!(behind(&messages), [vec![], vec![], vec![0], vec![1]]);
    }

    /// Messages that address a connection by its listener precede those with its own rsockID, in
    /// both directions.
    #[test]
    fn a_connection_gets_its_number() {
        let accepted = call(socket(1), Call::Accepted { incarnation: Incarnation(5), socket: RsockId(7) });
        let messages = [write(socket(3)), accepted, write(socket(7)), write(socket(1)), write(socket(7))];
        assert_eq!(behind(&messages), [vec![], vec![], vec![1], vec![1], vec![2]]);
        let messages = [data(child(1)), data(child(2)), data(socket(7)), data(socket(7)), data(socket(1))];
        assert_eq!(behind(&messages), [vec![], vec![0], vec![1], vec![2], vec![0]]);
    }

    /// The next socket can take an address that was given up.
    #[test]
    fn addresses_are_given_up_first() {
        let messages =
            [close(socket(1)), write(socket(2)), bind(socket(3)), close(socket(2)), bind(socket(4))];
        assert_eq!(behind(&messages), [vec![], vec![], vec![0], vec![0, 1], vec![3]]);
        let shut = |half, target| call(target, Call::Shutdown { half, state: CloseState::Close });
        assert_eq!(
            behind(&[shut(Half::Read, socket(1)), shut(Half::Write, socket(2)), bind(socket(3))]),
            [vec![], vec![], vec![0]]
        );
        let error = Message::socket_control(RsockId(5), Control::Error(Fault::InvalidRsockId)).encode();
        assert_eq!(behind(&[error, bind(socket(6))]), [vec![], vec![0]]);
    }

    /// Datagrams with an address of their own wait for their socket, but not for each other. Those
    /// to the socket's peer stay in order.
    #[test]
    fn datagrams_do_not_wait_for_each_other() {
        let from = ([127, 0, 0, 1], 53).into();
        let to = |to| call(socket(3), Call::Datagram { to, ancillary: Ancillary::none(), bytes: vec![1] });
        let ancillary = Ancillary::none();
        let arrives =
            Message::update(socket(3), Update::Datagram { from, ancillary, bytes: vec![] }).encode();
        let messages = [bind(socket(3)), to(Some(from)), to(Some(from)), to(None), to(None), to(Some(from))];
        assert_eq!(behind(&messages), [vec![], vec![0], vec![0], vec![0], vec![3], vec![4]]);
        assert_eq!(behind(&[data(socket(3)), arrives.clone(), arrives]), [vec![], vec![0], vec![0]]);
        let create = Some(Create { family: Family::V4, kind: RsockType::Datagram });
        let first = Body::Call {
            create,
            consumed: 0,
            call: Call::Datagram { to: Some(from), ancillary: Ancillary::none(), bytes: vec![1] },
        };
        let first = Message { target: socket(3), body: first }.encode();
        assert_eq!(behind(&[first, to(Some(from)), close(socket(3))]), [vec![], vec![0], vec![0]]);
    }

    /// C91: both implementations, on the bytes and on the parsed message, agree on what may be
    /// lost: only datagrams of a socket, and not the one that makes it.
    #[test]
    fn what_may_be_lost() {
        let from = ([127, 0, 0, 1], 53).into();
        let datagram = |create, to| {
            let call = Call::Datagram { to, ancillary: Ancillary::none(), bytes: vec![1] };
            Message { target: socket(3), body: Body::Call { create, consumed: 7, call } }
        };
        let create = Some(Create { family: Family::V4, kind: RsockType::Datagram });
        let arrived = |target| {
            Message::update(target, Update::Datagram { from, ancillary: Ancillary::none(), bytes: vec![] })
        };
        for (message, expected) in [
            (datagram(None, Some(from)), true),
            (datagram(None, None), true),
            (datagram(create, Some(from)), false),
            (arrived(socket(3)), true),
            (arrived(socket(0)), false),
            (arrived(child(3)), false),
            (Message::update(socket(3), Update::Data(vec![4])), false),
            (Message::control(Control::StillAlive { reply: false }), false),
        ] {
            assert_eq!(
                (message.may_be_lost(), may_be_lost(&message.encode())),
                (expected, expected),
                "{message:?}"
            );
        }
        assert!(!may_be_lost(&[0x13, 4, 0]));
    }

    /// A message about the client as a whole follows everything, and everything after follows it.
    #[test]
    fn the_client_as_a_whole() {
        let all = Message::control(Control::StillAlive { reply: false }).encode();
        let messages =
            [write(socket(1)), all, write(socket(1)), write(socket(2)), b"?".to_vec(), write(socket(2))];
        let mut lanes = Lanes::default();
        let distances: Vec<_> = (0..)
            .zip(&messages)
            .map(|(number, message)| lanes.behind(number, Place::of(message), 0))
            .collect();
        assert_eq!(distances, [vec![], vec![0], vec![1], vec![2], vec![0], vec![1]]);
    }

    /// Messages that the other side has together with all earlier ones need not be followed, and
    /// are forgotten.
    #[test]
    fn what_is_done_is_forgotten() {
        let mut lanes = Lanes::default();
        for number in 0..10_000 {
            let place = Place::of(&write(socket(number as u32 + 1)));
            assert_eq!(lanes.behind(number, place, number), Vec::<u64>::new());
        }
        assert!(lanes.last.len() <= 2 * IDLE, "{}", lanes.last.len());
    }

    /// Lanes of past sockets are forgotten, even if each message reaches the other side before the
    /// next is handed over.
    #[test]
    fn nothing_under_way() {
        let mut lanes = Lanes::default();
        for number in 0..3 * IDLE as u64 {
            let place = Place::Lanes { joins: vec![Lane::Socket(number as u32 + 1)], behind: Vec::new() };
            assert_eq!(lanes.behind(number, place, number + 1), [0; 0]);
            assert!(lanes.last.len() <= IDLE + 1);
        }
    }
}
