//! Any text at all can be read as a measured distribution of delays, and drawn from if it is one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use link::stage::delay::{DelaySpec, Empirical, Law, Quantiles};
use link::stage::spec::FromFile;

fuzz_target!(|text: &str| {
    let Ok(quantiles) = Quantiles::parse("fuzz", text) else { return };
    let file = FromFile::with("fuzz", quantiles);
    let spec = DelaySpec { law: Law::Empirical(Empirical::File { file }), reorder: false };
    assert!(spec.mean().is_some());
});
