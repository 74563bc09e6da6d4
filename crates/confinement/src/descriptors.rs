//! How many descriptors a process may have: at the server each socket of a client is one, at the
//! agent each of a program.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;

/// Raises this process's limit of descriptors to the highest that it may have without privileges
/// (RLIMIT_NOFILE: the soft limit to the hard one); how many that are, or `None` if there is no
/// limit. The usual soft limit of 1024 is for programs that use `select`, which this crate does
/// not.
///
/// # Errors
/// The kernel's; none are known.
pub fn raise_descriptor_limit() -> io::Result<Option<u64>> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    Ok(maximum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limit is the process's. What is lower for a moment is enough for the tests beside this
    /// one.
    #[test]
    fn the_limit_is_the_highest() {
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        let lower = maximum.map_or(1000, |maximum| maximum - 1);
        setrlimit(Resource::Nofile, Rlimit { current: Some(lower), maximum }).expect("lower");
        assert_eq!(raise_descriptor_limit().expect("may be"), maximum);
        assert_eq!(getrlimit(Resource::Nofile).current, maximum);
    }
}
