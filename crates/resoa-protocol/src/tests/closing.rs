//! `shutdown` and `close`: the requests to the server's TCP, and when the call returns.

use super::{Pair, bytes};
use crate::calls::{CallId, SocketCall, Value};
use crate::client::Client;
use crate::message::{Half, Operation, Reply};
use crate::server::{Addresses, ServerSettings};
use crate::settings::{LingerPolicy, Settings};
use crate::tcp::{TcpAction, TcpEvent};
use crate::{Errno, RsockId};
use std::time::Duration;

const SO_LINGER: i32 = 13;

fn close(pair: &mut Pair, socket: RsockId) -> CallId {
    pair.begin(socket, SocketCall::Close { may_wait: true })
}

fn policy(linger: LingerPolicy) -> Pair {
    let server =
        ServerSettings { send_space: 2, ..ServerSettings::new(Addresses::shared(super::address(0).ip())) };
    Pair::with(Settings { linger, ..Settings::default() }, server)
}

/// C52: without data on the way, `close` is one message, and FIN.
#[test]
fn empty_buffers_end_by_fin() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    let call = close(&mut pair, socket);
    assert_eq!(pair.ended(call), Some(Ok(Value::Done)));
    assert_eq!((pair.asked(), pair.messages), (vec![TcpAction::ShutdownWrite], [1, 0]));
    assert_eq!((pair.client.sockets(), pair.server.sockets(super::LINK)), (0, 1));
    pair.event(1, TcpEvent::FinAcknowledged);
    assert_eq!((pair.asked(), pair.messages), (vec![TcpAction::Close], [1, 0]));
    assert_eq!(pair.server.sockets(super::LINK), 0);
}

/// C37, C52: `close` of a connecting socket leaves its end to the stack. Only the stack knows
/// whether there is a connection that FIN must end. SO_LINGER of 0 requests RST.
#[test]
fn connecting_sockets_are_closed_by_the_stack() {
    for (linger, end) in
        [(None, TcpAction::Close), (Some([1, 0]), TcpAction::Abort), (Some([1, 7]), TcpAction::Close)]
    {
        let mut pair = Pair::new();
        let socket = pair.socket(super::STREAM);
        if let Some(linger) = linger {
            assert_eq!(pair.set(socket, SO_LINGER, &linger), Ok(Value::Done));
        }
        pair.begin(socket, Operation::Connect(super::address(80)));
        pair.stack.clear();
        let call = close(&mut pair, socket);
        assert_eq!(pair.ended(call), Some(Ok(Value::Done)), "{linger:?}");
        assert_eq!((pair.asked(), pair.server.sockets(super::LINK)), (vec![end], 0), "{linger:?}");
    }
}

/// The same if the server already knows of the connection, and the client does not.
#[test]
fn connections_that_the_client_has_not_heard_of_end_by_fin() {
    let mut pair = Pair::new();
    let socket = pair.socket(super::STREAM);
    pair.begin(socket, Operation::Connect(super::address(80)));
    pair.flows = false;
    pair.done(1, Ok(Reply::Connected { local: super::address(40_000), peer: super::address(80) }));
    pair.stack.clear();
    let call = close(&mut pair, socket);
    assert_eq!(pair.ended(call), Some(Ok(Value::Done)));
    pair.flows = true;
    pair.exchange();
    assert_eq!((pair.asked(), pair.client.sockets()), (vec![TcpAction::ShutdownWrite], 0));
    pair.event(1, TcpEvent::FinAcknowledged);
    assert_eq!((pair.asked(), pair.server.sockets(super::LINK)), (vec![TcpAction::Close], 0));
}

/// C51, A7: RST if data was not read, at the client or on its way there.
#[test]
fn unread_octets_end_by_rst() {
    for on_the_way in [false, true] {
        let mut pair = Pair::new();
        let socket = pair.connected();
        pair.flows = !on_the_way;
        pair.event(1, TcpEvent::Received(b"x".to_vec()));
        let call = close(&mut pair, socket);
        assert_eq!(pair.ended(call), Some(Ok(Value::Done)));
        pair.flows = true;
        pair.exchange();
        assert_eq!((pair.asked(), pair.server.sockets(super::LINK)), (vec![TcpAction::Abort], 0));
    }
}

/// C51: a lingering `close` does not wait for a connection that it resets.
#[test]
fn linger_does_not_wait_for_rst() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    assert_eq!(pair.set(socket, SO_LINGER, &[1, 7]), Ok(Value::Done));
    pair.event(1, TcpEvent::Received(b"x".to_vec()));
    pair.flows = false;
    let call = close(&mut pair, socket);
    assert_eq!(pair.ended(call), Some(Ok(Value::Done)));
    pair.flows = true;
    pair.exchange();
    assert_eq!(pair.asked(), [TcpAction::Abort]);
}

/// C58: a client that still sends its remaining data has everything before the far host's FIN, and
/// reports so.
#[test]
fn fin_while_the_rest_is_sent() {
    let mut pair = policy(LingerPolicy::Linux);
    let socket = pair.connected();
    pair.send(socket, b"abcd");
    close(&mut pair, socket);
    pair.stack.clear();
    pair.event(1, TcpEvent::FinReceived);
    assert_eq!((pair.asked(), pair.client.sockets()), (vec![TcpAction::ReleaseFin], 1));
}

/// C53, C79: written data is still sent after `close` has returned, and then the second CLOSE.
#[test]
fn what_was_written_is_still_sent() {
    let mut pair = policy(LingerPolicy::Linux);
    let socket = pair.connected();
    pair.send(socket, b"abcd");
    pair.stack.clear();
    let call = close(&mut pair, socket);
    assert_eq!(pair.ended(call), Some(Ok(Value::Done)));
    assert_eq!((pair.asked(), pair.client.sockets()), (vec![], 1));
    pair.event(1, TcpEvent::Acknowledged(2));
    let rest = TcpAction::Send { bytes: b"cd".to_vec(), urgent: false };
    assert_eq!((pair.asked(), pair.client.sockets()), (vec![rest, TcpAction::ShutdownWrite], 0));
}

/// C54: data for a socket that only sends its remaining data is answered with RST, and the client
/// is told.
#[test]
fn octets_after_close_are_reset() {
    let mut pair = policy(LingerPolicy::Linux);
    let socket = pair.connected();
    pair.send(socket, b"abcd");
    close(&mut pair, socket);
    pair.stack.clear();
    pair.event(1, TcpEvent::Received(b"x".to_vec()));
    assert_eq!((pair.asked(), pair.client.sockets()), (vec![TcpAction::Abort], 0));
    assert_eq!(pair.server.sockets(super::LINK), 0);
}

/// C55: a lingering `close` returns when the FIN is acknowledged, and not before.
#[test]
fn linger_waits_for_the_far_host() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    assert_eq!(pair.set(socket, SO_LINGER, &[1, 7]), Ok(Value::Done));
    pair.send(socket, b"ab");
    let call = close(&mut pair, socket);
    pair.event(1, TcpEvent::Acknowledged(2));
    assert_eq!(pair.ended(call), None);
    pair.event(1, TcpEvent::FinAcknowledged);
    assert_eq!((pair.ended(call), pair.client.sockets()), (Some(Ok(Value::Done)), 0));
}

/// C56, A5: on Linux, a lingering `close` returns 0 when its time is over or a signal arrives, and
/// delivery goes on. With BSD's policy it fails, and the remaining data is discarded.
#[test]
fn linger_that_takes_too_long() {
    for (linger, by_signal) in
        [(LingerPolicy::Linux, false), (LingerPolicy::Linux, true), (LingerPolicy::Bsd, false)]
    {
        let mut pair = policy(linger);
        let socket = pair.connected();
        assert_eq!(pair.set(socket, SO_LINGER, &[1, 7]), Ok(Value::Done));
        pair.send(socket, b"abcd");
        let call = close(&mut pair, socket);
        pair.stack.clear();
        assert_eq!(pair.client.deadline(), Some(Duration::from_secs(7)));
        if by_signal {
            pair.at_client(|client, now, out| client.interrupt(socket, call, now, out));
        } else {
            pair.now += Duration::from_secs(7);
            pair.at_client(Client::expire);
        }
        if linger == LingerPolicy::Linux {
            assert_eq!((pair.ended(call), pair.client.sockets()), (Some(Ok(Value::Done)), 1));
            pair.event(1, TcpEvent::Acknowledged(2));
            let rest = TcpAction::Send { bytes: b"cd".to_vec(), urgent: false };
            assert_eq!(pair.asked(), [rest, TcpAction::ShutdownWrite]);
        } else {
            assert_eq!(pair.ended(call), Some(Err(Errno::EAGAIN)));
            assert_eq!((pair.asked(), pair.client.sockets()), (vec![TcpAction::Abort], 0));
        }
    }
}

/// C39: SO_LINGER of 0 means RST. At the exit of a process, `close` does not wait.
#[test]
fn linger_of_no_time_and_at_exit() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    assert_eq!(pair.set(socket, SO_LINGER, &[1, 0]), Ok(Value::Done));
    let call = close(&mut pair, socket);
    assert_eq!((pair.ended(call), pair.asked()), (Some(Ok(Value::Done)), vec![TcpAction::Abort]));
    let mut pair = Pair::new();
    let socket = pair.connected();
    assert_eq!(pair.set(socket, SO_LINGER, &[1, 7]), Ok(Value::Done));
    assert_eq!(pair.call(socket, SocketCall::Close { may_wait: false }), Ok(Value::Done));
}

/// C58, C59: the far host's FIN is acknowledged when the client has everything before it, and not
/// before.
#[test]
fn fin_is_acknowledged_when_delivered() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    pair.flows = false;
    pair.event(1, TcpEvent::Received(b"ab".to_vec()));
    pair.event(1, TcpEvent::FinReceived);
    assert_eq!(pair.asked(), []);
    pair.flows = true;
    pair.exchange();
    assert_eq!(pair.asked(), [TcpAction::ReleaseFin]);
    assert_eq!((pair.read(socket, 9), pair.read(socket, 9)), (bytes(b"ab"), bytes(&[])));
    // C63: the other half is still open.
    let call = pair.send(socket, b"x");
    assert_eq!(pair.ended(call), Some(Ok(Value::Count(1))));
}

/// C58, A18: data that waits at the server precedes the end of the stream, and the FIN is held
/// until then. An error is reported after that data, too (A14).
#[test]
fn the_end_is_behind_what_waits_at_the_server() {
    for fails in [false, true] {
        let settings = Settings { receive_buffer: 2, report_after: 1, ..Settings::default() };
        let mut pair = Pair::with(settings, ServerSettings::new(Addresses::shared(super::address(0).ip())));
        let socket = pair.connected();
        pair.event(1, TcpEvent::Received(b"abc".to_vec()));
        let end = if fails { TcpEvent::Failed(Errno::ETIMEDOUT) } else { TcpEvent::FinReceived };
        pair.event(1, end);
        assert_eq!(pair.asked(), []);
        assert_eq!(pair.client.holds(socket), Some(if fails { (3, true) } else { (2, false) }));
        let read = [pair.read(socket, 2), pair.read(socket, 2), pair.read(socket, 2)];
        let end = if fails { Err(Errno::ETIMEDOUT) } else { bytes(b"") };
        assert_eq!(read, [bytes(b"ab"), bytes(b"c"), end]);
        assert_eq!(pair.asked().contains(&TcpAction::ReleaseFin), !fails);
    }
}

/// C67: our own FIN waits while the far host's is held.
#[test]
fn our_fin_waits_for_theirs() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    assert_eq!(pair.call(socket, SocketCall::Shutdown(Half::Write)), Ok(Value::Done));
    assert_eq!(pair.asked(), [TcpAction::ShutdownWrite]);
    let mut pair = Pair::new();
    let socket = pair.connected();
    pair.flows = false;
    pair.event(1, TcpEvent::FinReceived);
    assert_eq!(pair.call(socket, SocketCall::Shutdown(Half::Write)), Ok(Value::Done));
    let shutdown = pair.up.remove(0);
    pair.at_server(|server, now, out| server.message(super::LINK, shutdown, now, out));
    assert_eq!(pair.asked(), []);
    pair.flows = true;
    pair.exchange();
    assert_eq!(pair.asked(), [TcpAction::ReleaseFin, TcpAction::ShutdownWrite]);
}

/// C62: after our own FIN, the far host's is still held until it is delivered. If nobody reads any
/// more, it is not held.
#[test]
fn their_fin_after_ours() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    assert_eq!(pair.call(socket, SocketCall::Shutdown(Half::Write)), Ok(Value::Done));
    pair.event(1, TcpEvent::FinAcknowledged);
    pair.stack.clear();
    pair.flows = false;
    pair.event(1, TcpEvent::FinReceived);
    assert_eq!(pair.asked(), []);
    pair.flows = true;
    pair.exchange();
    assert_eq!(pair.asked(), [TcpAction::ReleaseFin]);
    let mut pair = Pair::new();
    let socket = pair.connected();
    close(&mut pair, socket);
    pair.stack.clear();
    pair.event(1, TcpEvent::FinReceived);
    assert_eq!(pair.asked(), [TcpAction::ReleaseFin]);
}

/// C64, A6: only the client shuts down the reading half. Data that arrives can still be read, and
/// then the stream ends.
#[test]
fn shutdown_of_the_reading_half() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    assert_eq!(pair.call(socket, SocketCall::Shutdown(Half::Read)), Ok(Value::Done));
    assert_eq!((pair.asked(), pair.messages[0]), (vec![], 0));
    pair.event(1, TcpEvent::Received(b"x".to_vec()));
    assert_eq!((pair.read(socket, 9), pair.read(socket, 9)), (bytes(b"x"), bytes(&[])));
}

/// C54, C64: when both halves are shut down, in any order, data that arrives is answered with RST,
/// as by Linux. This takes a message of its own only if the writing half was shut down first.
#[test]
fn octets_after_both_halves_were_shut() {
    for (halves, messages) in
        [(&[Half::Both][..], 1), (&[Half::Read, Half::Write], 1), (&[Half::Write, Half::Read], 2)]
    {
        let mut pair = Pair::new();
        let socket = pair.connected();
        for &half in halves {
            assert_eq!(pair.call(socket, SocketCall::Shutdown(half)), Ok(Value::Done));
        }
        assert_eq!((pair.asked(), pair.messages[0]), (vec![TcpAction::ShutdownWrite], messages));
        pair.event(1, TcpEvent::FinAcknowledged);
        pair.event(1, TcpEvent::Received(b"x".to_vec()));
        assert_eq!(pair.asked(), [TcpAction::Abort], "{halves:?}");
        assert_eq!(pair.get(socket, 4), Errno::ECONNRESET.linux(), "SO_ERROR");
        // TCP_INFO, which only TCP knows. A request for it once made the program wait for ever.
        let info = Operation::GetOption { level: 6, name: 11, length: 8 };
        assert_eq!(pair.call(socket, info), Err(Errno::EINVAL));
        close(&mut pair, socket);
        assert_eq!((pair.client.sockets(), pair.server.sockets(super::LINK)), (0, 0));
        assert_eq!(pair.asked(), [], "TCP has nothing of it any more");
    }
    // Also while remaining data is still to be sent, which is discarded.
    let mut pair = policy(LingerPolicy::Linux);
    let socket = pair.connected();
    pair.send(socket, b"abcd");
    assert_eq!(pair.call(socket, SocketCall::Shutdown(Half::Both)), Ok(Value::Done));
    pair.stack.clear();
    pair.event(1, TcpEvent::Received(b"x".to_vec()));
    assert_eq!(pair.asked(), [TcpAction::Abort]);
    pair.at_server(|server, _, out| server.disconnected(super::LINK, out));
    assert_eq!((pair.asked(), pair.server.sockets(super::LINK)), (vec![], 0));
}

/// C63: writing after `shutdown` is EPIPE, and a second `shutdown` succeeds.
#[test]
fn shutdown_of_the_writing_half() {
    let mut pair = policy(LingerPolicy::Linux);
    let socket = pair.connected();
    pair.send(socket, b"abcd");
    for _ in 0..2 {
        assert_eq!(pair.call(socket, SocketCall::Shutdown(Half::Both)), Ok(Value::Done));
    }
    let call = pair.send(socket, b"x");
    assert_eq!(pair.ended(call), Some(Err(Errno::EPIPE)));
    pair.stack.clear();
    pair.event(1, TcpEvent::Acknowledged(2));
    let rest = TcpAction::Send { bytes: b"cd".to_vec(), urgent: false };
    assert_eq!(pair.asked(), [rest, TcpAction::ShutdownWrite]);
}

/// `shutdown` of any half during `connect` ends the attempt. A waiting call returns ECONNRESET, and
/// messages that the server has sent meanwhile are not taken for those of a later attempt.
#[test]
fn shutdown_while_connecting() {
    for (half, is_waiting, has_connected) in
        [(Half::Read, true, false), (Half::Write, false, true), (Half::Both, false, false)]
    {
        let mut pair = Pair::new();
        let socket = pair.socket(super::STREAM);
        assert_eq!(pair.call(socket, SocketCall::SetNonblocking(!is_waiting)), Ok(Value::Done));
        let connect = pair.begin(socket, Operation::Connect(super::address(80)));
        assert_eq!(pair.ended(connect).is_none(), is_waiting);
        pair.stack.clear();
        pair.flows = !has_connected;
        if has_connected {
            pair.done(1, Ok(Reply::Connected { local: super::address(1), peer: super::address(80) }));
            pair.event(1, TcpEvent::Received(b"late".to_vec()));
        }
        assert_eq!(pair.call(socket, SocketCall::Shutdown(half)), Ok(Value::Done));
        pair.flows = true;
        pair.exchange();
        assert_eq!((pair.asked(), pair.server.sockets(super::LINK)), (vec![TcpAction::Abort], 0));
        if is_waiting {
            assert_eq!(pair.ended(connect), Some(Err(Errno::ECONNRESET)));
        } else {
            assert_eq!(pair.get(socket, 4), Errno::ECONNRESET.linux(), "SO_ERROR");
        }
        assert_eq!(pair.read(socket, 9), bytes(&[]));
        assert_eq!(pair.call(socket, Operation::Connect(super::address(80))), Err(Errno::ECONNABORTED));
        assert_eq!(pair.call(socket, SocketCall::Shutdown(half)), Err(Errno::ENOTCONN));
        pair.messages = [0; 2];
        close(&mut pair, socket);
        assert_eq!((pair.client.sockets(), pair.messages), (0, [0; 2]));
    }
}

/// C37: a connection that the program no longer wants is not left half open.
#[test]
fn close_while_connecting() {
    let mut pair = Pair::new();
    let socket = pair.socket(super::STREAM);
    let waits = pair.begin(socket, Operation::Connect(super::address(80)));
    pair.stack.clear();
    close(&mut pair, socket);
    assert_eq!(pair.ended(waits), Some(Err(Errno::EBADF)));
    assert_eq!((pair.asked(), pair.server.sockets(super::LINK)), (vec![TcpAction::Close], 0));
}
