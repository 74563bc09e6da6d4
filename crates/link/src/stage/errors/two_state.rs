//! Parameters of a channel with two states, in each of the common forms.
//!
//! | form | fields | meaning |
//! |---|---|---|
//! | sojourns | `good`, `bad` | mean length of a stay in each state |
//! | bursts | `loss`, `burst` | share of the bad state (in time, bytes, packets), mean stay there |
//! | transitions | `p`, `q` | probability per tick of good → bad and of bad → good |
//!
//! The forms are equivalent: `loss = bad / (good + bad) = p / (p + q)`, `burst = bad`,
//! `good = tick / p`, `bad = tick / q`. The given form is stored and the others are computed from
//! it, so that no value is rounded twice. Limiting cases are valid: a state that never ends (`inf`,
//! or a probability of 0), one that always lasts a single tick (a probability of 1), and one that
//! does not occur (a mean of 0).

use super::extent::{Extent, digits};
use crate::stage::spec::SpecError;
use crate::units::Probability;
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Distribution of the lengths of stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sojourn {
    /// Geometrically distributed over a whole number of ticks: a chain that is stepped at every
    /// tick (TL-09).
    Geometric,
    /// Exponentially distributed, without ticks (ReSoA evaluation 4.6).
    Exponential,
}

/// State of a channel at its start.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// Drawn in proportion to the mean sojourns, as if the channel had always existed.
    #[default]
    Stationary,
    /// Good.
    Good,
    /// Bad.
    Bad,
}

/// The parameters in the form in which they were given.
#[derive(Debug, Clone, Copy, PartialEq, BorshSerialize, BorshDeserialize)]
pub enum Form<U> {
    /// Mean lengths of stays.
    Sojourns {
        /// Mean stay in the good state.
        good: U,
        /// Mean stay in the bad state.
        bad: U,
    },
    /// Share of the bad state and mean length of a stay there.
    Bursts {
        /// Share of the bad state.
        loss: Probability,
        /// Mean length of a stay there.
        burst: U,
    },
    /// Probabilities per tick.
    Transitions {
        /// Good to bad.
        p: Probability,
        /// Bad to good.
        q: Probability,
    },
}

/// A two-state Markov channel that evolves in `U`: time ([`crate::units::Span`]),
/// [`crate::units::ByteCount`] or [`super::Packets`].
#[derive(Debug, Clone, Copy, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct TwoState<U> {
    form: Form<U>,
    sojourn: Sojourn,
    tick: U,
    start: Start,
}

/// The same channel in every form, for display.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Description<U> {
    /// Mean stay in the good state.
    pub good: U,
    /// Mean stay in the bad state, which is the mean burst.
    pub bad: U,
    /// Share of the bad state.
    pub loss: Probability,
    /// For geometric sojourns: the probabilities of good → bad and of bad → good at a tick, and the
    /// tick.
    pub per_tick: Option<(Probability, Probability, U)>,
    exact: (f64, f64),
}

/// Distribution of the lengths of stays in one state, in steps of a timeline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Law {
    /// The state does not occur.
    Zero,
    /// The state never ends.
    Forever,
    /// A whole number of ticks, of which each is the last with probability `leave`.
    Geometric { leave: f64, tick: u64 },
    /// Exponential.
    Exponential { mean: f64 },
}

impl<U: Extent> TwoState<U> {
    /// Creates a channel in a given form, with the default sojourns and tick of `U` and a
    /// stationary start.
    pub fn new(form: Form<U>) -> Result<Self, SpecError> {
        Self::with(form, U::SOJOURN, None, Start::Stationary)
    }

    /// Creates a channel in a given form. `tick` is that of geometric sojourns; its default is
    /// [`Extent::TICK`].
    pub fn with(form: Form<U>, sojourn: Sojourn, tick: Option<U>, start: Start) -> Result<Self, SpecError> {
        if sojourn == Sojourn::Exponential {
            if let Some(tick) = tick {
                return Err(SpecError::value(
                    "tick",
                    tick,
                    "exponential sojourns have no tick: remove it, or write sojourn = \"geometric\"",
                ));
            }
            if let Form::Transitions { p, .. } = form {
                return Err(SpecError::value(
                    "p",
                    p,
                    "p and q need a tick: with exponential sojourns give good and bad, or loss and burst",
                ));
            }
        }
        if !U::CHOICE && (sojourn != U::SOJOURN || tick.is_some_and(|tick| tick != U::from_units(U::TICK))) {
            return Err(SpecError::value(
                "evolves-in",
                "packets",
                "sojourns are geometric and a packet is a tick: leave out sojourn and tick",
            ));
        }
        let tick = tick.unwrap_or(U::from_units(U::TICK));
        // One step is the resolution of a timeline.
        if !tick.units().is_finite() || tick.units() * U::STEPS < 1.0 {
            return Err(SpecError::value("tick", tick, "must be above 0 and finite, such as 10ms"));
        }
        let channel = Self { form, sojourn, tick, start };
        channel.check()?;
        Ok(channel)
    }

    fn check(&self) -> Result<(), SpecError> {
        let (good, bad) = self.means();
        if let Form::Bursts { loss, burst } = self.form {
            if burst.units() == 0.0 && loss > Probability::ZERO {
                return Err(SpecError::value("burst", burst, "must be above 0 if loss is above 0"));
            }
            if !burst.units().is_finite() && loss < Probability::ONE {
                return Err(SpecError::value("burst", burst, "must be finite if loss is below 100%"));
            }
        }
        if good == 0.0 && bad == 0.0 {
            return Err(SpecError::value("bad", U::show(bad), "one of good and bad must be above 0"));
        }
        if good.is_infinite() && bad.is_infinite() && self.start == Start::Stationary {
            return Err(SpecError::value(
                "start",
                "stationary",
                "a channel that never changes needs start = \"good\" or \"bad\": it has no stationary distribution",
            ));
        }
        if self.sojourn == Sojourn::Geometric {
            for (field, mean) in [("good", good), ("bad", bad)] {
                // A small tolerance, because loss and burst may yield one tick by a division.
                if mean > 0.0 && mean < self.tick.units() * (1.0 - 1e-9) {
                    let value = format!("{} on average, with a tick of {}", U::show(mean), self.tick);
                    let wanted = "must be 0 or at least one tick: make it longer, the tick shorter, or write \
                                  sojourn = \"exponential\"";
                    return Err(SpecError::value(field, value, wanted));
                }
            }
        }
        Ok(())
    }

    /// Returns the given form.
    #[must_use]
    pub fn form(&self) -> Form<U> {
        self.form
    }

    /// Returns the distribution of sojourns.
    #[must_use]
    pub fn sojourn(&self) -> Sojourn {
        self.sojourn
    }

    /// Returns the tick of geometric sojourns.
    #[must_use]
    pub fn tick(&self) -> Option<U> {
        (self.sojourn == Sojourn::Geometric).then_some(self.tick)
    }

    /// Returns the state at the start.
    #[must_use]
    pub fn start(&self) -> Start {
        self.start
    }

    /// Returns the mean sojourns, good and bad, in units.
    fn means(&self) -> (f64, f64) {
        match self.form {
            Form::Sojourns { good, bad } => (good.units(), bad.units()),
            Form::Bursts { loss, .. } if loss == Probability::ONE => (0.0, f64::INFINITY),
            Form::Bursts { loss, burst } if loss == Probability::ZERO => (f64::INFINITY, burst.units()),
            Form::Bursts { loss, burst } => (burst.units() * (1.0 - loss.get()) / loss.get(), burst.units()),
            // Division by a probability of 0 correctly gives infinity.
            Form::Transitions { p, q } => (self.tick.units() / p.get(), self.tick.units() / q.get()),
        }
    }

    /// Returns the share of the bad state: mean bad / (mean good + mean bad).
    #[must_use]
    pub fn loss(&self) -> Probability {
        let share = match self.form {
            Form::Bursts { loss, .. } => loss.get(),
            Form::Transitions { p, q } if p.get() + q.get() > 0.0 => p.get() / (p.get() + q.get()),
            _ => match self.means() {
                (good, bad) if good.is_infinite() && bad.is_infinite() => {
                    f64::from(u8::from(self.start == Start::Bad))
                }
                (good, _) if good.is_infinite() => 0.0,
                (_, bad) if bad.is_infinite() => 1.0,
                (good, bad) => bad / (good + bad),
            },
        };
        Probability::new(share).unwrap_or(Probability::ONE)
    }

    /// Returns the channel in every form.
    #[must_use]
    pub fn describe(&self) -> Description<U> {
        let (good, bad) = self.means();
        Description {
            good: U::from_units(good),
            bad: U::from_units(bad),
            loss: self.loss(),
            per_tick: self.tick().map(|tick| {
                let (p, q) = self.per_tick();
                let probability = |value| Probability::new(value).unwrap_or(Probability::ONE);
                (probability(p), probability(q), tick)
            }),
            exact: (good, bad),
        }
    }

    /// Returns the probabilities of leaving the good and the bad state at a tick.
    fn per_tick(&self) -> (f64, f64) {
        if let Form::Transitions { p, q } = self.form {
            return (p.get(), q.get());
        }
        let (good, bad) = self.means();
        // A state that does not occur is left at once; one that never ends is never left.
        let leave = |mean: f64| (self.tick.units() / mean).min(1.0);
        (leave(good), leave(bad))
    }

    /// Returns the distributions of stays in the good and in the bad state.
    pub(crate) fn laws(&self) -> (Law, Law) {
        let (good, bad) = self.means();
        let (p, q) = self.per_tick();
        let law = |mean: f64, leave: f64, other: f64| {
            if mean == 0.0 {
                Law::Zero
            } else if mean.is_infinite() || other == 0.0 {
                Law::Forever
            } else if self.sojourn == Sojourn::Geometric {
                Law::Geometric { leave, tick: (self.tick.units() * U::STEPS).round() as u64 }
            } else {
                Law::Exponential { mean: mean * U::STEPS }
            }
        };
        (law(good, p, bad), law(bad, q, good))
    }
}

impl<U: Extent> fmt::Display for Description<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (good, bad) = self.exact;
        write!(f, "good {}, bad {} on average ({}", U::show(good), U::show(bad), percent(self.loss))?;
        f.write_str(" bad)")?;
        if let Some((p, q, tick)) = self.per_tick {
            write!(f, ", p {} and q {} per tick of {tick}", percent(p), percent(q))?;
        }
        Ok(())
    }
}

/// Formats a probability with four digits.
fn percent(value: Probability) -> String {
    format!("{}%", digits(value.get() * 100.0))
}
