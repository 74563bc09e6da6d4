//! What a [`LastHop`] needs beyond its primitives to be driven by a loop: something to wait for, and a way to ask what has happened.

use resoa_protocol::lhp::{Connection, Indication, LastHop};
use rustix::fd::BorrowedFd;

/// A carrier that a loop can wait for.
pub trait Carrier: LastHop {
    /// Readable whenever [`poll`](Self::poll) has something to tell.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// What has happened since this was last asked, in order. Does not block.
    fn poll(&mut self, happened: &mut Vec<(Connection, Indication)>);
}
