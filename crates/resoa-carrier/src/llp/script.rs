//! A state machine whose peer sends anything, for the fuzz target.

use super::machine::{Event, Machine, Side, Silence};
use std::time::Duration;

/// Most packets and timers at one moment: more would be an endless loop.
const MOST: usize = 20_000;

struct World {
    machine: Machine,
    long: usize,
    now: Duration,
    wanted: bool,
}

impl World {
    /// Acts as a driver: sends packets, takes events, and expires timers until nothing is due.
    fn settle(&mut self) {
        let mut packet = Vec::new();
        for round in 0.. {
            assert!(round < MOST, "it is never done");
            while let Some(event) = self.machine.take(self.wanted, self.now) {
                if event == Event::Connect {
                    self.machine.accept();
                }
            }
            packet.clear();
            if self.machine.transmit(self.now, &mut packet).is_some() {
                assert!(!packet.is_empty() && packet.len() <= self.long, "{} octets", packet.len());
            } else if self.machine.deadline().is_some_and(|due| due <= self.now) {
                self.machine.expire(self.now);
            } else {
                return;
            }
        }
    }
}

/// Runs a script. The first bytes choose the machine; each of the following steps is an event with
/// its parameters.
pub(crate) fn run(octets: &[u8]) {
    let Some((&[side, short, long], mut rest)) = octets.split_first_chunk() else { return };
    let side = if side & 1 == 0 { Side::Client } else { Side::Server };
    // From the room for the smallest frame to the room for the largest.
    let short = 229 + usize::from(short) * 34;
    let long = short + usize::from(long);
    let silence = Silence { ask: Duration::from_secs(10), end: Duration::from_secs(30) };
    let machine = Machine::new(side, (short, long), silence, Duration::ZERO);
    let mut world = World { machine, long, now: Duration::ZERO, wanted: true };
    world.settle();
    while let Some((&[what, how], behind)) = rest.split_first_chunk() {
        rest = behind;
        let machine = &mut world.machine;
        match what % 8 {
            0 => world.now += Duration::from_micros(1 << (how % 26)),
            1 => world.wanted = how & 1 == 0,
            2 if how & 1 == 0 => machine.send(&vec![how; usize::from(how) * 17]),
            2 => {
                // A datagram that has already waited elsewhere.
                let header = [0x14, 4, 0, 0, 0, 0, 1];
                let message = [&header[..], &vec![how; usize::from(how) * 17]].concat();
                machine.send_or_lose(&message, world.now.saturating_sub(Duration::from_millis(how.into())));
            }
            3 if how == 0 => machine.close(world.now),
            3 if how == 1 => machine.reset(),
            _ => {
                let number = (machine.expected() + u64::from(what / 8)).saturating_sub(4);
                let (frames, behind) = rest.split_at(usize::from(how).min(rest.len()));
                rest = behind;
                if machine.is_new(number) && machine.packet(number, frames, world.now).is_err() {
                    machine.fail();
                }
            }
        }
        world.settle();
    }
    // No packet arrives any more: the machine must end, and report it if its user does not know
    // yet.
    for _ in 0..100 {
        world.now += Duration::from_secs(1);
        world.settle();
    }
    assert!(world.machine.is_over());
}
