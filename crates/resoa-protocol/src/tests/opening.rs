//! Calls that connect and send at once (MSG_FASTOPEN; connect mode 2 of 10.2.2).

use super::{LINK, Pair, STREAM, address, execute};
use crate::calls::{CallId, SocketCall, Value};
use crate::message::{Operation, Reply};
use crate::tcp::{TcpAction, TcpEvent};
use crate::{Errno, RsockId};

const DATA: &[u8] = b"a request";

fn begin(pair: &mut Pair, socket: RsockId) -> CallId {
    pair.begin(socket, SocketCall::Open { peer: address(80), bytes: DATA.to_vec() })
}

fn connected() -> Reply {
    Reply::Connected { local: address(40_000), peer: address(80) }
}

fn sends() -> TcpAction {
    TcpAction::Send { bytes: DATA.to_vec(), urgent: false }
}

/// M7: the data crosses the last hop without waiting for the answer. The stack gets it once it is
/// connected, and the call returns then (I12).
#[test]
fn data_goes_along_with_the_request_to_connect() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    let call = begin(&mut pair, socket);
    assert_eq!((pair.ended(call), pair.messages), (None, [2, 0]));
    assert_eq!(pair.asked()[1..], [execute(Operation::Connect(address(80)))], "I1: no data yet");
    pair.done(1, Ok(connected()));
    assert_eq!(pair.asked(), [sends()]);
    assert_eq!(pair.ended(call), Some(Ok(Value::Count(DATA.len()))));
    assert_eq!(pair.messages, [2, 1]);
    // Further data follows it.
    let call = pair.send(socket, b"more");
    assert_eq!(pair.ended(call), Some(Ok(Value::Count(4))));
    assert_eq!(pair.asked(), [TcpAction::Send { bytes: b"more".to_vec(), urgent: false }]);
    // The stack's acknowledgement frees the room of both.
    pair.event(1, TcpEvent::Acknowledged(DATA.len() as u32 + 4));
}

/// A refused attempt takes its data with it, on both sides: the next one sends its own.
#[test]
fn data_of_an_attempt_that_is_refused() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    let call = begin(&mut pair, socket);
    pair.done(1, Err(Errno::ECONNREFUSED));
    assert_eq!(pair.ended(call), Some(Err(Errno::ECONNREFUSED)));
    pair.stack.clear();
    let call = begin(&mut pair, socket);
    assert_eq!(pair.asked(), [execute(Operation::Connect(address(80)))]);
    pair.done(1, Ok(connected()));
    assert_eq!((pair.ended(call), pair.asked()), (Some(Ok(Value::Count(DATA.len()))), vec![sends()]));
}

/// The stack may refuse before the data has crossed the hop. The server drops it then, and the
/// socket stays as good as new.
#[test]
fn data_that_comes_after_the_refusal() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    pair.flows = false;
    let call = begin(&mut pair, socket);
    let [connect, data] = std::mem::take(&mut pair.up).try_into().expect("two messages");
    let deliver = |pair: &mut Pair, message| {
        pair.at_server(|server, now, out| server.message(LINK, message, now, out));
    };
    deliver(&mut pair, connect);
    pair.done(1, Err(Errno::ECONNREFUSED));
    pair.stack.clear();
    deliver(&mut pair, data);
    assert_eq!(pair.asked(), []);
    pair.flows = true;
    pair.exchange();
    assert_eq!(pair.ended(call), Some(Err(Errno::ECONNREFUSED)));
    let call = begin(&mut pair, socket);
    pair.done(1, Ok(connected()));
    assert_eq!(pair.ended(call), Some(Ok(Value::Count(DATA.len()))));
}

/// As natively with a cookie, data that was sent is counted, although the connection is not there
/// yet.
#[test]
fn a_wait_that_is_cut_short() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    let call = begin(&mut pair, socket);
    pair.at_client(|client, now, out| client.interrupt(socket, call, now, out));
    assert_eq!(pair.ended(call), Some(Ok(Value::Count(DATA.len()))));
    // A second call has no part in the first one's data.
    let again = begin(&mut pair, socket);
    pair.stack.clear();
    pair.done(1, Ok(connected()));
    assert_eq!((pair.ended(again), pair.asked()), (Some(Ok(Value::Done)), vec![sends()]));
}

/// Behind a request that is not answered yet, the data waits for the answer to the one to connect:
/// the server would not know what it belongs to.
#[test]
fn data_behind_another_request() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    let information = Operation::GetOption { level: 6, name: 11, length: 8 };
    pair.begin(socket, information.clone());
    let call = begin(&mut pair, socket);
    assert_eq!(pair.asked()[1..], [execute(information)]);
    pair.done(1, Ok(Reply::Value(vec![0; 8])));
    assert_eq!(pair.asked(), [execute(Operation::Connect(address(80)))]);
    pair.done(1, Ok(connected()));
    assert_eq!((pair.ended(call), pair.asked()), (Some(Ok(Value::Count(DATA.len()))), vec![sends()]));
}

/// A program that closes while it connects takes its data back, unless the stack has it already.
#[test]
fn close_before_the_answer() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    begin(&mut pair, socket);
    pair.stack.clear();
    assert_eq!(pair.call(socket, SocketCall::Close { may_wait: true }), Ok(Value::Done));
    assert_eq!(pair.asked(), [TcpAction::Close]);
}
