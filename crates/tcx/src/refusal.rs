//! Why the kernel refuses programs: libbpf prints the reason, which belongs in the error.

use libbpf_rs::{ErrorKind, PrintLevel};
use std::sync::{Mutex, PoisonError};

static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Starts to collect libbpf's messages and discards earlier ones. Call it before a load, for the
/// [`Refusal`] of that load.
pub fn listen() {
    SAID.lock().unwrap_or_else(PoisonError::into_inner).clear();
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
        SAID.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    })));
}

/// Why programs could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The kernel or its verifier rejects them, with the reason.
    Load(String),
    /// This user may not load programs, with the kernel's error.
    Rights(String),
}

impl Refusal {
    /// Interprets an error of libbpf, using its messages since [`listen`].
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

/// Returns the verifier's verdict: the last line of its log before the count of instructions.
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
