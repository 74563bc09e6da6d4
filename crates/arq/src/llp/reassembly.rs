//! Reassembly of packets from fragments that arrive in any order.

use super::{Fragment, Modulus};

/// Packets with some fragments arrived and some missing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Reassembly {
    modulus: Modulus,
    begun: Vec<Begun>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Begun {
    packet: u64,
    /// Number of fragments that have arrived.
    arrived: u16,
    /// Number of the frame with the last fragment.
    end: u16,
}

impl Reassembly {
    pub const fn new(modulus: Modulus) -> Self {
        Self { modulus, begun: Vec::new() }
    }

    /// Adds the fragment of frame `ns`, which has arrived for the first time. Returns its packet if
    /// it is complete now.
    pub fn add(&mut self, ns: u16, fragment: Fragment) -> Option<u64> {
        let Fragment { packet, place, count, .. } = fragment;
        let known = self.begun.iter().position(|begun| begun.packet == packet);
        let begun = known.unwrap_or_else(|| {
            let end = self.modulus.after(ns, usize::from(count - 1 - place));
            self.begun.push(Begun { packet, arrived: 0, end });
            self.begun.len() - 1
        });
        self.begun[begun].arrived += 1;
        (self.begun[begun].arrived == count).then(|| self.begun.remove(begun).packet)
    }

    /// Drops packets that end before `next`. All frames before it have arrived or were given up, so
    /// these packets cannot become complete.
    pub fn passed(&mut self, next: u16) {
        let behind = self.modulus.numbers() as usize / 2;
        self.begun.retain(|begun| self.modulus.steps(next, begun.end) < behind);
    }
}
