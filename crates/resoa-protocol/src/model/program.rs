//! A program at the client, which makes one call at a time, and the results that it has seen.

use crate::Errno;
use crate::calls::Value;

/// State of the program.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Program {
    doing: Doing,
    last: Option<Result<Value, Errno>>,
    /// Number of bytes written; their values are 0, 1, …
    pub(super) written: u8,
    pub(super) read: Vec<u8>,
    pub(super) eof: bool,
    pub(super) error: Option<Errno>,
    pub(super) shut: bool,
    pub(super) close: Option<Result<(), Errno>>,
    /// Whether a call has ended in a way that it should not.
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

/// Size of the buffer of a reading call.
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

    /// Returns the result of a call that no property is about.
    pub(super) fn result(&self) -> Option<&Result<Value, Errno>> {
        self.last.as_ref()
    }

    /// Processes the return of a call (I2, I4, I9).
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
            // No call was waiting, or this result does not belong to it.
            _ => self.wrong = true,
        }
    }
}
