//! The tests of `sockets` once more, over the baseline carrier.

/// `plain` on the loopback interface.
mod carried {
    pub use crate::place::{Carried, cut, hold, opened};
    use resoa_protocol::lhp::Connection;

    pub fn pair() -> (Carried, Carried, Connection, Vec<u8>) {
        crate::place::pair("plain:127.0.0.1:0", |place| place)
    }
}
#[path = "../sockets/closing.rs"]
mod closing;
#[path = "../sockets/guest.rs"]
mod guest;
#[path = "../sockets/listening.rs"]
mod listening;
#[path = "../sockets/place.rs"]
mod place;
#[path = "../sockets/rig.rs"]
mod rig;
#[path = "../sockets/transfer.rs"]
mod transfer;
#[path = "../sockets/window.rs"]
mod window;
