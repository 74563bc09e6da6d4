//! Any text at all can be read as a plan, or is refused with a message; what was read has cells
//! that can be built.

use experiment::plan::Plan;

/// One input.
pub fn run(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    // Profiles by path would be read from this machine.
    if text.contains('/') || text.contains(".toml") {
        return;
    }
    match Plan::parse("fuzz.toml", text) {
        Ok(plan) => assert!(plan.cells().iter().all(|cell| plan.experiment(cell, 0, 0).is_ok())),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
