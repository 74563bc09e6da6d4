//! The tests of `sockets` over the Link Layer Protocol on a link that loses, duplicates and delays
//! datagrams.

/// Carrier `udp` on the loopback interface, over a link that damages the traffic.
mod carried {
    pub use crate::place::{Carried, cut, hold, opened};
    use resoa_protocol::lhp::Connection;

    pub fn pair() -> (Carried, Carried, Connection, Vec<u8>) {
        crate::place::pair("udp:127.0.0.1:0", crate::damage::wire_to)
    }
}
#[path = "../sockets/all.rs"]
mod all;
#[path = "../sockets/damage.rs"]
mod damage;
#[path = "../sockets/place.rs"]
mod place;
#[expect(dead_code, reason = "here its faults stay as they are")]
#[path = "../../../resoa-carrier/tests/conformance/wire.rs"]
mod wire;

use all::{guest, rig};
