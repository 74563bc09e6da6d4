//! One datagram from several sends (MSG_MORE, UDP_CORK).

use super::datagrams::beside;
use super::{DATAGRAM, Pair, STREAM, address};
use crate::Errno;
use crate::calls::{DatagramPart, Value};
use crate::message::{Ancillary, Operation};
use crate::server::{Addresses, ServerSettings};
use crate::settings::Settings;
use crate::tcp::{TcpAction, TcpEvent};

/// C91: parts with MSG_MORE leave as one datagram, with the destination and the control messages of
/// the first one. So do parts under UDP_CORK.
#[test]
fn datagrams_of_several_parts() {
    let mut pair = Pair::new();
    let socket = pair.client.socket(DATAGRAM).expect("registered");
    let give = |pair: &mut Pair, to: Option<u16>, kind: u8, bytes: &[u8], more: bool| {
        let (to, mut given) = (to.map(address), Ok(()));
        let part = DatagramPart { to, ancillary: beside(kind, 1), bytes: bytes.to_vec(), more };
        pair.at_client(|client, now, out| given = client.give_datagram(socket, part, false, now, out));
        let begun = pair.client.stream(socket).expect("it is open").begun;
        (given, begun)
    };
    let sent = |pair: &mut Pair| -> Vec<_> {
        let sent = pair.asked().into_iter().filter_map(|action| match action {
            TcpAction::SendTo { to, ancillary, bytes } => Some((to, ancillary, bytes)),
            _ => None,
        });
        sent.collect()
    };
    assert_eq!(give(&mut pair, Some(9), 1, b"one ", true), (Ok(()), true));
    assert_eq!(give(&mut pair, Some(8), 2, b"two ", true), (Ok(()), true));
    assert_eq!(sent(&mut pair), []);
    assert_eq!(give(&mut pair, None, 3, b"three", false), (Ok(()), false));
    assert_eq!(sent(&mut pair), [(Some(address(9)), beside(1, 1), b"one two three".to_vec())]);
    assert_eq!(give(&mut pair, None, 3, b"x", false), (Err(Errno::EDESTADDRREQ), false));
    // A datagram that gets too long is lost with the parts before it.
    assert_eq!(give(&mut pair, Some(9), 1, &vec![0; 65_507], true), (Ok(()), true));
    assert_eq!(give(&mut pair, Some(9), 1, b"x", true), (Err(Errno::EMSGSIZE), false));
    assert_eq!(sent(&mut pair), []);

    let cork = |on: i32| Operation::SetOption { level: 17, name: 1, value: on.to_ne_bytes().to_vec() };
    let is_corked = Operation::GetOption { level: 17, name: 1, length: 4 };
    assert_eq!(pair.call(socket, cork(7)), Ok(Value::Done));
    assert_eq!(pair.call(socket, is_corked.clone()), Ok(Value::Option(1_i32.to_ne_bytes().to_vec())));
    assert_eq!(give(&mut pair, Some(9), 1, b"ab", false), (Ok(()), true));
    assert_eq!(give(&mut pair, Some(9), 1, b"cd", false), (Ok(()), true));
    // An error of an earlier datagram does not affect it.
    pair.event(1, TcpEvent::Failed(Errno::ECONNREFUSED));
    assert_eq!(sent(&mut pair), []);
    assert_eq!(pair.call(socket, cork(0)), Ok(Value::Done));
    assert_eq!(sent(&mut pair), [(Some(address(9)), beside(1, 1), b"abcd".to_vec())]);
    assert_eq!(pair.call(socket, is_corked), Ok(Value::Option(0_i32.to_ne_bytes().to_vec())));
    let stream = pair.socket(STREAM);
    // A stream has no such option, as its server reports.
    let call = pair.begin(stream, cork(1));
    assert_eq!(pair.ended(call), None);
}

/// C91: parts need no room, because together they are at most one datagram. The last one does.
#[test]
fn parts_without_room() {
    let settings = Settings { send_buffer: 10, ..Settings::default() };
    let mut pair = Pair::with(settings, ServerSettings::new(Addresses::shared(address(0).ip())));
    let socket = pair.client.socket(DATAGRAM).expect("registered");
    pair.flows = false;
    let mut give = |bytes: &[u8], more: bool, is_last: bool| {
        let mut given = Ok(());
        let part =
            DatagramPart { to: Some(address(9)), ancillary: Ancillary::none(), bytes: bytes.to_vec(), more };
        pair.at_client(|client, now, out| given = client.give_datagram(socket, part, is_last, now, out));
        (given, pair.client.stream(socket).expect("it is open").begun)
    };
    assert_eq!(give(&[1; 20], false, false), (Ok(()), false));
    assert_eq!(give(&[2; 20], true, false), (Ok(()), true));
    assert_eq!(give(&[3; 20], false, false), (Err(Errno::EAGAIN), false));
    // The last datagrams of a program that has closed are sent all the same.
    assert_eq!(give(&[3; 20], false, true), (Ok(()), false));
    // What UDP_CORK has held back needs no room either.
    assert_eq!(give(&[4; 20], true, false), (Ok(()), true));
    let off = Operation::SetOption { level: 17, name: 1, value: vec![0; 4] };
    assert_eq!(pair.call(socket, off), Ok(Value::Done));
    assert!(!pair.client.stream(socket).expect("it is open").begun);
    pair.flows = true;
    pair.exchange();
    let sent = pair.asked().into_iter().filter(|action| matches!(action, TcpAction::SendTo { .. }));
    assert_eq!(sent.count(), 2);
}
