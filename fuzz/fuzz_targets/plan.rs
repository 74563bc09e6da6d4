//! Any text is parsed as a plan or refused with a message. The cells of a valid plan can be built.

use experiment::plan::Plan;

/// One input.
pub fn run(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    // Skip profiles given by path, which would be read from this machine.
    if text.contains('/') || text.contains(".toml") {
        return;
    }
    match Plan::parse("fuzz.toml", text) {
        Ok(plan) => assert!(plan.cells().iter().all(|cell| plan.experiment(cell, 0, 0).is_ok())),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
