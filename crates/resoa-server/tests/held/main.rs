//! The tests of `sockets` with FINs of far hosts held: programs and far hosts see no difference.

#[path = "../sockets/all.rs"]
mod all;
mod carried;

use all::{guest, rig};
