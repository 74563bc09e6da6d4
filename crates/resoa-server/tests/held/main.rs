//! The tests of `sockets` once more, where the FINs of far hosts are held: nothing that a program
//! or a far host sees is different.

#[path = "../sockets/all.rs"]
mod all;
mod carried;

use all::{guest, rig};
