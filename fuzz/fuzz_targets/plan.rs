//! Any text at all can be read as a plan, or is refused with a message; what was read has cells that can be built.
#![no_main]

use experiment::plan::Plan;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // Profiles by path would be read from this machine.
    if text.contains('/') || text.contains(".toml") {
        return;
    }
    match Plan::parse("fuzz.toml", text) {
        Ok(plan) => assert!(plan.cells().iter().all(|cell| plan.experiment(cell, 0, 0).is_ok())),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
