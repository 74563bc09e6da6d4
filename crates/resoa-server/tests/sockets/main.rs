//! Remote sockets from end to end: client, carrier, server and the kernel's TCP, against ordinary
//! sockets of the standard library on loopback.
//!
//! A far host's calls block, so they run in a thread of their own while client and server run in
//! the test's. Nothing is measured in time; what never comes ends a test after [`rig::PATIENCE`].

#[path = "all.rs"]
mod all;
mod carried;

use all::{guest, rig};
