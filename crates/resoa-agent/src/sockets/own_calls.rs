//! Calls that the agent makes itself, without a waiting program.

use resoa_calls::SocketId;
use resoa_protocol::CallId;
use rustc_hash::FxHashMap;

/// Programs' calls have lower numbers.
const OWN: u64 = 1 << 61;

/// The action when a call of the agent's own returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The address for a datagram socket that has sent is known.
    Name(SocketId),
    /// A socket whose descriptors are closed can be removed.
    Close(SocketId),
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct OwnCalls {
    last: u64,
    purposes: FxHashMap<CallId, Purpose>,
}

impl OwnCalls {
    /// Returns a number for a call whose result is not needed.
    pub(super) fn next(&mut self) -> CallId {
        self.last += 1;
        CallId(OWN | self.last)
    }

    /// Returns a number for a call with an action on its return.
    pub(super) fn begin(&mut self, purpose: Purpose) -> CallId {
        let call = self.next();
        self.purposes.insert(call, purpose);
        call
    }

    pub(super) fn take(&mut self, call: CallId) -> Option<Purpose> {
        self.purposes.remove(&call)
    }
}

/// Returns whether a call is the agent's own.
pub(super) fn is_own(call: CallId) -> bool {
    call.0 & OWN != 0
}
