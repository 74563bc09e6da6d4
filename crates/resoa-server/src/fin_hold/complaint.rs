//! What the kernel says about programs that it refuses: libbpf prints it, and it belongs into the error.

use super::error::FinHoldError;
use libbpf_rs::{ErrorKind, PrintLevel};
use std::sync::{Mutex, PoisonError};

static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps from now on what libbpf would print, and forgets what it said before.
pub(super) fn listen() {
    SAID.lock().unwrap_or_else(PoisonError::into_inner).clear();
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
        SAID.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    })));
}

/// Why the programs were not loaded.
pub(super) fn of(error: &libbpf_rs::Error) -> FinHoldError {
    let said = SAID.lock().unwrap_or_else(PoisonError::into_inner).concat();
    match verdict(&said) {
        Some(verdict) => FinHoldError::Load(verdict),
        None if error.kind() == ErrorKind::PermissionDenied => FinHoldError::Rights(error.to_string()),
        None => FinHoldError::Load(format!("{error:#}")),
    }
}

/// The verifier's verdict is the last line of its log, before the one that counts instructions.
fn verdict(said: &str) -> Option<String> {
    let (log, _) = said.split_once("\nprocessed ")?;
    let line = log.lines().last()?;
    Some(format!("the kernel's verifier says `{line}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verifiers_last_word_is_found() {
        let said = "libbpf: prog 'hold_egress_ip': BPF program load failed: -EACCES\n\
            libbpf: prog 'hold_egress_ip': -- BEGIN PROG LOAD LOG --\n0: R1=ctx() R10=fp0\nR9 !read_ok\n\
            processed 2299 insns (limit 1000000)\n-- END PROG LOAD LOG --\n";
        assert_eq!(verdict(said).as_deref(), Some("the kernel's verifier says `R9 !read_ok`"));
        assert_eq!(verdict("libbpf: failed to create map"), None);
    }
}
