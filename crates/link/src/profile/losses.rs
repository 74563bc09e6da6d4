//! Error parameters: `loss`, `burst`, `ber` and `damage`, which depend on each other.

use super::parameters::{Key, Resolve, said};
use crate::spec::{DirectionSpec, StageSpec};
use crate::stage::errors::{EffectSpec, ErrorSpec, Flip, Form, ProcessSpec, TwoState};
use crate::units::{BitErrorRatio, Probability, Span};
use std::path::Path;

/// Bit error ratio of a packet hit by `damage=flip`, unless another parameter sets it. TCP Lite's
/// range for radio is 1e-3 to 1e-6 (5.2.1). At 1e-3 a full-sized segment has about twelve wrong
/// bits.
const FLIPPED: f64 = 1e-3;

/// Puts the errors described by `all` parameters into a direction.
pub(super) fn errors(
    direction: &mut DirectionSpec,
    all: &[(Key, String)],
    resolve: &mut dyn Resolve,
) -> Result<(), String> {
    let value = |wanted| all.iter().rev().find(|(key, _)| *key == wanted).map(|(_, value)| value.as_str());
    let mut spec = match (value(Key::Loss), value(Key::Ber), value(Key::Burst)) {
        (Some(_), Some(_), _) => {
            return Err("loss and ber are two error processes: give one of them".to_owned());
        }
        (Some("none"), None, burst) => {
            if burst.is_some() || value(Key::Damage).is_some() {
                let why = "burst and damage describe losses: remove them, or loss=none";
                return Err(why.to_owned());
            }
            direction.remove("errors");
            return Ok(());
        }
        (Some(loss), None, burst) => by_loss(loss, burst, resolve)?,
        (None, Some(ber), None) => {
            let ber: BitErrorRatio = ber.parse().map_err(said)?;
            ErrorSpec {
                effect: EffectSpec::Flip(Flip::default()),
                ..ErrorSpec::new(ProcessSpec::Bits { ber })
            }
        }
        (None, Some(_), Some(_)) => {
            return Err("burst needs loss=SHARE and cannot be combined with ber".to_owned());
        }
        (None, None, Some(_)) => return Err("burst needs loss=SHARE: give both".to_owned()),
        (None, None, None) => match direction.find("errors") {
            Some(StageSpec::Errors(spec)) => spec.clone(),
            _ => {
                return Err(
                    "there are no errors that could do damage: give loss=... or ber=... as well".to_owned()
                );
            }
        },
    };
    if let Some(damage) = value(Key::Damage) {
        spec.effect = effect(damage, &spec.process)?;
    }
    direction.put(StageSpec::Errors(spec));
    Ok(())
}

/// Returns the errors of `loss`, which is a share or a loss profile.
fn by_loss(loss: &str, burst: Option<&str>, resolve: &mut dyn Resolve) -> Result<ErrorSpec, String> {
    let is_path = loss.contains('/') || Path::new(loss).extension().is_some_and(|ending| ending == "toml");
    let looks_like_a_share =
        !is_path && loss.starts_with(|first: char| first.is_ascii_digit() || first == '.' || first == '-');
    if !looks_like_a_share {
        return match burst {
            None => resolve.losses(loss),
            Some(_) => Err(format!("burst needs loss=SHARE: the loss profile {loss} has its own bursts")),
        };
    }
    let loss: Probability = loss.parse().map_err(said)?;
    let process = match burst {
        None => ProcessSpec::Packets { loss },
        Some(burst) => {
            let burst: Span = burst.parse().map_err(said)?;
            let channel = TwoState::new(Form::Bursts { loss, burst }).map_err(said)?;
            ProcessSpec::InTime { channel, errors: None }
        }
    };
    Ok(ErrorSpec::new(process))
}

fn effect(damage: &str, process: &ProcessSpec) -> Result<EffectSpec, String> {
    match damage {
        "lose" => Ok(EffectSpec::Lose),
        "checksum" => Ok(EffectSpec::SpoilChecksum),
        "flip" => {
            let ber = if process.has_bit_errors() { None } else { BitErrorRatio::new(FLIPPED) };
            Ok(EffectSpec::Flip(Flip { ber, ..Flip::default() }))
        }
        other => Err(format!("there is no damage `{other}`: use lose, checksum or flip")),
    }
}
