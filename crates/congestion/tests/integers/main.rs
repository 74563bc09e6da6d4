//! Compares the C side of the congestion controls, in user space, with the pure crate
//! `loss-differentiation` and with models written from the formulas, on random connections.
//! Statistics must agree within the stated rounding; verdicts, thresholds, windows and counters
//! must be equal.
//!
//! `CC_CASES` is the number of connections (default 25 000, of 100 steps each).
//! `scripts/check/mutate-cc` shows that the test detects small changes on either side.

mod connection;
mod exact;
mod model;
mod stream;

use connection::{Algorithm, Connection};
use model::Model;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ffi::CStr;
use std::sync::{Mutex, PoisonError};
use stream::{Path, segments};

const STEPS: usize = 100;
const NAMES: [&CStr; 10] = [
    c"newzag",
    c"newzag_v1",
    c"zigzag",
    c"biaz",
    c"mbiaz",
    c"spike",
    c"veno",
    c"newreno",
    c"westwood",
    c"vegas",
];

/// Totals over all connections.
#[derive(Debug, Default)]
pub struct Seen {
    samples: u64,
    judged: u64,
    wireless: u64,
    /// Number of verdicts that differ within the stated rounding.
    near: u64,
    rounds: u64,
}

/// Parameters of the C side are global, so tests take turns.
static TURN: Mutex<()> = Mutex::new(());

#[test]
fn the_integers_are_the_formulas() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let cases: u64 = std::env::var("CC_CASES").map_or(25_000, |text| text.parse().expect("a number"));
    let mut seen = Seen::default();
    for case in 0..cases {
        let name = NAMES[(case % 10) as usize];
        // Names the case if it fails.
        let at = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| one(name, case, &mut seen)));
        if let Err(panic) = at {
            println!("case {case} ({}) differs", name.to_string_lossy());
            std::panic::resume_unwind(panic);
        }
    }
    println!("{seen:?}");
    // Scaled to the number of connections.
    assert!(seen.samples * 4 > cases * 100 && seen.judged > cases && seen.wireless * 20 > seen.judged);
    assert!(seen.near * 1000 < seen.judged, "verdicts that differ by rounding are rare: {seen:?}");
}

fn one(name: &'static CStr, case: u64, seen: &mut Seen) {
    let mut random = ChaCha8Rng::seed_from_u64(case);
    let algorithm = Algorithm::find(name);
    let random_window = random.random_range(1..200);
    let next = random.random();
    let mut model =
        Model::new(name.to_str().expect("ASCII"), &mut random, |name, value| algorithm.set(name, value));
    let mut connection = algorithm.begin(random_window, next);
    model.began(&connection);
    connection.delivered = random.random();
    connection.tcp_mstamp = random.random_range(1..1 << 40);
    connection.snd_nxt = next.wrapping_add(1000);
    if random.random_ratio(1, 8) {
        connection.snd_cwnd_clamp = random.random_range(2..300);
    }
    let mut path = Path::new(&mut random);
    for _ in 0..STEPS {
        match random.random_range(0..20) {
            0 => path = Path::new(&mut random),
            1..=3 => lose(algorithm, &mut connection, &mut model, &mut random, seen),
            4 => {
                connection.prior_cwnd = random.random_range(1..500);
                let most = connection.snd_cwnd.max(connection.prior_cwnd);
                assert_eq!(algorithm.undo_cwnd(&mut connection), most);
            }
            _ => acknowledge(algorithm, &mut connection, &mut model, &mut path, &mut random, seen),
        }
    }
}

/// Processes an acknowledgement, which may grow the window.
fn acknowledge(
    algorithm: Algorithm,
    connection: &mut Connection,
    model: &mut Model,
    path: &mut Path,
    random: &mut ChaCha8Rng,
    seen: &mut Seen,
) {
    connection.tcp_mstamp += path.gap(random);
    let acked = segments(random, 2000);
    connection.delivered = connection.delivered.wrapping_add(acked);
    connection.snd_una = connection.snd_una.wrapping_add(acked * 100);
    if (connection.snd_nxt.wrapping_sub(connection.snd_una)).cast_signed() < 0 || random.random_ratio(1, 3) {
        connection.snd_nxt = connection.snd_una.wrapping_add(random.random_range(0..2000));
    }
    connection.sacked_out = if random.random_ratio(1, 4) { random.random_range(1..20) } else { 0 };
    let rtt = path.rtt(random);
    let before = *connection;
    algorithm.pkts_acked(connection, rtt);
    seen.samples += u64::from(rtt > 0);
    seen.rounds += u64::from(model.acknowledged(&before, connection, rtt));
    if random.random_ratio(3, 4) {
        connection.is_cwnd_limited = u32::from(random.random_ratio(3, 4));
        connection.max_packets_out = random.random_range(0..connection.snd_cwnd.saturating_add(2));
        if random.random_ratio(1, 30) {
            connection.snd_cwnd_cnt = random.random_range(0..1000);
        }
        let before = *connection;
        algorithm.cong_avoid(connection, acked);
        model.grew(&before, connection, acked);
    }
    // Bounds the window.
    connection.snd_cwnd = connection.snd_cwnd.min(5000);
}

/// Reduces the window, or times out without that; then enters a state as the kernel does.
fn lose(
    algorithm: Algorithm,
    connection: &mut Connection,
    model: &mut Model,
    random: &mut ChaCha8Rng,
    seen: &mut Seen,
) {
    connection.lost_out = match random.random_range(0..10) {
        0 => 0,
        1 => random.random_range(0..100_000),
        _ => random.random_range(1..7),
    };
    let is_asked = random.random_ratio(9, 10);
    if is_asked {
        let before = *connection;
        let threshold = algorithm.ssthresh(connection);
        assert!(threshold >= 2 && threshold <= before.snd_cwnd.max(2));
        model.judged(&before, connection, threshold, seen);
        connection.snd_ssthresh = threshold;
    }
    if random.random_ratio(1, 4) {
        connection.lost_out = random.random_range(0..80_000);
    }
    let state = [3, 3, 3, 3, 4, 4, 2, 2, 1, 0][random.random_range(0..10)];
    let before = *connection;
    algorithm.set_state(connection, state);
    model.settled(&before, connection, state);
    if state == 4 {
        connection.snd_cwnd = 1;
        connection.snd_cwnd_cnt = 0;
    } else {
        connection.snd_cwnd = connection.snd_ssthresh.clamp(1, 5000);
    }
    let is_complete = random.random_ratio(1, 2);
    let before = *connection;
    algorithm.cwnd_event(connection, is_complete);
    model.completed(&before, connection, is_complete);
    if state != 0 && random.random_ratio(2, 3) {
        let before = *connection;
        algorithm.set_state(connection, 0);
        model.settled(&before, connection, 0);
    }
}
