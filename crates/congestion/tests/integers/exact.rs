//! Exact tests where nothing is rounded: which side of a bound a value is on.

use crate::TURN;
use crate::connection::{Algorithm, Connection};
use std::ffi::CStr;
use std::sync::{MutexGuard, PoisonError};

const WIRELESS: u8 = 1;
const CONGESTION: u8 = 2;

/// Starts a connection with the default gain and quantum, and these parameters.
fn begin(
    name: &'static CStr,
    parameters: &[(&str, u32)],
) -> (MutexGuard<'static, ()>, Algorithm, Connection) {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let algorithm = Algorithm::find(name);
    for (name, value) in [("gain", 4), ("quantum_us", 0)].iter().chain(parameters) {
        algorithm.set(name, *value);
    }
    (turn, algorithm, algorithm.begin(10, 0))
}

fn verdict(algorithm: Algorithm, connection: &mut Connection, lost: u32) -> u8 {
    connection.lost_out = lost;
    algorithm.ssthresh(connection);
    connection.state.verdict
}

/// Spec 3.9.1: mean and deviation of six samples, and the thesis's 105 to 84 (section 5.3.2).
#[test]
fn vectors_of_newzag() {
    let (_turn, newzag, mut connection) = begin(c"newzag", &[("wireless_percent", 80)]);
    let wanted = [
        (53.0, 26.5),
        (53.125, 23.4375),
        (53.179_688, 20.617_188),
        (53.605_957, 18.892_578),
        (55.255_585, 19.830_261),
        (55.052_111, 17.758_427),
    ];
    for (rtt_ms, (mean, dev)) in [53, 55, 54, 60, 80, 52].into_iter().zip(wanted) {
        newzag.pkts_acked(&mut connection, rtt_ms * 1000);
        let shown = |value: u32| f64::from(value) / 256.0 / 1000.0;
        assert!((shown(connection.state.mean) - mean).abs() < 3e-6, "{connection:?}");
        assert!((shown(connection.state.dev) - dev).abs() < 3e-6, "{connection:?}");
    }
    (connection.snd_cwnd, connection.lost_out) = (105, 1);
    assert_eq!(newzag.ssthresh(&mut connection), 84);
    newzag.set_state(&mut connection, 4);
    assert_eq!(connection.snd_ssthresh, 52, "it was a timeout");
}

/// A round-trip time that equals the limit is congestion, in all versions (section 5.3.3: strict
/// inequalities).
#[test]
fn equal_is_congestion() {
    for name in [c"newzag", c"newzag_v1", c"zigzag"] {
        let (_turn, algorithm, mut connection) = begin(name, &[("wireless_percent", 80)]);
        assert_eq!(verdict(algorithm, &mut connection, 1), CONGESTION);
        assert_eq!(connection.state.reason, 2, "no sample");
        // The mean is 1000, the deviation 500.
        algorithm.pkts_acked(&mut connection, 1000);
        assert_eq!(verdict(algorithm, &mut connection, 3), CONGESTION, "{name:?}");
        assert_eq!(connection.state.limit, 1000 << 8);
        assert_eq!(verdict(algorithm, &mut connection, 4), WIRELESS, "{name:?}");
        assert_eq!(connection.state.limit, 1250 << 8);
    }
}

/// Equation 5.1 with n = 1 and T_min = 10: wireless from 20 to below 30 (mBiaz: 22.5); the upper
/// bound itself is congestion.
#[test]
fn bounds_of_biaz() {
    for (name, quarters, spans) in [
        (c"biaz", 4, [(19, CONGESTION), (20, WIRELESS), (29, WIRELESS), (30, CONGESTION)]),
        (c"mbiaz", 1, [(19, CONGESTION), (20, WIRELESS), (22, WIRELESS), (23, CONGESTION)]),
        (c"mbiaz", 2, [(19, CONGESTION), (20, WIRELESS), (24, WIRELESS), (25, CONGESTION)]),
    ] {
        for (span, wanted) in spans {
            let (_turn, algorithm, mut connection) =
                begin(name, &[("wireless_percent", 80), ("bound_quarters", quarters)]);
            for _ in 0..3 {
                connection.delivered += 1;
                connection.tcp_mstamp += 10;
                algorithm.pkts_acked(&mut connection, 500);
            }
            assert_eq!(connection.state.least, 10 << 8);
            connection.delivered += 1;
            connection.sacked_out = 1;
            connection.tcp_mstamp += span;
            algorithm.pkts_acked(&mut connection, 500);
            assert_eq!(
                (connection.state.span, connection.state.spanned),
                (u32::try_from(span).expect("small"), 1)
            );
            assert_eq!(verdict(algorithm, &mut connection, 1), wanted, "{name:?}, {quarters}: {span}");
        }
    }
}

/// AMB-N5, and the thesis's lower bound: a local reduction is congestion whatever the detector
/// says, and no threshold is below 2.
#[test]
fn local_reductions_take_the_verdict_back() {
    let (_turn, newzag, mut connection) = begin(c"newzag", &[("wireless_percent", 80)]);
    newzag.pkts_acked(&mut connection, 1000);
    assert_eq!(verdict(newzag, &mut connection, 9), WIRELESS);
    newzag.set_state(&mut connection, 2);
    let state = connection.state;
    assert_eq!((state.verdict, state.reason, state.local, state.events), (CONGESTION, 4, 1, 0));
    assert_eq!(connection.snd_ssthresh, 5);
    connection.snd_cwnd = 3;
    assert_eq!(newzag.ssthresh(&mut connection), 2);
    newzag.set_state(&mut connection, 3);
    assert_eq!((connection.state.events, connection.state.wireless), (1, 1));
}

/// The mean reaches the samples, even with the smallest gain. With 8 binary places it would stop
/// half a microsecond short.
#[test]
fn the_mean_comes_to_the_samples() {
    let (_turn, newreno, mut connection) = begin(c"newreno", &[("gain", 8)]);
    for rtt in std::iter::once(1000).chain(std::iter::repeat_n(2000, 5000)) {
        newreno.pkts_acked(&mut connection, rtt);
    }
    assert_eq!(connection.state.mean, 2000 << 8);
    assert_eq!(connection.state.dev, 0);
}
