//! Errors in parameters: `loss`, `burst`, `ber` and `damage`, which belong together.

use super::parameters::{Key, Resolve};
use crate::spec::{DirectionSpec, StageSpec};
use crate::stage::errors::ErrorSpec;

/// Puts the errors that `all` parameters describe together.
pub(super) fn errors(
    direction: &mut DirectionSpec,
    all: &[(Key, String)],
    resolve: &mut dyn Resolve,
) -> Result<(), String> {
    let value = |wanted| all.iter().rev().find(|(key, _)| *key == wanted).map(|(_, value)| value.as_str());
    let loss = value(Key::Loss).ok_or("give loss=... with it")?;
    if loss == "none" {
        direction.remove("errors");
        return Ok(());
    }
    let spec = match loss.parse() {
        Ok(share) => ErrorSpec::losing(share),
        Err(_) => resolve.losses(loss)?,
    };
    direction.put(StageSpec::Errors(spec));
    Ok(())
}
