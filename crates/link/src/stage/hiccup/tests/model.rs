//! Reference model of the hiccup, as section 9 of its specification writes it: tick by tick, with
//! plain lists and a counter per packet.

use super::*;

/// End of the model's run in nanoseconds, which are its ticks.
pub(in super::super) const END: u64 = 400;

/// Generates parameters so small that all effects interact.
pub(in super::super) fn specs() -> impl Strategy<Value = HiccupSpec> {
    let trigger = || {
        prop_oneof![
            (0_u64..150).prop_map(|n| Trigger::At(Span::from_nanos(n))),
            (1_u64..30).prop_map(Trigger::Packet),
            (1_u64..60).prop_map(|n| Trigger::Every(Span::from_nanos(n))),
            (1_u64..12).prop_map(Trigger::EveryPackets),
        ]
    };
    let hold =
        (0_u64..40, trigger()).prop_map(|(span, trigger)| HoldSpec { span: Span::from_nanos(span), trigger });
    let reorder =
        (1_u32..6, prop::option::of(0_u64..40), trigger()).prop_map(|(length, timeout, trigger)| {
            ReorderSpec { length, timeout: timeout.map(Span::from_nanos), trigger }
        });
    let release = prop_oneof![Just(Release::InOrder), Just(Release::Reversed)];
    let expiration = prop::option::of((0_u64..60).prop_map(Span::from_nanos));
    (prop::option::of(hold), release, prop::option::of(reorder), expiration, prop::option::of(0_u32..10))
        .prop_map(|(hold, release, reorder, expiration, limit)| HiccupSpec {
            hold,
            release,
            reorder,
            expiration,
            limit,
        })
}

struct Inside {
    number: u64,
    came: u64,
    overtaken: u32,
}

struct Model<'a> {
    spec: &'a HiccupSpec,
    left: Vec<Leaving>,
    queue: Vec<Inside>,
    selected: Vec<Inside>,
    until: Option<u64>,
    pending: u64,
}

/// Returns the packets that leave, in order, if packets arrive at the instants `came`.
pub(in super::super) fn run(spec: &HiccupSpec, came: &[u64]) -> Vec<Leaving> {
    let mut model =
        Model { spec, left: Vec::new(), queue: Vec::new(), selected: Vec::new(), until: None, pending: 0 };
    let mut number = 0;
    for now in 0..=END {
        model.end_what_is_over(now);
        model.start_what_is_due(now);
        model.settle(now);
        while came.get(number).is_some_and(|&at| at == now) {
            model.accept(number as u64, now);
            number += 1;
            model.settle(now);
        }
    }
    model.left
}

impl Model<'_> {
    fn settle(&mut self, now: u64) {
        self.end_what_is_over(now);
        if self.until.is_none() {
            self.give_up_waiting(now);
        }
    }

    fn end_what_is_over(&mut self, now: u64) {
        if let Some(expiration) = self.spec.expiration {
            for list in [&mut self.selected, &mut self.queue] {
                while list.first().is_some_and(|first| now - first.came >= expiration.as_nanos()) {
                    let first = Inside { overtaken: 0, ..list.remove(0) };
                    self.left.push(first.leaves(now, Some(Loss::Expired)));
                }
            }
        }
        if self.until.is_some_and(|until| now >= until) {
            self.until = None;
            self.give_up_waiting(now);
            let mut queue = std::mem::take(&mut self.queue);
            if self.spec.release == Release::Reversed {
                queue.reverse();
                for (place, packet) in queue.iter_mut().enumerate() {
                    packet.overtaken = place as u32;
                }
            }
            for packet in queue {
                self.left.push(packet.leaves(now, None));
                self.overtake(now);
            }
        }
    }

    fn start_what_is_due(&mut self, now: u64) {
        let by_time = |trigger| match trigger {
            Trigger::At(span) => now == span.as_nanos(),
            Trigger::Every(period) => now > 0 && now.is_multiple_of(period.as_nanos()),
            _ => false,
        };
        if self.spec.hold.as_ref().is_some_and(|hold| by_time(hold.trigger)) {
            self.hold(now);
        }
        if self.spec.reorder.as_ref().is_some_and(|reorder| by_time(reorder.trigger)) {
            self.pending += 1;
        }
    }

    fn accept(&mut self, number: u64, now: u64) {
        let by_count = |trigger| match trigger {
            Trigger::Packet(n) => number + 1 == n,
            Trigger::EveryPackets(n) => (number + 1).is_multiple_of(n),
            _ => false,
        };
        if self.spec.hold.as_ref().is_some_and(|hold| by_count(hold.trigger)) {
            self.hold(now);
        }
        if self.spec.reorder.as_ref().is_some_and(|reorder| by_count(reorder.trigger)) {
            self.pending += 1;
        }
        let packet = Inside { number, came: now, overtaken: 0 };
        let inside = self.queue.len() + self.selected.len();
        if self.until.is_none() && self.pending == 0 {
            self.left.push(Leaving { held: None, ..packet.leaves(now, None) });
            self.overtake(now);
        } else if self.spec.limit.is_some_and(|limit| inside >= limit as usize) {
            self.left.push(Leaving { held: None, ..packet.leaves(now, Some(Loss::QueueFull)) });
        } else if self.until.is_some() {
            self.queue.push(packet);
        } else {
            self.pending -= 1;
            self.selected.push(packet);
        }
    }

    fn hold(&mut self, now: u64) {
        let end = now + self.spec.hold.as_ref().map_or(0, |hold| hold.span.as_nanos());
        self.until = Some(self.until.unwrap_or(0).max(end));
    }

    /// Counts an ordinary packet that has left.
    fn overtake(&mut self, now: u64) {
        let Some(reorder) = &self.spec.reorder else { return };
        for packet in &mut self.selected {
            packet.overtaken += 1;
        }
        while self.selected.first().is_some_and(|first| first.overtaken >= reorder.length) {
            let first = self.selected.remove(0);
            self.left.push(first.leaves(now, None));
        }
    }

    fn give_up_waiting(&mut self, now: u64) {
        let Some(timeout) = self.spec.reorder.as_ref().and_then(|reorder| reorder.timeout) else { return };
        while self.selected.first().is_some_and(|first| now - first.came >= timeout.as_nanos()) {
            let first = self.selected.remove(0);
            self.left.push(first.leaves(now, None));
        }
    }
}

impl Inside {
    fn leaves(&self, now: u64, lost: Option<Loss>) -> Leaving {
        Leaving {
            number: self.number,
            at: Time::from_nanos(now),
            lost,
            held: Some(Span::from_nanos(now - self.came)),
            overtaken: self.overtaken,
        }
    }
}
