//! A loss means damage and is no reason to send less, and the queue is not filled.

use super::link::{Link, World, data};
use std::time::Duration;

/// Returns the bytes per second that arrive in 20 s, after 5 s of warm-up, and the longest queue in
/// ms in that time.
fn goodput(link: Link, seed: u64) -> (f64, f64) {
    let mut world = World::up(link, seed);
    let mut number = 0;
    let mut run = |world: &mut World, until: Duration| {
        let mut longest = Duration::ZERO;
        world.until(|world| {
            while !world.ends[0].is_full() {
                world.ends[0].send(&data(1 + number % 7, number, 16_000));
                number += 1;
            }
            longest = longest.max(world.queue());
            world.now >= until
        });
        longest
    };
    run(&mut world, Duration::from_secs(5));
    let before = world.told[1].len();
    let longest = run(&mut world, Duration::from_secs(25));
    ((world.told[1].len() - before) as f64 * 16_011.0 / 20.0, longest.as_secs_f64() * 1e3)
}

/// On a link of 10 Mbit/s and 20 ms, the link is used and the queue stays short for every share of
/// lost packets.
#[test]
fn losses_are_no_reason_to_send_less() {
    const RATE: f64 = 1.25e6;
    for loss in [0.0, 0.01, 0.05, 0.1, 0.2, 0.3] {
        let (found, queue) = goodput(Link { rate: RATE, loss, ..Link::default() }, 8);
        let share = found / (RATE * (1.0 - loss) * 1150.0 / 1203.0);
        println!("{loss}: {share:.3} of what is possible, queue of {queue:.0} ms");
        assert!(share > 0.85 && share <= 1.0, "{share} of what is possible at {loss}");
        assert!(queue < 60.0, "{queue} ms at {loss}");
    }
}

/// Delays of one to 300 ms, rates of ten kilobytes to ten megabytes a second, and queues shorter
/// than the amount in flight.
#[test]
fn links_of_all_kinds() {
    for (rate, delay, queue, loss) in [
        (12.5e3, 100, 20_000, 0.02),
        (125e3, 300, 100_000, 0.05),
        (1.25e6, 1, 50_000, 0.1),
        (1.25e6, 25, 25_000, 0.0),
        (12.5e6, 10, 1_000_000, 0.05),
        (12.5e6, 50, 100_000, 0.0),
    ] {
        let link = Link { rate, delay: Duration::from_millis(delay), queue, loss, ..Link::default() };
        let (found, queue) = goodput(link, 9);
        let share = found / (rate * (1.0 - loss) * 1150.0 / 1203.0);
        println!("{rate} octets/s, {delay} ms, {loss}: {share:.3}, queue of {queue:.0} ms");
        assert!(share > 0.75, "{share} of {link:?}");
    }
}

/// Short requests and answers say nothing about the link's rate. A bulk transfer after them is not
/// slower than on a new connection, and earlier knowledge of the link is kept.
#[test]
fn short_messages_say_nothing_of_the_link() {
    const COUNT: u32 = 20;
    let time = |is_known: bool, exchanges: u32| {
        let delay = Duration::from_millis(25);
        let mut world = World::up(Link { rate: 1.25e6, delay, ..Link::default() }, 10);
        let mut number = 0;
        let mut bulk = |world: &mut World| {
            let (begin, before) = (world.now, world.told[1].len());
            for _ in 0..COUNT {
                world.ends[0].send(&data(1, number, 50_000));
                number += 1;
            }
            world.until(|world| world.told[1].len() == before + COUNT as usize);
            world.now.saturating_sub(begin)
        };
        if is_known {
            bulk(&mut world);
        }
        for number in 0..exchanges {
            world.ends[0].send(&data(2, number, 50));
            world.run(Duration::from_millis(100));
        }
        bulk(&mut world)
    };
    for is_known in [false, true] {
        let [at_once, later] = [0, 100].map(|exchanges| time(is_known, exchanges));
        println!("{is_known}: {at_once:?} at once, {later:?} later");
        assert!(later < at_once * 5 / 4, "{later:?}, and {at_once:?} at once");
    }
}
