//! Processing of arriving frames.

use super::{Arrival, Event, Fragment, Frame, Indication, Llp, Output, Way};
use crate::SlotState;
use vocabulary::units::{ByteCount, Time};

impl Llp {
    /// Processes a frame of `octets` octets that arrives at `now`; `None` if it is damaged.
    pub fn receive(&mut self, frame: Option<&Frame>, octets: ByteCount, now: Time, out: &mut Output) {
        let event = if frame.is_some() { Event::Right } else { Event::Erased };
        self.note(now, Way::Received, event, 0, octets.get() as u32, out);
        if self.ended {
            return;
        }
        match frame {
            None => {}
            Some(Frame::Data { ns, fragment }) => self.data_arrived(*ns, *fragment, now, out),
            Some(Frame::Skip { next }) => self.skip_to(*next, out),
            Some(Frame::Ack { next }) => {
                self.learn(*next, 0, now, out);
            }
            Some(Frame::Nak { next, held }) => {
                self.learn(*next, *held, now, out);
                self.repair(*next, *held, now, out);
            }
        }
    }

    fn data_arrived(&mut self, ns: u16, fragment: Fragment, now: Time, out: &mut Output) {
        let mut passed = Vec::new();
        let arrival = self.receive.receive(ns, (ns, fragment), &mut passed);
        self.put_together(passed, out);
        let next = self.receive.next();
        self.control.push_back(match arrival {
            // Frames outside the window lie before V(R), since no sender sends frames behind the
            // window.
            Arrival::InSequence(_) | Arrival::Outside => Frame::Ack { next },
            Arrival::Ahead | Arrival::Again => {
                let missing: Vec<_> = self.receive.gaps().map(|(ns, ())| ns).collect();
                for ns in missing {
                    self.note(now, Way::Sent, Event::SelectiveReject, ns, 0, out);
                }
                Frame::Nak { next, held: self.receive.held() }
            }
        });
    }

    /// Reassembles fragments that the window has passed on.
    fn put_together(&mut self, fragments: Vec<(u16, Fragment)>, out: &mut Output) {
        let complete = fragments.into_iter().filter_map(|(ns, fragment)| self.reassembly.add(ns, fragment));
        out.indications.extend(complete.map(Indication::Delivered));
        self.reassembly.passed(self.receive.next());
    }

    /// Skips missing frames before `next`, which the other end has given up.
    fn skip_to(&mut self, next: u16, out: &mut Output) {
        let steps = self.parameters.modulus.steps(self.receive.next(), next);
        if steps <= usize::from(self.parameters.window) {
            while self.parameters.modulus.steps(self.receive.next(), next) > 0
                && self.parameters.modulus.steps(self.receive.next(), next) <= steps
            {
                let mut passed = Vec::new();
                self.receive.skip(&mut passed);
                self.put_together(passed, out);
            }
        }
        self.control.push_back(Frame::Ack { next: self.receive.next() });
    }

    /// Processes the information that all frames before `next` have arrived, and those of the mask
    /// `held`. Ignores it if `next` is not from V(A) to V(S).
    fn learn(&mut self, next: u16, held: u32, now: Time, out: &mut Output) {
        let modulus = self.parameters.modulus;
        let oldest = self.send.oldest();
        let Some(done) = self.send.acknowledge(next) else { return };
        let mut arrived: Vec<_> = (0..done.len()).map(|step| modulus.after(oldest, step)).collect();
        for slot in &done {
            if slot.state == SlotState::GivenUp {
                out.indications.push(Indication::Abandoned(slot.body.packet));
            }
        }
        for ns in (0..32).filter(|bit| held & 1 << bit != 0).map(|bit| modulus.after(next, bit + 1)) {
            if self.send.slot(ns).is_some_and(|slot| slot.state != SlotState::GivenUp) && self.send.hold(ns) {
                arrived.push(ns);
            }
        }
        if self.skip.is_some_and(|skip| modulus.steps(oldest, skip) <= done.len()) {
            self.skip = None;
        }
        if arrived.is_empty() {
            return;
        }
        // The link keeps the order. So frames whose last transmission came before one of these have
        // arrived as well, or are lost.
        let latest = self.order.iter().rposition(|(ns, _)| arrived.contains(ns));
        for (_, passed) in self.order.iter_mut().take(latest.unwrap_or(0)) {
            *passed = true;
        }
        self.order.retain(|(ns, _)| !arrived.contains(ns));
        self.expirations = 0;
        self.restart(now);
    }

    /// Retransmits missing frames before the last held one, if they are known to be lost.
    fn repair(&mut self, next: u16, held: u32, now: Time, out: &mut Output) {
        if self.send.oldest() != next {
            // The NAK was sent before an answer that has already arrived.
            return;
        }
        // V(R) itself comes before the frames of the mask.
        let behind = 32 - held.leading_zeros() as usize;
        let window: Vec<_> =
            self.send.slots().take(behind).map(|(ns, slot)| (ns, slot.state, slot.sent)).collect();
        for (ns, state, sent) in window {
            let missing = matches!(state, SlotState::Sent | SlotState::Again);
            if missing {
                self.note(now, Way::Received, Event::SelectiveReject, ns, 0, out);
            }
            let is_lost = self.order.iter().any(|(sent, passed)| *sent == ns && *passed);
            if state == SlotState::Sent && is_lost && !self.parameters.persistency.is_spent(sent) {
                self.send.again(ns);
            }
        }
        self.restart(now);
    }
}
