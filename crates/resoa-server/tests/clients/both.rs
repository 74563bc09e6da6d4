//! Remote sockets at both ends (5.3.5): each host has a server of its own, and the servers' kernels
//! are connected by a cable.
//!
//! ```text
//! client A ══ server A ── cable ── server B ══ client B
//! ```

use crate::cable::{self, Cable};
use crate::site::{Site, Turns, policy, sending};
use crate::wire::{PORT, listens, reading};
use resoa_protocol::message::{Operation, RsockType};
use resoa_protocol::{RsockId, SocketCall, Value};
use resoa_server::FinHold;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Bytes each way: more than the buffers of either server's kernel hold.
const MOST: usize = 8 << 20;
/// Number of turns in which a FIN is retransmitted more than once.
const LONG: usize = 400;

/// Creates a server at one end of the cable, which holds the FINs of the other, with one client.
fn site(own: IpAddr, device: &str) -> (Site, usize) {
    let site = Site::new(policy(&format!("address = \"{own}\"\n[clients.a]\nkey = \"KEY1\"\n")));
    let mut site = site.holding(FinHold::attach(&[device]).expect("FINs are held"));
    let guest = site.guest(1);
    (site, guest)
}

/// Data that depends on its position.
fn pattern() -> Vec<u8> {
    (0..MOST as u32).map(|at| (at % 251) as u8).collect()
}

/// Sends the pattern and reads the peer's at the same time, until all of it has arrived.
fn exchanges(site: &mut Site, guest: usize, socket: RsockId) {
    let sent = site.begin(guest, socket, sending(pattern()));
    let mut octets = Vec::new();
    while octets.len() < MOST {
        match site.call(guest, socket, reading((1 << 16).min(MOST - octets.len()))) {
            Ok(Value::Bytes(bytes)) if !bytes.is_empty() => octets.extend(bytes),
            other => panic!("{other:?} behind {} octets", octets.len()),
        }
    }
    assert!(octets == pattern());
    assert_eq!(site.until(|site| site.ended(guest, sent)), Ok(Value::Count(MOST)));
}

/// Client A: its lingering `close` returns when client B has everything, which it then flags.
fn connects(own: IpAddr, to: SocketAddr, listening: &Receiver<()>, has_closed: &AtomicBool) {
    let (mut site, guest) = site(own, "near0");
    listening.recv().expect("B listens");
    let socket = site.socket(guest, cable::family(own), RsockType::Stream);
    assert_eq!(site.call(guest, socket, Operation::Connect(to)), Ok(Value::Done));
    exchanges(&mut site, guest, socket);
    let value = [1, 300].iter().flat_map(|number: &i32| number.to_ne_bytes()).collect();
    let linger = Operation::SetOption { level: libc::SOL_SOCKET, name: libc::SO_LINGER, value };
    assert_eq!(site.call(guest, socket, linger), Ok(Value::Done));
    assert_eq!(site.call(guest, socket, reading(1)), Ok(Value::Bytes(b"n".to_vec())));
    assert_eq!(site.call(guest, socket, sending(b"precious".to_vec())), Ok(Value::Count(8)));
    assert_eq!(site.call(guest, socket, SocketCall::Close { may_wait: true }), Ok(Value::Done));
    has_closed.store(true, Ordering::SeqCst);
    site.until(|site| (site.host.sockets() == 0).then_some(()));
}

/// Client B: it receives nothing for a while, during which A's `close` must not return.
fn accepts(own: IpAddr, listening: &Sender<()>, has_closed: &AtomicBool) {
    let (mut site, guest) = site(own, "far0");
    let listener = listens(&mut site, guest, own).expect("the port is free");
    listening.send(()).expect("A waits");
    let accepted = site.call(guest, listener, SocketCall::Accept);
    let Ok(Value::Accepted { socket, .. }) = accepted else { panic!("{accepted:?}") };
    exchanges(&mut site, guest, socket);
    // Tells A to send and close now.
    assert_eq!(site.call(guest, socket, sending(b"n".to_vec())), Ok(Value::Count(1)));
    for _ in 0..LONG {
        site.host.turn(Some(std::time::Duration::from_millis(2))).expect("epoll waits");
        assert!(!has_closed.load(Ordering::SeqCst), "client B has heard nothing");
    }
    assert_eq!(site.call(guest, socket, reading(100)), Ok(Value::Bytes(b"precious".to_vec())));
    assert_eq!(site.call(guest, socket, reading(100)), Ok(Value::Bytes(Vec::new())));
    site.until(|_| has_closed.load(Ordering::SeqCst).then_some(()));
    for socket in [socket, listener] {
        assert_eq!(site.call(guest, socket, SocketCall::Close { may_wait: true }), Ok(Value::Done));
    }
    site.until(|site| (site.host.sockets() == 0).then_some(()));
}

/// C12: both ends may be remote sockets. 8 MiB arrive intact each way at the same time. A lingering
/// `close` at one client (I7) returns when the other client has everything.
#[test]
fn a_server_at_each_end() {
    for is_ipv6 in [false, true] {
        let Some(cable) = cable::lay(is_ipv6) else { return };
        let Cable { near, there, .. } = cable;
        let (says, hears) = channel();
        let has_closed = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| cable.at_the_far_host(|| accepts(there, &says, &has_closed)));
            connects(near, SocketAddr::new(there, PORT), &hears, &has_closed);
        });
    }
}
