//! Whose TCP and UDP a socket uses.

/// The stack of a socket's other half.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Stack {
    /// The server's, across the last hop.
    Remote,
    /// This host's own, for [destinations that are local](crate::local).
    Local,
}
