//! The tests of `sockets` over authenticated and encrypted TCP.

/// Carrier `tcp` on the loopback interface.
mod carried {
    pub use crate::place::{Carried, cut, hold, opened};
    use resoa_protocol::lhp::Connection;

    pub fn pair() -> (Carried, Carried, Connection, Vec<u8>) {
        crate::place::pair("tcp:127.0.0.1:0", |place| place)
    }
}
#[path = "../sockets/all.rs"]
mod all;
#[path = "../sockets/place.rs"]
mod place;

use all::{guest, rig};
