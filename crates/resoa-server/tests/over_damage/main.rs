//! The tests of `sockets` once more, over the Link Layer Protocol on a wire that loses, repeats and delays datagrams.

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
#[expect(dead_code, reason = "here its faults stay as they are")]
#[path = "../../../resoa-carrier/tests/conformance/wire.rs"]
mod wire;
