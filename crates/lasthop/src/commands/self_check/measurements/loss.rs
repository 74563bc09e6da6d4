//! Measures lost packets and duplicated packets.

use super::super::Bench;
use super::super::flow::{Flow, Flown};
use super::super::row::{Accepted, Row, Unit};
use super::super::sojourns::sojourns;
use super::super::statistics::{Estimate, independent_looks, share, wilson};
use super::super::watch::Look;
use crate::failure::Failure;
use link::Direction;
use link::spec::StageSpec;
use link::stage::duplicate::DuplicateSpec;
use link::stage::errors::{ErrorSpec, Form, ProcessSpec, Sojourn, Start, TwoState};
use link::units::{Probability, Span};

/// Mean sojourn times of the two-state channel.
const GOOD: Span = Span::from_millis(200);
const BAD: Span = Span::from_millis(30);

/// Measures independent losses.
pub fn independent(bench: &mut Bench) -> Result<Vec<Row>, Failure> {
    let loss = Probability::new(0.02).ok_or("no probability")?;
    let flown = up(bench, StageSpec::Errors(ErrorSpec::new(ProcessSpec::Packets { loss })), 2000)?;
    let missing = flown.copies().iter().filter(|copies| **copies == 0).count();
    let estimate = share(missing as u64, flown.sent.len() as u64);
    Ok(vec![Row::estimated("loss of packets", Unit::Share, loss.get(), estimate, Accepted::ByInterval)])
}

/// Measures a two-state channel with a packet every millisecond.
pub fn two_state(bench: &mut Bench) -> Result<Vec<Row>, Failure> {
    let flown = up(bench, two_state_stage()?, 1000)?;
    let is_bad: Vec<bool> = flown.copies().iter().map(|copies| *copies == 0).collect();
    let (Some(first), Some(last)) = (flown.sent.first(), flown.sent.last()) else {
        return Err("nothing was sent".into());
    };
    Ok(two_state_rows(&is_bad, (last - first) as f64 / 1e9))
}

fn two_state_stage() -> Result<StageSpec, Failure> {
    let form = Form::Sojourns { good: GOOD, bad: BAD };
    let channel = TwoState::with(form, Sojourn::Exponential, None, Start::Stationary)?;
    Ok(StageSpec::Errors(ErrorSpec::new(ProcessSpec::InTime { channel, errors: None })))
}

/// Returns the rows for packets sent evenly over `seconds`; `is_bad` is true for each lost packet.
fn two_state_rows(is_bad: &[bool], seconds: f64) -> Vec<Row> {
    let (good, bad) = (GOOD.as_secs_f64(), BAD.as_secs_f64());
    let seen = sojourns(is_bad, seconds / (is_bad.len() - 1).max(1) as f64);
    let looks = independent_looks(seconds, good, bad);
    let share = is_bad.iter().filter(|bad| **bad).count() as f64 / is_bad.len() as f64;
    let share = Estimate::new(share, |confidence| wilson(share, looks, confidence));
    let row = |quantity: &str, unit, configured, estimate| {
        Row::estimated(quantity, unit, configured, estimate, Accepted::ByInterval)
    };
    vec![
        row("share of time in the bad state", Unit::Share, bad / (good + bad), share),
        row("mean sojourn in the good state", Unit::Seconds, good, seen.good),
        row("mean sojourn in the bad state", Unit::Seconds, bad, seen.bad),
    ]
}

/// Measures duplication: packets arrive once or twice, never more often and never not at all.
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

/// Sends packets up through one stage.
fn up(bench: &mut Bench, stage: StageSpec, a_second: u32) -> Result<Flown, Failure> {
    let flow = Flow::paced(200, a_second, bench.length);
    let (flown, _) = bench.with_link([Some(stage), None], Look::Lateness, |link| {
        Ok(flow.run(&link.sockets(Direction::Up)?)?)
    })?;
    Ok(flown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::spec::DirectionSpec;
    use link::units::Time;
    use link::{Packet, Seed, Sink};
    use packet::{Frame, Layer};

    /// Records for each packet whether it was lost.
    #[derive(Default)]
    struct Fates(Vec<bool>);

    impl Sink for Fates {
        fn delivered(&mut self, _: Packet) {
            self.0.push(false);
        }

        fn lost(&mut self, _: Packet) {
            self.0.push(true);
        }
    }

    #[test]
    fn intervals_hold_what_was_configured_as_often_as_they_say() {
        // 1000 links for 5 s each, without a kernel.
        let links = 1000;
        let mut held = [[0; 2]; 3];
        let mut lost = 0;
        for number in 0..links {
            let mut direction = DirectionSpec::default();
            direction.put(two_state_stage().expect("a channel"));
            let seed = Seed::campaign(1).run(number).link("coverage").direction(Direction::Up);
            let mut pipeline = direction.build(&seed).expect("a pipeline");
            let mut fates = Fates::default();
            for millisecond in 0..5000 {
                let frame = Frame::owned(Layer::Ip, Vec::new());
                pipeline.accept(frame, Time::ZERO + Span::from_millis(millisecond), &mut fates);
            }
            lost += fates.0.iter().filter(|lost| **lost).count();
            for (held, row) in held.iter_mut().zip(two_state_rows(&fates.0, 4.999)) {
                let [shown, judged] = row.intervals.expect("intervals");
                held[0] += u32::from(shown.holds(row.configured));
                held[1] += u32::from(judged.holds(row.configured));
            }
        }
        // The standard deviation of the share, sqrt(π_g π_b 2 τ / T), is 0.11 % for 5000 s; the
        // limit is four of them.
        let share = lost as f64 / 5e6;
        assert!((share - 30.0 / 230.0).abs() < 0.0044, "{share}");
        for [shown, judged] in held {
            assert!(shown >= 925 && judged >= 992, "{held:?}");
        }
    }
}
