//! Conversion of a link's directions for a link layer with retransmissions.
//!
//! In each direction the queue is above the link layer. It passes the hop one packet ahead of the
//! one being sent (M15). The other stages behind the queue in the profile are below. The rate is
//! that of the hop. Error processes and outages are beneath the link layer, on the air, and hit
//! blocks or frames. The delay of a link with LLP is on the air too. RLP's circuit has a delay of
//! its own, and the link's delay is added behind it.

use super::{HopSpec, LinkSpec, MediumSpec};
use crate::spec::{BuildError, DirectionSpec, StageSpec};
use crate::stage::bottleneck::{BottleneckSpec, RateSpec};
use crate::stage::delay::{DelaySpec, Law};
use crate::stage::errors::ErrorSpec;
use crate::stage::outage::{OutagePlace, OutageSpec};
use crate::units::{BitRate, Span};
use arq::hop::{LlpHopSpec, Protocol, RlpHopSpec};
use arq::rlp::Throttle;
use arq::{ArqSpec, LlpSpec, RlpSpec};
use vocabulary::Direction;

/// Rate of user data over RLP in bit/s: 24 octets every 20 ms, 1200 octets/s (Ludwig 3.2.5).
const RLP_RATE: u64 = 9600;

impl LinkSpec {
    /// Describes a link with a link layer, from its directions `up` and `down` without one.
    ///
    /// # Errors
    /// If a direction has a stage that cannot be combined with the link layer.
    pub fn over_arq(arq: &ArqSpec, up: &DirectionSpec, down: &DirectionSpec) -> Result<Self, BuildError> {
        let split = |direction: Direction, spec: &DirectionSpec| {
            split(arq, spec).map_err(|why| BuildError {
                stage: MediumSpec::ARQ.to_owned(),
                why: format!("{direction}: {why}"),
            })
        };
        let (up, down) = (split(Direction::Up, up)?, split(Direction::Down, down)?);
        let (air_up, air_down) = (up.air, down.air);
        let protocol = match *arq {
            ArqSpec::Rlp(RlpSpec { parameters, delay, throttle }) => {
                let throttle = throttle.map(|rate| Throttle {
                    rate,
                    // Watermarks in the proportion of those for 960 octets/s.
                    low: rate / 2,
                    high: rate / 10 * 13,
                });
                let (throttle_down, throttle_up) = (throttle, throttle);
                Protocol::Rlp(RlpHopSpec { parameters, delay, throttle_down, throttle_up })
            }
            ArqSpec::Llp(LlpSpec { window, persistency, order }) => Protocol::Llp(LlpHopSpec {
                rate_up: air_up.rate,
                rate_down: air_down.rate,
                delay_up: air_up.delay,
                delay_down: air_down.delay,
                window,
                persistency,
                order,
            }),
        };
        let hop = HopSpec {
            protocol,
            errors_up: air_up.errors,
            errors_down: air_down.errors,
            outages_up: air_up.outages,
            outages_down: air_down.outages,
        };
        Ok(Self {
            above: [up.above, down.above],
            medium: MediumSpec::Arq { written: *arq, hop: Box::new(hop) },
            below: [up.below, down.below],
        })
    }
}

/// Splits a direction into the stages above a link layer, its air, and the stages below.
fn split(arq: &ArqSpec, spec: &DirectionSpec) -> Result<Split, String> {
    let mut row = spec.clone();
    let (rate, delay) = match arq {
        ArqSpec::Rlp(RlpSpec { throttle, .. }) => {
            let octets = throttle.map_or(RLP_RATE, |octets| RLP_RATE.min(u64::from(octets) * 8));
            let rate = BitRate::from_bits_per_second(octets).ok_or("throttle must be above 0")?;
            (rate, Span::ZERO)
        }
        ArqSpec::Llp(_) => {
            let wanted =
                "LLP runs at the link's rate: give this direction a constant one, such as rate=9600bit";
            let rate = spec.rate().ok_or(wanted)?;
            let delay = match spec.find("delay") {
                None => Span::ZERO,
                Some(StageSpec::Delay(DelaySpec { law: Law::Constant { delay }, .. })) => *delay,
                Some(_) => {
                    let wanted = "LLP's timers need a constant delay: give this direction one, such as delay=40ms, and no jitter";
                    return Err(wanted.to_owned());
                }
            };
            row.remove("delay");
            (rate, delay)
        }
    };
    if row.find("cellreplay").is_some() {
        return Err(
            "a CellReplay recording cannot be combined with a link layer: remove one of them".to_owned()
        );
    }
    let errors = errors(&row)?;
    row.remove("errors");
    let outages = outages(&mut row);
    let queue = row.stages.iter_mut().find_map(|(_, stage)| match stage {
        StageSpec::Bottleneck(spec) => Some(spec),
        _ => None,
    });
    match queue {
        Some(BottleneckSpec { rate: RateSpec::Mahimahi(..) | RateSpec::Theaterq(..), .. }) => {
            return Err("a rate trace cannot be combined with a link layer: remove one of them".to_owned());
        }
        Some(spec) => spec.rate = RateSpec::LinkLayer(rate),
        None => {
            let rate = RateSpec::LinkLayer(rate);
            row.put(StageSpec::Bottleneck(BottleneckSpec { rate, ..BottleneckSpec::default() }));
        }
    }
    // The queue is the last stage above.
    let queue = row.stages.iter().position(|(_, stage)| stage.kind() == "bottleneck");
    let below = DirectionSpec { stages: row.stages.split_off(queue.map_or(0, |queue| queue + 1)) };
    Ok(Split { above: row, air: Air { rate, delay, errors, outages }, below })
}

/// The parts of a direction with a link layer.
struct Split {
    above: DirectionSpec,
    air: Air,
    below: DirectionSpec,
}

/// The parameters of a direction beneath its link layer.
struct Air {
    rate: BitRate,
    delay: Span,
    errors: Option<ErrorSpec>,
    outages: Vec<(String, OutageSpec)>,
}

/// Removes the outages on the air from a row and returns them. An outage on command needs no entry,
/// because the air always accepts commands.
fn outages(row: &mut DirectionSpec) -> Vec<(String, OutageSpec)> {
    let mut outages = Vec::new();
    row.stages.retain(|(name, stage)| match stage {
        StageSpec::Outage(spec) if spec.place == OutagePlace::Air => {
            outages.extend((!spec.is_on_command()).then(|| (name.clone(), spec.clone())));
            false
        }
        _ => true,
    });
    outages
}

/// Returns the error process of a direction, if it has one.
fn errors(spec: &DirectionSpec) -> Result<Option<ErrorSpec>, String> {
    let mut all = spec.stages.iter().filter_map(|(_, stage)| match stage {
        StageSpec::Errors(errors) => Some(errors),
        _ => None,
    });
    let (errors, another) = (all.next(), all.next());
    if another.is_some() {
        return Err("two error processes: below a link layer there can be only one".to_owned());
    }
    if let Some(errors) = errors
        && (errors.only.is_some() || !errors.exempt.is_none())
    {
        let why = "the errors select packets with `only` or `exempt`, but below a link layer there are only blocks: remove these fields";
        return Err(why.to_owned());
    }
    Ok(errors.cloned())
}

#[cfg(test)]
mod tests;
