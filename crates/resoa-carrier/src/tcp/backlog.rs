//! Octets that wait for a socket, or for the rest of what they are part of: put behind, taken from
//! before, without moving the rest each time.

/// See the [module](self).
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

    /// Where more is put.
    pub(crate) fn behind(&mut self) -> &mut Vec<u8> {
        &mut self.octets
    }

    /// The first `count` octets have gone.
    pub(crate) fn gone(&mut self, count: usize) {
        self.begin += count;
        debug_assert!(self.begin <= self.octets.len());
        if self.begin * 2 >= self.octets.len() {
            // At most as many octets are moved as have gone since the last time.
            self.octets.drain(..self.begin);
            self.begin = 0;
        }
    }
}
