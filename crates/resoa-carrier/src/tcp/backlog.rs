//! A queue of bytes that wait for a socket, or for the rest of a message: appended at the end,
//! taken from the front, and rarely moved.

/// A queue of bytes; see the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    octets: Vec<u8>,
    begin: usize,
}

impl Backlog {
    pub(crate) fn waiting(&self) -> &[u8] {
        &self.octets[self.begin..]
    }

    pub(crate) fn len(&self) -> usize {
        self.octets.len() - self.begin
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the vector to which more bytes are appended.
    pub(crate) fn behind(&mut self) -> &mut Vec<u8> {
        &mut self.octets
    }

    /// Removes the first `count` bytes.
    pub(crate) fn gone(&mut self, count: usize) {
        self.begin += count;
        debug_assert!(self.begin <= self.octets.len());
        if self.begin * 2 >= self.octets.len() {
            // This moves at most as many bytes as were removed since the last time.
            self.octets.drain(..self.begin);
            self.begin = 0;
        }
    }
}
