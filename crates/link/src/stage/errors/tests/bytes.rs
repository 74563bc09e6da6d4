//! M13: a channel that evolves in bytes, compared with Table D.1 of the ReSoA evaluation.

use super::*;
use crate::stage::errors::timeline::Timeline;
use crate::units::ByteCount;

/// Mean bytes good, mean bytes bad, and share of packets of 1000 bytes that are hit.
const TABLE_D1: [(u64, u64, f64); 25] = [
    (100, 100, 1.000),
    (100, 1_000, 1.000),
    (100, 10_000, 1.000),
    (100, 100_000, 1.000),
    (100, 1_000_000, 1.000),
    (1_000, 100, 0.666),
    (1_000, 1_000, 0.816),
    (1_000, 10_000, 0.967),
    (1_000, 100_000, 0.996),
    (1_000, 1_000_000, 1.000),
    (10_000, 100, 0.104),
    (10_000, 1_000, 0.177),
    (10_000, 10_000, 0.548),
    (10_000, 100_000, 0.918),
    (10_000, 1_000_000, 0.991),
    (100_000, 100, 0.011),
    (100_000, 1_000, 0.020),
    (100_000, 10_000, 0.100),
    (100_000, 100_000, 0.505),
    (100_000, 1_000_000, 0.910),
    (1_000_000, 100, 0.001),
    (1_000_000, 1_000, 0.002),
    (1_000_000, 10_000, 0.011),
    (1_000_000, 100_000, 0.092),
    (1_000_000, 1_000_000, 0.500),
];

#[test]
fn m13_all_rows_of_table_d1() {
    for (good, bad, expected) in TABLE_D1 {
        let (tg, tb) = (good as f64, bad as f64);
        let formula = 1.0 - tg / (tg + tb) * (-1000.0 / tg).exp();
        assert!((formula - expected).abs() < 6e-4, "the table's own figure");
        // 8000 cycles: five standard deviations of the worst row are within 0.02.
        let count = ((tg + tb) / 1000.0 * 8000.0).max(100_000.0) as u64;
        let mut stage =
            losing(&format!("{{ good = \"{good}B\", bad = \"{bad}B\", evolves-in = \"bytes\" }}"), 1)
                .of_length(1000);
        // Time does not matter.
        let hits = (0..count).filter(|_| stage.hits(Time::ZERO)).count() as f64 / count as f64;
        assert!((hits - formula).abs() < 0.02, "{good}/{bad}: {hits}, expected {formula}");

        let channel = TwoState::new(Form::Sojourns { good: ByteCount::new(good), bad: ByteCount::new(bad) });
        let mut timeline = Timeline::drawn(&channel.expect("a channel"), 0, Seed::campaign(2).stream());
        let (mut length, mut stays) = ([0.0; 2], [0.0; 2]);
        let cycles = 20_000;
        timeline.between(0, (good + bad) * 8000 * cycles, |stay| {
            let which = usize::from(stay.state == ChannelState::Bad);
            length[which] += (stay.end - stay.start) as f64 / 8000.0;
            stays[which] += 1.0;
        });
        for (length, stays, wanted) in [(length[0], stays[0], tg), (length[1], stays[1], tb)] {
            let mean = length / stays;
            assert!((mean / wanted - 1.0).abs() < 0.05, "{good}/{bad}: mean {mean}");
        }
    }
}

#[test]
fn a_channel_in_bytes_does_not_know_how_packets_are_cut() {
    // The same bytes as large and as small packets: a large packet is hit exactly if one of its
    // parts is.
    let table = "{ good = \"4kB\", bad = \"1kB\", evolves-in = \"bytes\" }";
    let (mut large, mut small) = (losing(table, 6).of_length(1500), losing(table, 6).of_length(500));
    let mut hits = 0;
    for n in 0..400_000 {
        let parts = [(); 3].map(|()| small.hits(Time::ZERO));
        let hit = large.hits(Time::ZERO);
        assert_eq!(hit, parts.contains(&true), "packet {n}");
        hits += u32::from(hit);
    }
    assert!((100_000..300_000).contains(&hits));
}

#[test]
fn geometric_stays_in_bytes_end_between_ticks() {
    // Ticks of a packet's length, so that each packet is in one tick: Gilbert's chain.
    let table =
        "{ p = \"5%\", q = \"20%\", sojourn = \"geometric\", tick = \"1500B\", evolves-in = \"bytes\" }";
    let mut stage = losing(table, 2).of_length(1500);
    let hits: Vec<bool> = (0..1_000_000).map(|_| stage.hits(Time::ZERO)).collect();
    for (lengths, leave) in run_lengths(&hits).into_iter().zip([0.2, 0.05]) {
        let (found, expected) = geometric(&lengths, leave);
        fits("runs", &found, &expected);
    }
}

#[test]
fn bit_errors_over_the_whole_packet_multiply() {
    // Mean good 1000 bytes and mean bad 500 bytes, so most packets of 1500 bytes meet both states.
    let table = "{ good = \"1000B\", bad = \"500B\", ber-good = \"1e-5\", ber-bad = \"1e-4\", evolves-in = \"bytes\" }";
    let mut stage = losing(table, 3).of_length(1500);
    let count = 1_000_000;
    let hits = (0..count).filter(|_| stage.hits(Time::ZERO)).count() as f64 / f64::from(count);
    // E(Π (1 − p)^bits) over the packet is the Laplace transform of the time in the bad state of a
    // two-state process: exp of its generator [[−a − g, a], [b, −b − h]] with the hazards g and h.
    let (g, h) = (8.0 * 1e-5f64, 8.0 * 1e-4f64);
    let (a, b) = (1.0 / 1000.0, 1.0 / 500.0);
    let (matrix, mut sum) = ([[-a - g, a], [b, -b - h]], [[0.0; 2]; 2]);
    let mut term = [[1.0, 0.0], [0.0, 1.0]];
    for k in 1..60 {
        let mut next = [[0.0; 2]; 2];
        for row in 0..2 {
            for column in 0..2 {
                sum[row][column] += term[row][column];
                next[row][column] =
                    (0..2).map(|m| term[row][m] * matrix[m][column]).sum::<f64>() * 1500.0 / f64::from(k);
            }
        }
        term = next;
    }
    let untouched = 2.0 / 3.0 * (sum[0][0] + sum[0][1]) + 1.0 / 3.0 * (sum[1][0] + sum[1][1]);
    let expected = 1.0 - untouched;
    // Neighbours are hardly correlated, because a packet is longer than a cycle. Twice the variance
    // is more than sufficient.
    close("hit", hits, expected, (2.0 * expected * untouched / f64::from(count)).sqrt());
}
