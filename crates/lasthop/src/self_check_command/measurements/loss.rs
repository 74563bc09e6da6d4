//! Packets that do not come, and packets that come twice.

use super::super::Bench;
use super::super::flow::{Flow, Flown};
use super::super::row::{Accepted, Row, Unit};
use super::super::sojourns::sojourns;
use super::super::statistics::{Estimate, independent_looks, share, wilson};
use super::super::watch::Look;
use crate::link_command::Failure;
use link::Direction;
use link::spec::StageSpec;
use link::stage::duplicate::DuplicateSpec;
use link::stage::errors::{ErrorSpec, Form, ProcessSpec, Sojourn, Start, TwoState};
use link::units::{Probability, Span};

/// Mean sojourn times of the two-state channel.
const GOOD: Span = Span::from_millis(200);
const BAD: Span = Span::from_millis(30);

/// Each packet by itself.
pub fn independent(bench: &mut Bench) -> Result<Vec<Row>, Failure> {
    let loss = Probability::new(0.02).ok_or("no probability")?;
    let flown = up(bench, StageSpec::Errors(ErrorSpec::new(ProcessSpec::Packets { loss })), 2000)?;
    let missing = flown.copies().iter().filter(|copies| **copies == 0).count();
    let estimate = share(missing as u64, flown.sent.len() as u64);
    Ok(vec![Row::estimated("loss of packets", Unit::Share, loss.get(), estimate, Accepted::ByInterval)])
}

/// Good and bad in time, seen by a packet every millisecond.
pub fn two_state(bench: &mut Bench) -> Result<Vec<Row>, Failure> {
    let form = Form::Sojourns { good: GOOD, bad: BAD };
    let channel = TwoState::with(form, Sojourn::Exponential, None, Start::Stationary)?;
    let spec = ErrorSpec::new(ProcessSpec::InTime { channel, errors: None });
    let flown = up(bench, StageSpec::Errors(spec), 1000)?;

    let is_bad: Vec<bool> = flown.copies().iter().map(|copies| *copies == 0).collect();
    let (Some(first), Some(last)) = (flown.sent.first(), flown.sent.last()) else {
        return Err("nothing was sent".into());
    };
    let seconds = (last - first) as f64 / 1e9;
    let seen = sojourns(&is_bad, seconds / (is_bad.len() - 1).max(1) as f64);
    let (good, bad) = (GOOD.as_secs_f64(), BAD.as_secs_f64());
    let looks = independent_looks(seconds, good, bad);
    let share = is_bad.iter().filter(|bad| **bad).count() as f64 / is_bad.len() as f64;
    let share = Estimate::new(share, |confidence| wilson(share, looks, confidence));
    let row = |quantity: &str, unit, configured, estimate| {
        Row::estimated(quantity, unit, configured, estimate, Accepted::ByInterval)
    };
    Ok(vec![
        row("share of time in the bad state", Unit::Share, bad / (good + bad), share),
        row("mean sojourn in the good state", Unit::Seconds, good, seen.good),
        row("mean sojourn in the bad state", Unit::Seconds, bad, seen.bad),
    ])
}

/// Packets that come twice; none comes more often or not at all.
pub fn duplication(bench: &mut Bench) -> Result<Vec<Row>, Failure> {
    let probability = Probability::new(0.01).ok_or("no probability")?;
    let flown = up(bench, StageSpec::Duplicate(DuplicateSpec { probability }), 2000)?;
    let copies = flown.copies();
    let count = |wanted: &dyn Fn(u32) -> bool| copies.iter().filter(|copies| wanted(**copies)).count() as u64;
    let estimate = share(count(&|copies| copies == 2), copies.len() as u64);
    Ok(vec![
        Row::estimated(
            "packets that come twice",
            Unit::Share,
            probability.get(),
            estimate,
            Accepted::ByInterval,
        ),
        Row::exact(
            "duplication, packets that come neither once nor twice",
            0,
            count(&|copies| copies == 0 || copies > 2),
        ),
    ])
}

/// Sends up through one stage.
fn up(bench: &mut Bench, stage: StageSpec, a_second: u32) -> Result<Flown, Failure> {
    let flow = Flow::paced(200, a_second, bench.length);
    let (flown, _) = bench.with_link([Some(stage), None], Look::Lateness, |link| {
        Ok(flow.run(&link.sockets(Direction::Up)?)?)
    })?;
    Ok(flown)
}
