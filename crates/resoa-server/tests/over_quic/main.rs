//! The tests of `sockets` once more, over QUIC.

mod carried;
#[path = "../sockets/closing.rs"]
mod closing;
#[path = "../sockets/listening.rs"]
mod listening;
#[path = "../sockets/rig.rs"]
mod rig;
#[path = "../sockets/transfer.rs"]
mod transfer;
#[path = "../sockets/window.rs"]
mod window;
