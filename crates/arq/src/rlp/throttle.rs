//! A receiver that is slower than the link: its buffer and its flow control (L2R flow control;
//! Ludwig 3.2.5, LL-04).
//!
//! In some networks the asynchronous line behind the link carries 960 octets a second, and the link
//! 1200. The buffer between them sends XOFF above one mark and XON below another. The sender pauses
//!       for
//! the time that the line needs from mark to mark and for the data that still arrive during the
//! round trip.

use super::parameters::TICKS_PER_SECOND;
use borsh::{BorshDeserialize, BorshSerialize};
use packet::rlp::l2r::Item;
use std::collections::VecDeque;

/// Rate of the line behind the link, and marks of the buffer before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct Throttle {
    /// Rate in octets a second.
    pub rate: u32,
    /// XON is sent below this number of octets. It must last for a round trip, or the line runs
    /// dry.
    pub low: u32,
    /// XOFF is sent above this number of octets.
    pub high: u32,
}

impl Throttle {
    /// 960 octets a second: asynchronous 9.6 kbit/s, 10 bits a character. The marks give pauses of
    /// 950 to 1300 ms with round trips of 150 to 400 ms: 768 octets between the marks take 0.8 s,
    /// and a round trip adds a quarter more than itself.
    pub const ASYNCHRONOUS: Self = Self { rate: 960, low: 480, high: 1248 };
}

/// The buffer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Buffer {
    throttle: Throttle,
    queue: VecDeque<Piece>,
    octets: u32,
    /// Fiftieths of an octet that the line could have carried but has not.
    credit: u32,
    /// Whether XOFF is wanted.
    stop: bool,
}

/// An entry of the buffer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Piece {
    /// Content of one frame.
    Items(Vec<Item>),
    /// Data are missing here.
    Gap,
}

impl Piece {
    fn octets(&self) -> u32 {
        let octets = |item: &Item| if let Item::Characters(characters) = item { characters.len() } else { 1 };
        match self {
            Self::Items(items) => items.iter().map(octets).sum::<usize>() as u32,
            Self::Gap => 0,
        }
    }
}

impl Buffer {
    pub fn new(throttle: Throttle) -> Self {
        Self { throttle, queue: VecDeque::new(), octets: 0, credit: 0, stop: false }
    }

    pub fn push(&mut self, piece: Piece) {
        self.octets += piece.octets();
        self.queue.push_back(piece);
        self.judge();
    }

    /// Advances by a tick and returns what the line has carried.
    pub fn tick(&mut self) -> Vec<Piece> {
        self.credit += self.throttle.rate;
        let mut carried = Vec::new();
        while let Some(piece) = self.queue.front()
            && piece.octets() * TICKS_PER_SECOND <= self.credit
        {
            self.credit -= piece.octets() * TICKS_PER_SECOND;
            self.octets -= piece.octets();
            carried.extend(self.queue.pop_front());
        }
        if self.queue.is_empty() {
            self.credit = 0;
        }
        self.judge();
        carried
    }

    fn judge(&mut self) {
        if self.octets > self.throttle.high {
            self.stop = true;
        } else if self.octets < self.throttle.low {
            self.stop = false;
        }
    }

    /// Tells whether XOFF is wanted.
    pub fn stop(&self) -> bool {
        self.stop
    }

    /// Tells whether the buffer is full, so that RNR is needed.
    pub fn is_full(&self) -> bool {
        self.octets > self.throttle.high.saturating_mul(4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octets(count: usize) -> Piece {
        Piece::Items(vec![Item::Characters(vec![0; count])])
    }

    /// XOFF is wanted above the upper mark, XON below the lower one, and no change in between.
    #[test]
    fn marks() {
        let mut buffer = Buffer::new(Throttle { rate: 50, low: 2, high: 4 });
        buffer.push(octets(4));
        assert!(!buffer.stop());
        buffer.push(octets(1));
        assert!(buffer.stop());
        // Four octets take four ticks at 50 octets a second.
        let stops = [0; 5].map(|_| (buffer.tick().len(), buffer.stop()));
        assert_eq!(stops, [(0, true), (0, true), (0, true), (1, false), (1, false)]);
        buffer.push(octets(2));
        assert!(!buffer.stop());
    }

    /// An idle line does not carry more afterwards.
    #[test]
    fn a_line_saves_nothing() {
        let mut buffer = Buffer::new(Throttle { rate: 50, low: 2, high: 4 });
        (0..100).for_each(|_| assert!(buffer.tick().is_empty()));
        buffer.push(octets(3));
        assert_eq!([0; 4].map(|_| buffer.tick().len()), [0, 0, 1, 0]);
    }

    /// RNR is needed only far above the marks.
    #[test]
    fn there_is_room_for_what_is_under_way() {
        let mut buffer = Buffer::new(Throttle { rate: 50, low: 2, high: 4 });
        buffer.push(octets(16));
        assert!(!buffer.is_full());
        buffer.push(octets(1));
        assert!(buffer.is_full());
    }
}
