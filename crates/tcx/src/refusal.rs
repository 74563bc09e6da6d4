//! What the kernel says about programs that it refuses: libbpf prints it, and it belongs into the
//! error.

use libbpf_rs::{ErrorKind, PrintLevel};
use std::sync::{Mutex, PoisonError};

static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps from now on what libbpf would print, and forgets what it said before: for the [`Refusal`]
/// of the load that follows.
pub fn listen() {
    SAID.lock().unwrap_or_else(PoisonError::into_inner).clear();
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
        SAID.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    })));
}

/// Why programs were not loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The kernel, or its verifier, does not take them: why.
    Load(String),
    /// This user may not: the kernel's error.
    Rights(String),
}

impl Refusal {
    /// What an error of libbpf means, beside what it has said since [`listen`].
    #[must_use]
    pub fn of(error: &libbpf_rs::Error) -> Self {
        let said = SAID.lock().unwrap_or_else(PoisonError::into_inner).concat();
        match verdict(&said) {
            Some(verdict) => Self::Load(verdict),
            None if error.kind() == ErrorKind::PermissionDenied => Self::Rights(error.to_string()),
            None => Self::Load(format!("{error:#}")),
        }
    }
}

/// The verifier's verdict is the last line of its log, before the one that counts instructions.
fn verdict(said: &str) -> Option<String> {
    let program = said.lines().find_map(|line| line.strip_prefix("libbpf: prog '")?.split('\'').next())?;
    let (log, _) = said.split_once("\nprocessed ")?;
    let line = log.lines().last()?;
    Some(format!("the kernel's verifier refuses `{program}`: {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verifiers_last_word_is_found() {
        let said = "libbpf: prog 'lite_setsockopt': BPF program load failed: -EACCES\n\
            libbpf: prog 'lite_setsockopt': -- BEGIN PROG LOAD LOG --\n0: R1=ctx() R10=fp0\nR9 !read_ok\n\
            processed 2299 insns (limit 1000000)\n-- END PROG LOAD LOG --\n";
        assert_eq!(
            verdict(said).as_deref(),
            Some("the kernel's verifier refuses `lite_setsockopt`: R9 !read_ok")
        );
        assert_eq!(verdict("libbpf: failed to create map"), None);
    }
}
