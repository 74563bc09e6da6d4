//! The eBPF programs and their pure twin are given the same packets, and must do the same to them, bit by bit.
//!
//! Sockets are real, so that what the programs ask the kernel is true; the packets are not delivered (`BPF_PROG_TEST_RUN`), so that both twins stay at
//! what they have learned. `LITE_TWIN_CASES` says how many packets (default a million); the counts by outcome and by field are printed, and none may be
//! too small to mean anything. A second test does the same with bytes that no host would send (`LITE_TWIN_WILD_CASES`, default 200 000).

mod counts;
mod damage;
#[path = "../ground/mod.rs"]
mod ground;
mod judge;
mod packets;
mod wild;
mod world;

use counts::Counts;
use damage::damage;
use ground::Ground;
use lite::Reason;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use world::{VARIANTS, World};

/// Packets with the same sockets, mostly: what is in order moves on with each, and the kernel's receive point does not.
const PACKETS_OF_A_GENERATION: u64 = 400;
/// The same, one time in [`LONG_ONE_IN`]: so many that ranges overflow.
const PACKETS_OF_A_LONG_GENERATION: u64 = 4000;
const LONG_ONE_IN: u32 = 30;

/// TL-27, TL-28, TL-30, TL-31, TL-32, TL-35, TL-41: the eBPF programs do what the pure crate does, whose tests hold it to the paper.
#[test]
fn the_twins_do_the_same() {
    let Some(ground) = Ground::new() else { return };
    let done = ground.namespace.enter(|| {
        compare(&ground);
        Ok(())
    });
    done.expect("the namespace is there");
}

/// TL-35: whatever bytes come, the twins do the same to them, and remember and count the same.
#[test]
fn the_twins_do_the_same_to_wild_bytes() {
    let Some(ground) = Ground::new() else { return };
    let done = ground.namespace.enter(|| {
        compare_wild(&ground);
        Ok(())
    });
    done.expect("the namespace is there");
}

fn compare(ground: &Ground) {
    let (cases, seed) =
        (from_environment("LITE_TWIN_CASES", 1_000_000), from_environment("LITE_TWIN_SEED", 2001));
    let random = &mut ChaCha12Rng::seed_from_u64(seed);
    let mut counts = Counts::default();
    let mut case = 0;
    for (variant, number) in VARIANTS.iter().zip(1..) {
        let mut world = World::new(ground, *variant);
        while case < cases * number / VARIANTS.len() as u64 {
            world.renew(random);
            let is_long = random.random_ratio(1, LONG_ONE_IN);
            for _ in 0..if is_long { PACKETS_OF_A_LONG_GENERATION } else { PACKETS_OF_A_GENERATION } {
                let (number, mut packet) = world.packet(random);
                let hit = damage(&mut packet, variant.is_ipv6, random);
                counts.note(world.judge(number, &packet, case), hit);
                case += 1;
            }
            world.compare_counters(case);
        }
    }
    println!("{case} packets, seed {seed}");
    counts.print();
    // One in two thousand for the rarest, so that twelve million packets have 6000 of each.
    for reason in Reason::ALL {
        counts.assert_met(&format!("discard {}", reason.name()), cases / 2000);
    }
}

fn compare_wild(ground: &Ground) {
    let (cases, seed) =
        (from_environment("LITE_TWIN_WILD_CASES", 200_000), from_environment("LITE_TWIN_SEED", 2001));
    let random = &mut ChaCha12Rng::seed_from_u64(seed);
    let mut counts = Counts::default();
    let mut case = 0;
    for (variant, number) in VARIANTS.iter().zip(1..) {
        let mut world = World::new(ground, *variant);
        while case < cases * number / VARIANTS.len() as u64 {
            world.renew(random);
            for _ in 0..PACKETS_OF_A_GENERATION {
                let (number, packet) = world.wild(random);
                // The kernel does not take frames that are shorter than an IP header.
                let least = if packet.first().is_some_and(|byte| byte >> 4 == 6) { 40 } else { 20 };
                if packet.len() < least {
                    continue;
                }
                counts.note(world.judge(number, &packet, case), Vec::new());
                case += 1;
            }
            world.compare_counters(case);
        }
    }
    println!("{case} packets of wild bytes, seed {seed}");
    counts.print();
    for name in ["accept", "discard short", "discard no-connection", "notours", "pass", "notlite"] {
        counts.assert_met(name, cases / 1000);
    }
}

fn from_environment(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |value| value.parse().expect("a number"))
}
