//! Carrier for the confined tests: TCP on the loopback interface.

pub use crate::place::{Carried, cut};
use confinement::{Confinement, Needs};
use resoa_protocol::lhp::Connection;
use resoa_server::FinHold;
use std::cell::Cell;

thread_local! {
    static CONFINED: Cell<bool> = const { Cell::new(false) };
}

pub fn pair() -> (Carried, Carried, Connection, Vec<u8>) {
    crate::place::pair("plain:127.0.0.1:0", |place| place)
}

/// Attaches a FIN hold for the first server of the thread, if this user may. Once the thread is
/// confined, no program can be loaded.
pub fn hold() -> Option<FinHold> {
    let may = !CONFINED.get() && rustix::process::geteuid().is_root();
    may.then(|| FinHold::attach(&["lo"]).expect("FINs are held"))
}

/// Confines the thread after its first server was created.
pub fn opened() {
    if !CONFINED.replace(true) {
        Confinement::enter_here(&Needs { fin_hold: true, ..Needs::default() }, true).expect("the kernel can");
        assert!(std::fs::read("/etc/passwd").is_err(), "it is in force");
    }
}
