//! The states of senders that a run recorded, connection by connection.

use capture::senders::{LossState, Reader, SenderState};
use std::collections::BTreeMap;
use std::path::Path;

/// A state of a sender that has one of our congestion controls.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// All of it.
    pub state: SenderState,
    /// What the congestion control says.
    pub loss: LossState,
}

/// The senders with one of our congestion controls in the table of a run, by the port that they
/// send to; nothing may be missing in it.
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
