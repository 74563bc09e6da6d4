//! A program at the client with one call at a time, and what it has seen.

use crate::Errno;
use crate::calls::Value;

/// What it is doing, and what it knows.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Program {
    doing: Doing,
    last: Option<Result<Value, Errno>>,
    /// Octets written: 0, 1, …
    pub(super) written: u8,
    pub(super) read: Vec<u8>,
    pub(super) eof: bool,
    pub(super) error: Option<Errno>,
    pub(super) shut: bool,
    pub(super) close: Option<Result<(), Errno>>,
    /// How its calls should not end.
    pub(super) wrong: bool,
}

/// The call that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) enum Doing {
    #[default]
    Nothing,
    Something,
    Write,
    Read,
    Shut,
    Close,
}

/// Room that a reading call has.
pub(super) const READ: usize = 2;

impl Program {
    pub(super) fn begin(&mut self) {
        self.start(Doing::Something);
    }

    pub(super) fn start(&mut self, doing: Doing) {
        self.doing = doing;
        self.last = None;
    }

    pub(super) fn doing(&self) -> Doing {
        self.doing
    }

    pub(super) fn is_free(&self) -> bool {
        self.doing == Doing::Nothing
    }

    pub(super) fn is_closing(&self) -> bool {
        self.doing == Doing::Close || self.close.is_some()
    }

    /// Of a call that is for no property.
    pub(super) fn result(&self) -> Option<&Result<Value, Errno>> {
        self.last.as_ref()
    }

    /// The call has returned (I2, I4, I9).
    pub(super) fn returned(&mut self, result: Result<Value, Errno>) {
        match (std::mem::take(&mut self.doing), result) {
            (Doing::Something, result) => self.last = Some(result),
            (Doing::Write, Ok(Value::Count(1))) => self.written += 1,
            (Doing::Read, Ok(Value::Bytes(bytes))) => {
                self.wrong |= bytes.len() > READ || (self.eof && !bytes.is_empty());
                self.eof |= bytes.is_empty();
                self.read.extend(bytes);
            }
            (Doing::Shut, Ok(Value::Done)) => self.shut = true,
            (Doing::Close, result) => self.close = Some(result.map(drop)),
            (Doing::Write | Doing::Read | Doing::Shut, Err(error)) => {
                let is_known = matches!(error, Errno::ECONNRESET | Errno::EPIPE | Errno::ENOTCONN);
                self.wrong |= !is_known;
                self.error = Some(error);
            }
            // Nothing was called, or something else.
            _ => self.wrong = true,
        }
    }
}
