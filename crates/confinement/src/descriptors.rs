//! The limit of file descriptors of a process. The server needs one for each socket of a client,
//! the agent one for each socket of a program.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;

/// Raises this process's limit of file descriptors as far as it can without privileges
/// (RLIMIT_NOFILE: the soft limit to the hard one). Returns the new limit, or `None` if there is
/// none. The usual soft limit of 1024 is meant for programs that use `select`, and this crate does
/// not.
///
/// # Errors
/// Those of the kernel; none are known.
pub fn raise_descriptor_limit() -> io::Result<Option<u64>> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    Ok(maximum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limit applies to the whole process. The lower one is in force for a moment, and is
    /// enough for tests that run in parallel.
    #[test]
    fn the_limit_is_the_highest() {
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        let lower = maximum.map_or(1000, |maximum| maximum - 1);
        setrlimit(Resource::Nofile, Rlimit { current: Some(lower), maximum }).expect("lower");
        assert_eq!(raise_descriptor_limit().expect("may be"), maximum);
        assert_eq!(getrlimit(Resource::Nofile).current, maximum);
    }
}
