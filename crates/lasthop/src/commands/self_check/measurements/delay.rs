//! Measures the delay in both directions, from sending to receiving at the sockets.

use super::super::Bench;
use super::super::flow::Flow;
use super::super::row::{Accepted, Row, Unit};
use super::super::statistics::quantile;
use super::super::watch::Look;
use super::{RARE_LATENESS, USUAL_LATENESS};
use crate::failure::Failure;
use link::Direction;
use link::spec::StageSpec;
use link::stage::delay::DelaySpec;
use link::units::Span;
use std::thread;

const DELAY: Span = Span::from_millis(10);

/// Measures 1000 packets per second in both directions at the same time.
pub fn measure(bench: &mut Bench) -> Result<Vec<Row>, Failure> {
    let stage = || Some(StageSpec::Delay(DelaySpec::constant(DELAY)));
    let flow = Flow::paced(200, 1000, bench.length);
    let (flown, _) = bench.with_link([stage(), stage()], Look::Lateness, |link| {
        let (up, down) = (link.sockets(Direction::Up)?, link.sockets(Direction::Down)?);
        Ok(thread::scope(|scope| {
            let up = scope.spawn(|| flow.run(&up));
            let down = flow.run(&down);
            [up.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), down]
        }))
    })?;
    let configured = DELAY.as_secs_f64();
    let mut rows = Vec::new();
    for (direction, flown) in Direction::BOTH.into_iter().zip(flown) {
        let flown = flown?;
        let delays = flown.delays();
        let Some(&least) = delays.first() else {
            return Err(format!("no packet arrived {direction}").into());
        };
        rows.push(Row::at_most_above(format!("delay {direction}, least"), configured, least, USUAL_LATENESS));
        for (name, share, above) in
            [("median", 0.5, USUAL_LATENESS), ("99th percentile", 0.99, RARE_LATENESS)]
        {
            let accepted = Accepted::Within { below: 0.0, above };
            let quantity = format!("delay {direction}, {name}");
            rows.push(Row::estimated(
                quantity,
                Unit::Seconds,
                configured,
                quantile(&delays, share),
                accepted,
            ));
        }
        rows.push(Row::exact(
            format!("delay {direction}, packets that came"),
            flown.sent.len() as u64,
            delays.len() as u64,
        ));
    }
    Ok(rows)
}
