//! An address that belongs to the client and not to the server (5.3.6). Needs root for a network
//! namespace of the test's own, which has only the loopback interface.

use crate::site::{Site, at, policy};
use confinement::{Confinement, Needs};
use netlab::{Namespace, interface};
use resoa_protocol::message::{AddressMode, Family, Operation, RsockType};
use resoa_protocol::{SocketCall, Value};
use rustix::thread::UnshareFlags;

/// C09: the server uses the address without owning it, with IPv4 sockets and with IPv6 sockets that
/// reach both.
#[test]
#[expect(unsafe_code, reason = "a thread's own namespace")]
fn the_clients_own_address() {
    if !rustix::process::geteuid().is_root() {
        skip::skip!("namespaces need root");
        return;
    }
    // SAFETY: the descriptor table stays shared, and the thread belongs to the test.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.expect("a namespace");
    interface::loopback_up(&Namespace::current().expect("a namespace")).expect("loopback");
    let mut site = Site::new(policy("[clients.a]\nkey = \"KEY1\"\nbrings = [\"203.0.113.9\"]\n"));
    // Like the command: confined to the needs of such a policy.
    let confinement = Confinement::enter_here(&Needs { foreign_addresses: true, ..Needs::default() }, true);
    assert!(confinement.expect("the kernel can").to_string().contains("CAP_NET_RAW"));
    let guest = site.registered(1, AddressMode::Brought([203, 0, 113, 9].into()));
    for (family, kind, wanted) in [
        (Family::V4, RsockType::Stream, "203.0.113.9:8080"),
        (Family::V6, RsockType::Stream, "[::ffff:203.0.113.9]:8081"),
        (Family::V4, RsockType::Datagram, "203.0.113.9:8082"),
        (Family::V6, RsockType::Datagram, "[::ffff:203.0.113.9]:8083"),
    ] {
        let socket = site.socket(guest, family, kind);
        assert_eq!(site.call(guest, socket, Operation::Bind(at(wanted))), Ok(Value::Done), "{wanted}");
        assert_eq!(site.call(guest, socket, SocketCall::LocalName), Ok(Value::Address(at(wanted))));
    }
}
