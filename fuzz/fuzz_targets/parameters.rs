//! Any text is parsed as parameters or refused. Parameters apply completely or not at all, and the
//! resulting link can be built or is refused.

use link::Seed;
use link::profile::{Parameters, Resolve};
use link::spec::DirectionSpec;
use link::stage::errors::{ErrorSpec, ProcessSpec};
use link::units::Probability;
use std::io;

struct Nobody;

impl Resolve for Nobody {
    fn losses(&mut self, _: &str) -> Result<ErrorSpec, String> {
        Ok(ErrorSpec::new(ProcessSpec::Packets { loss: Probability::ONE }))
    }

    fn file(&mut self, name: &str) -> io::Result<String> {
        Ok(name.replace(';', "\n"))
    }
}

/// One input.
pub fn run(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    let Ok(parameters) = text.parse::<Parameters>() else { return };
    let _ = parameters.commands();
    let mut direction = DirectionSpec::default();
    if parameters.apply(&mut direction, &mut Nobody).is_err() {
        assert_eq!(direction, DirectionSpec::default());
        return;
    }
    let _ = direction.to_string();
    let _ = direction.build(&Seed::campaign(1)).is_ok();
}
