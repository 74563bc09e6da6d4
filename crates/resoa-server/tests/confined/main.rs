//! The tests of `sockets` once more, by a server that has given up what it does not need: the filter of system calls and that of files are in force in the thread
//! of the test, and in those that it makes.

mod carried;
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
