//! Any messages, in any order, at both sides.

use super::{LINK, Pair, STREAM, address};
use crate::calls::{CallId, SendFlags, SocketCall};
use crate::lhp::{DisconnectReason, Indication};
use crate::message::tests::message;
use crate::message::{Ancillary, Body, Control, Operation, Reply};
use crate::tcp::{Endpoint, TcpEvent};
use crate::{Errno, Incarnation, Message, RsockId, Target};
use proptest::prelude::*;

/// Directs a message to one of the first few sockets.
fn near(mut message: Message) -> Message {
    message.target = match message.target {
        Target::Socket(RsockId(socket)) => Target::Socket(RsockId(socket % 6)),
        Target::Child { listener, incarnation } => {
            Target::Child { listener: RsockId(listener.0 % 6), incarnation: Incarnation(incarnation.0 % 4) }
        }
    };
    message
}

fn event() -> impl Strategy<Value = TcpEvent> {
    let bytes = || prop::collection::vec(any::<u8>(), 1..5);
    prop_oneof![
        Just(TcpEvent::NotCreated),
        Just(TcpEvent::Done(Ok(Reply::Done))),
        Just(TcpEvent::Done(Ok(Reply::Local(address(1))))),
        Just(TcpEvent::Done(Ok(Reply::Connected { local: address(1), peer: address(2) }))),
        Just(TcpEvent::Done(Err(Errno::EADDRINUSE))),
        bytes().prop_map(TcpEvent::Received),
        (0..9_u32).prop_map(|ahead| TcpEvent::Urgent { ahead }),
        bytes().prop_map(|bytes| TcpEvent::Datagram {
            from: address(1),
            ancillary: Ancillary::none(),
            bytes
        }),
        (0..9_u32).prop_map(TcpEvent::Acknowledged),
        Just(TcpEvent::FinReceived),
        Just(TcpEvent::FinAcknowledged),
        Just(TcpEvent::Failed(Errno::ECONNRESET)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// C07, C18, C20, C72: both sides handle any message, and the server any event of the stack. An
    /// ERROR is never answered with an ERROR. After the link has failed, nothing is left at the
    /// server and no call waits at the client.
    #[test]
    fn any_messages_and_events(
        steps in prop::collection::vec((0..4_u8, message().prop_map(near), event(), 0..6_u64), 1..60),
    ) {
        let mut pair = Pair::new();
        pair.flows = false;
        let mut calls = 0;
        for (kind, message, event, number) in steps {
            let socket = RsockId(number as u32);
            let is_error = matches!(message.body, Body::Control(Control::Error(_)));
            let errors = |messages: &[Message]| {
                messages.iter().filter(|message| matches!(message.body, Body::Control(Control::Error(_)))).count()
            };
            match kind {
                0 => {
                    let before = errors(&pair.up);
                    pair.at_client(|client, now, out| client.message(message, now, out));
                    prop_assert!(!is_error || errors(&pair.up) == before);
                }
                1 => {
                    let before = errors(&pair.down);
                    pair.at_server(|server, now, out| server.message(LINK, message, now, out));
                    prop_assert!(!is_error || errors(&pair.down) == before);
                }
                2 => pair.at_server(|server, _, out| server.tcp(Endpoint(number), event, out)),
                _ => {
                    let _ = pair.client.socket(STREAM);
                    calls += 1;
                    let call = CallId(calls);
                    let what = match number % 4 {
                        0 => Operation::Connect(address(80)).into(),
                        1 => Operation::Listen { backlog: 2 }.into(),
                        2 => SocketCall::Send { bytes: vec![1; 5], to: None, flags: SendFlags::default() },
                        _ => SocketCall::Close { may_wait: true },
                    };
                    pair.at_client(|client, now, out| client.call(socket, call, what, now, out));
                }
            }
            pair.flows = number == 5;
            pair.exchange();
            pair.flows = false;
        }
        pair.at_server(|server, _, out| server.disconnected(LINK, out));
        prop_assert_eq!(pair.server.sockets(LINK), 0);
        let lost = Indication::Disconnected(DisconnectReason::Reset);
        pair.at_client(|client, now, out| client.indication(lost, now, out));
        prop_assert_eq!(pair.returned.len() as u64, calls);
    }
}
