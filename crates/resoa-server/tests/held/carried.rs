//! Carrier for tests with held FINs: memory, in a network namespace of the test's own with a
//! loopback interface at which FINs are held.

use netlab::{Namespace, interface, sysctl};
use resoa_server::FinHold;
use rustix::thread::UnshareFlags;
use std::cell::Cell;

#[allow(dead_code, reason = "another hold is ours")]
#[path = "../sockets/carried.rs"]
mod memory;
pub use memory::{Carried, cut, opened, pair};

thread_local! {
    static SAID: Cell<bool> = const { Cell::new(false) };
}

/// Attaches a FIN hold if this user may. Otherwise these tests are those of `sockets`, and each
/// prints that once.
pub fn hold() -> Option<FinHold> {
    if !rustix::process::geteuid().is_root() {
        if !SAID.replace(true) {
            skip::skip!("FINs are not held: eBPF programs and namespaces need root");
        }
        return None;
    }
    // SAFETY: the descriptor table stays shared, and the thread belongs to the test.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.expect("a namespace");
    let here = Namespace::current().expect("a namespace");
    interface::loopback_up(&here).expect("loopback");
    sysctl::write(&here, "net.ipv4.tcp_congestion_control", "reno").expect("every kernel has it");
    Some(FinHold::attach(&["lo"]).expect("FINs are held"))
}
