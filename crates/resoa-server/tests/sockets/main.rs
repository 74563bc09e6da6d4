//! Remote sockets from end to end: client, carrier, server and the kernel's TCP, against ordinary
//! sockets of the standard library on the loopback interface.
//!
//! A far host's calls block, so they run in a thread of their own while client and server run in
//! the test's thread. No test depends on measured times. If something does not happen within
//! [`rig::PATIENCE`], the test fails.

#[path = "all.rs"]
mod all;
mod carried;

use all::{guest, rig};
