//! The tests of `sockets` once more, by a server that has given up what it does not need: the
//! filter of system calls and that of files are in force in the thread of the test, and in those
//! that it makes.

#[path = "../sockets/all.rs"]
mod all;
mod carried;
#[path = "../sockets/place.rs"]
mod place;

use all::{guest, rig};
