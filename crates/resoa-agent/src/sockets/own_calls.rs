//! Calls that the agent makes itself, on behalf of no program that waits.

use resoa_calls::SocketId;
use resoa_protocol::CallId;
use rustc_hash::FxHashMap;

/// Programs' calls have lower numbers.
const OWN: u64 = 1 << 61;

/// What has to be done when a call of the agent's own returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The address for a datagram socket that has sent something is there.
    Name(SocketId),
    /// A socket whose descriptors are gone is gone as well.
    Close(SocketId),
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct OwnCalls {
    last: u64,
    purposes: FxHashMap<CallId, Purpose>,
}

impl OwnCalls {
    /// Numbers a call whose result is of no interest.
    pub(super) fn next(&mut self) -> CallId {
        self.last += 1;
        CallId(OWN | self.last)
    }

    /// Numbers a call of which something comes.
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
