//! The tests of `sockets` with a confined server. The filters of system calls and of files apply to
//! the test's thread and to the threads that it starts.

#[path = "../sockets/all.rs"]
mod all;
mod carried;
#[path = "../sockets/place.rs"]
mod place;

use all::{guest, rig};
