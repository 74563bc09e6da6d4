//! Any text at all can be read as a file of ERRANT, and speed tests can be drawn from.

use link::profile::Profile;
use link::profile::errant::{Log, Scenario, SpeedTests};

const PROFILE: &str = r#"
kind = "link"
title = "t"
source = "s"
[errant]
tests = "t"
operator = "universal"
country = "universal"
technology = "4g"
quality = "good"
period = "1s"
length = "10s"
"#;

/// One input.
pub fn run(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    if let Ok(log) = Log::parse("fuzz", text) {
        let _ = log.course().count();
    }
    let _ = Scenario::parse("fuzz", text).is_ok();
    if SpeedTests::parse("fuzz", text).is_ok() {
        let _ = Profile::parse("fuzz.toml", PROFILE, &mut |_| Ok(text.to_owned())).is_ok();
    }
}
