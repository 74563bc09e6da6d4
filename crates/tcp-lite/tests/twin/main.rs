//! Differential test: the eBPF programs and their pure twin get the same packets, and must treat
//! them identically, bit by bit.
//!
//! The sockets are real, so the kernel gives the programs true answers. Packets are not delivered
//! (`BPF_PROG_TEST_RUN`), so the kernel's receive point stays where it is. `LITE_TWIN_CASES` is the
//! number of packets (default a million). Counts by outcome and by field are printed, and no
//! outcome may be too rare to mean anything. A second test does the same with bytes that no host
//! would send (`LITE_TWIN_WILD_CASES`, default 200 000).

mod counts;
mod damage;
mod ended;
#[path = "../ground/mod.rs"]
mod ground;
mod judge;
mod packets;
mod wild;
mod world;

use counts::Counts;
use ground::Ground;
use netlab::{Namespace, interface};
use packets::Given;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use tcp_lite::Reason;
use world::{VARIANTS, World};

/// Packets per set of sockets, usually: the twins' expected place moves on with each, the kernel's
/// receive point does not.
const PACKETS_OF_A_GENERATION: u64 = 400;
/// One set in [`LONG_ONE_IN`] has so many packets that ranges overflow.
const PACKETS_OF_A_LONG_GENERATION: u64 = 4000;
const LONG_ONE_IN: u32 = 30;

/// TL-27, TL-28, TL-30, TL-31, TL-32, TL-35, TL-41: the eBPF programs do what the pure crate does,
/// whose tests compare it with the paper.
#[test]
fn the_twins_do_the_same() {
    let len = |random: &mut ChaCha12Rng| {
        let is_long = random.random_ratio(1, LONG_ONE_IN);
        if is_long { PACKETS_OF_A_LONG_GENERATION } else { PACKETS_OF_A_GENERATION }
    };
    let cases = from_environment("LITE_TWIN_CASES", 1_000_000);
    let Some(counts) = compare(cases, len, World::damaged) else { return };
    // Even the rarest usually has more than one in a thousand: twelve million packets have over 10
    // 000 of each.
    for reason in Reason::ALL {
        counts.assert_met(&format!("discard {}", reason.name()), cases / 1200);
    }
}

/// TL-35: the twins treat any bytes identically, and remember and count the same.
#[test]
fn the_twins_do_the_same_to_wild_bytes() {
    let cases = from_environment("LITE_TWIN_WILD_CASES", 200_000);
    let Some(counts) = compare(cases, |_| PACKETS_OF_A_GENERATION, World::wild) else { return };
    for name in ["accept", "discard short", "discard no-connection", "notours", "pass", "notlite"] {
        counts.assert_met(name, cases / 1000);
    }
}

/// Gives both twins packets in each of the worlds; `len` returns the number of packets per set of
/// sockets. Returns the counts, or `None` if the test cannot run on this machine.
fn compare(
    cases: u64,
    len: fn(&mut ChaCha12Rng) -> u64,
    next: fn(&World, &mut ChaCha12Rng) -> Given,
) -> Option<Counts> {
    let ground = Ground::new()?;
    let seed = from_environment("LITE_TWIN_SEED", 2001);
    let random = &mut ChaCha12Rng::seed_from_u64(seed);
    let elsewhere = Namespace::new().expect("a namespace");
    interface::loopback_up(&elsewhere).expect("loopback");
    let work = || {
        let mut counts = Counts::default();
        let mut case = 0;
        for (variant, number) in VARIANTS.iter().zip(1..) {
            let mut world = World::new(&ground, *variant);
            while case < cases * number / VARIANTS.len() as u64 {
                world.renew(random);
                for _ in 0..len(random) {
                    let given = next(&world, random);
                    counts.note(world.judge(&given, case), given.hit);
                    case += 1;
                }
                world.compare_counters(case);
                world.end_unseen(&elsewhere, random, case);
            }
        }
        println!("{case} packets, seed {seed}");
        counts.print();
        Ok(counts)
    };
    Some(ground.namespace.enter(work).expect("the namespace is there"))
}

fn from_environment(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |value| value.parse().expect("a number"))
}
