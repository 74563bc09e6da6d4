//! The tests of `sockets` once more, where the FINs of far hosts are held: nothing that a program or a far host sees is different.

mod carried;
#[path = "../sockets/closing.rs"]
mod closing;
#[path = "../sockets/guest.rs"]
mod guest;
#[path = "../sockets/listening.rs"]
mod listening;
#[path = "../sockets/rig.rs"]
mod rig;
#[path = "../sockets/transfer.rs"]
mod transfer;
#[path = "../sockets/window.rs"]
mod window;
