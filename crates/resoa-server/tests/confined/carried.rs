//! Over TCP on the loopback interface, confined.

pub use crate::place::{Carried, cut};
use resoa_protocol::lhp::Connection;
use resoa_server::FinHold;
use resoa_server::confinement::{Confinement, Needs};
use std::cell::{Cell, RefCell};

thread_local! {
    static CONFINED: Cell<bool> = const { Cell::new(false) };
    /// What holds FINs for the first server of the thread: no other can be loaded once it is confined.
    static HOLD: RefCell<Option<FinHold>> = const { RefCell::new(None) };
}

/// The thread is confined from its first one on.
pub fn pair() -> (Carried, Carried, Connection, Vec<u8>) {
    let is_first = !CONFINED.replace(true);
    if is_first && rustix::process::geteuid().is_root() {
        HOLD.set(Some(FinHold::attach(&["lo"]).expect("FINs are held")));
    }
    let pair = crate::place::pair("plain:127.0.0.1:0", |place| place);
    if is_first {
        Confinement::enter_here(&Needs { fin_hold: true, ..Needs::default() }, true).expect("the kernel can");
        assert!(std::fs::read("/etc/passwd").is_err(), "it is in force");
    }
    pair
}

/// FINs are held, if this user may; by the first server.
pub fn hold() -> Option<FinHold> {
    HOLD.take()
}
