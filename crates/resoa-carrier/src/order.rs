//! Which messages a message has to stay behind.
//!
//! The Export Protocol needs more than the order of each socket's messages, and less than that of
//! all:
//!
//! * Messages of one rsockID stay in order.
//! * A connection that no program has accepted yet is spoken of by its listener's rsockID. All such
//!   messages stay in order, and so do they with the listener's own. ACCEPTED gives the connection
//!   its number: what comes by that number later stays behind it, and at the other side behind
//!   everything that was said before by incarnation.
//! * A program may close a socket and use its address, or its place among the sockets that it may
//!   have, by the next: what takes an address or makes a socket stays behind every CLOSE, and CLOSE
//!   behind the earlier ones. So with `shutdown` of a listener, whose address another socket may
//!   then have (SO_REUSEADDR).
//! * A datagram that has an address of its own, as each that arrives has, stays behind what was
//!   said of its socket, and nothing stays behind it: the next does not wait for a lost one. One
//!   that goes to where the socket is connected stays in order, since that may change. (That a
//!   CLOSE can overtake such a datagram is what networks do with them.)
//! * What is about the client as a whole, and what this side cannot read, stays behind everything
//!   before it, and everything after stays behind that.
//!
//! Nothing else is observable: between connections a network promises no order, and what a program
//! does with one socket before it turns to another returns by the messages of that socket.

use std::collections::HashMap;

/// Messages in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Lane {
    /// Of one rsockID.
    Socket(u32),
    /// By incarnation.
    Arrivals,
    /// What gives up addresses and sockets.
    Releases,
}

/// Where a message belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// Behind the last of each of these; and what belongs to a lane it `joins` stays behind it.
    Lanes { joins: Vec<Lane>, behind: Vec<Lane> },
    /// Behind everything, and before everything that follows.
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
/// What is shut down: of listeners this, and of nothing else.
const READ: u8 = 0;
/// The same of UPDATE. In a CALL there follows an address, which begins with its family, or 0.
const DATAGRAM: u8 = 4;
/// A code of CONTROL.
const ERROR: u8 = 8;

impl Place {
    /// That of a message of the Export Protocol.
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
            // Behind the incarnation.
            let Some(number) = of_op.get(4..).and_then(<[u8]>::first_chunk::<4>) else {
                return Self::Alone;
            };
            joins.push(Lane::Socket(u32::from_be_bytes(*number)));
        }
        Self::Lanes { joins, behind }
    }
}

/// Whether a message is the payload of a datagram and nothing else, so that its loss is that of a
/// datagram. What makes its socket is not, and what an incarnation says neither.
pub(crate) fn may_be_lost(message: &[u8]) -> bool {
    let Some(&[kind, op, flags, a, b, c, d]) = message.first_chunk::<HEADER>() else { return false };
    let is_datagram = op == DATAGRAM && matches!(kind & 0xf, CALL | UPDATE);
    is_datagram && flags & (CREATE | CHILD) == 0 && [a, b, c, d] != [0; 4]
}

/// The last message of each lane, as far as it is not done.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    last: HashMap<Lane, u64>,
    alone: Option<u64>,
}

/// Lanes that may be kept beyond those that are needed.
const IDLE: usize = 256;

impl Lanes {
    /// The messages that `message` has to stay behind, as distances; 0 is all. All before `done`
    /// are with the other side.
    pub(crate) fn behind(&mut self, message: u64, place: Place, done: u64) -> Vec<u64> {
        let Place::Lanes { joins, behind } = place else {
            self.last.clear();
            self.alone = Some(message);
            return vec![0];
        };
        // Where nothing is under way, `done` is the next after this one.
        if self.last.len() > IDLE && self.last.len() as u64 > 4 * message.saturating_sub(done) {
            self.last.retain(|_, last| *last >= done);
        }
        let is_new = joins.iter().any(|lane| self.last.get(lane).is_none_or(|last| *last < done));
        // It may be the first by number of what was spoken of by incarnation until now.
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
        Ancillary, Body, Call, CloseState, Control, Create, Family, Fault, Half, Kind, Operation, Update,
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
        let create = Some(Create { family: Family::V4, kind: Kind::Stream });
        let operation = Operation::Bind(([127, 0, 0, 1], 80).into());
        Message { target, body: Body::Request { xid: Xid(1), create, operation } }.encode()
    }

    fn data(target: Target) -> Vec<u8> {
        Message::update(target, Update::Data(vec![1])).encode()
    }

    /// The messages that each of these has to stay behind, by their places in the list.
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

    /// Sockets do not wait for each other, and a socket's messages keep their order.
    #[test]
    fn sockets_do_not_wait_for_each_other() {
        let messages = [write(socket(1)), write(socket(2)), write(socket(1)), data(socket(2))];
        assert_eq!(behind(&messages), [vec![], vec![], vec![0], vec![1]]);
    }

    /// What was said of a connection by its listener's number comes before what is said by its own;
    /// at either side.
    #[test]
    fn a_connection_gets_its_number() {
        let accepted = call(socket(1), Call::Accepted { incarnation: Incarnation(5), socket: RsockId(7) });
        let messages = [write(socket(3)), accepted, write(socket(7)), write(socket(1)), write(socket(7))];
        assert_eq!(behind(&messages), [vec![], vec![], vec![1], vec![1], vec![2]]);
        let messages = [data(child(1)), data(child(2)), data(socket(7)), data(socket(7)), data(socket(1))];
        assert_eq!(behind(&messages), [vec![], vec![0], vec![1], vec![2], vec![0]]);
    }

    /// An address that was given up can be taken by the next socket.
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

    /// Datagrams do not wait for each other, but for their socket; those whose address is the
    /// socket's stay in order.
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
        let create = Some(Create { family: Family::V4, kind: Kind::Datagram });
        let first = Body::Call {
            create,
            consumed: 0,
            call: Call::Datagram { to: Some(from), ancillary: Ancillary::none(), bytes: vec![1] },
        };
        let first = Message { target: socket(3), body: first }.encode();
        assert_eq!(behind(&[first, to(Some(from)), close(socket(3))]), [vec![], vec![0], vec![0]]);
    }

    /// C91: what may be lost, from the octets and from what they say; and nothing but datagrams of
    /// the socket, of which what follows is told in its place, stays behind it.
    #[test]
    fn what_may_be_lost() {
        let from = ([127, 0, 0, 1], 53).into();
        let datagram = |create, to| {
            let call = Call::Datagram { to, ancillary: Ancillary::none(), bytes: vec![1] };
            Message { target: socket(3), body: Body::Call { create, consumed: 7, call } }
        };
        let create = Some(Create { family: Family::V4, kind: Kind::Datagram });
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

    /// What is about the client as a whole is behind everything, and everything that follows behind
    /// it.
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

    /// What has arrived with all before it need not be stayed behind, and is forgotten.
    #[test]
    fn what_is_done_is_forgotten() {
        let mut lanes = Lanes::default();
        for number in 0..10_000 {
            let place = Place::of(&write(socket(number as u32 + 1)));
            assert_eq!(lanes.behind(number, place, number), Vec::<u64>::new());
        }
        assert!(lanes.last.len() <= 2 * IDLE, "{}", lanes.last.len());
    }

    /// Sockets that came and went are forgotten, also if each message is with the other side before
    /// the next is handed over.
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
