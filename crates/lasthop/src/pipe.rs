//! Broken pipes on standard output: `lasthop ... | head` is not a failure.

use crate::failure::Failure;
use std::io;

/// Returns whether `failure` means that the reader of standard output has gone.
pub fn is_broken(failure: &Failure) -> bool {
    let broken = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    failure.downcast_ref::<io::Error>().is_some_and(broken)
        || failure
            .downcast_ref::<csv::Error>()
            .is_some_and(|error| matches!(error.kind(), csv::ErrorKind::Io(error) if broken(error)))
}

/// Returns the exit status: 0 also if the reader stopped before the end.
pub fn status(done: Result<(), Failure>) -> Result<i32, Failure> {
    match done {
        Err(failure) if is_broken(&failure) => Ok(0),
        done => done.map(|()| 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_broken_pipe_is_no_failure() {
        let io = |kind| io::Error::from(kind);
        assert!(matches!(status(Err(io(io::ErrorKind::BrokenPipe).into())), Ok(0)));
        assert!(matches!(status(Err(csv::Error::from(io(io::ErrorKind::BrokenPipe)).into())), Ok(0)));
        assert!(status(Err(io(io::ErrorKind::StorageFull).into())).is_err());
        assert!(status(Err("broken pipe".into())).is_err());
    }
}
