//! Any text is parsed as a measured delay distribution or refused; a valid one can be sampled.

use link::stage::delay::{DelaySpec, Empirical, Law, Quantiles};
use link::stage::spec::FromFile;

/// One input.
pub fn run(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    let Ok(quantiles) = Quantiles::parse("fuzz", text) else { return };
    let file = FromFile::with("fuzz", quantiles);
    let spec = DelaySpec::in_order(Law::Empirical(Empirical::File { file }));
    assert!(spec.mean().is_some());
}
