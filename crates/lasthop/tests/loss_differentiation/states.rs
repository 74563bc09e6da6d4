//! Recorded states of the senders of a run, by connection.

use capture::senders::{LossState, Reader, SenderState};
use std::collections::BTreeMap;
use std::path::Path;

/// A state of a sender with one of lasthop's congestion controls.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The whole state.
    pub state: SenderState,
    /// The part of the congestion control.
    pub loss: LossState,
}

/// Returns the senders with one of lasthop's congestion controls in the table of a run, by
/// destination port. The table must be complete.
pub fn senders(table: &Path) -> BTreeMap<u16, Vec<Row>> {
    let reader = Reader::open(table).expect("a table of senders");
    assert_eq!((reader.lost(), reader.tail()), (0, "complete"));
    let mut senders: BTreeMap<u16, Vec<Row>> = BTreeMap::new();
    for state in reader.map(|state| state.expect("a state")) {
        if let Some(loss) = state.loss {
            senders.entry(state.remote.port()).or_default().push(Row { state, loss });
        }
    }
    senders
}
