//! Packets from their fragments, in whatever order these come.

use super::{Fragment, Modulus};

/// Packets of which some fragments have come, and not all.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Reassembly {
    modulus: Modulus,
    begun: Vec<Begun>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Begun {
    packet: u64,
    /// Fragments that have come.
    arrived: u16,
    /// The number of the frame with the last one.
    end: u16,
}

impl Reassembly {
    pub const fn new(modulus: Modulus) -> Self {
        Self { modulus, begun: Vec::new() }
    }

    /// The fragment of frame `ns` has come, for the first time; its packet if that is complete by
    /// it.
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

    /// All frames before `next` have come or were given up: packets that end before it will not be
    /// complete.
    pub fn passed(&mut self, next: u16) {
        let behind = self.modulus.numbers() as usize / 2;
        self.begun.retain(|begun| self.modulus.steps(next, begun.end) < behind);
    }
}
