//! A page of the kernel's trace buffer as `trace_pipe_raw` gives it (`events/header_page`,
//! `events/header_event`), of a little-endian machine.
//!
//! ```text
//! page  = time:u64 commit:u64 event*         commit: bytes of events in its lower 30 bits
//! event = header:u32 body                    header: 5 bits type and length, 27 bits of time since the one before
//! ```

/// Bytes before the first event.
const HEADER: usize = 16;

/// Bits of a time difference in an event's header.
const DELTA_BITS: u32 = 27;

/// Values of an event header's five bits (`include/linux/ring_buffer.h`). 1 to 28 are the length of
/// the body in words.
mod kind {
    pub const LONG: u32 = 0;
    pub const PADDING: u32 = 29;
    pub const TIME_EXTEND: u32 = 30;
    pub const TIME_STAMP: u32 = 31;
}

/// Iterates over the records of a page: their times and their bytes. It ends at the end of the page
/// or at malformed data.
pub(super) struct Page<'a> {
    rest: &'a [u8],
    now: u64,
}

/// An entry of a page.
enum Event<'a> {
    /// A record, with its time.
    Record(u64, &'a [u8]),
    /// Padding, or a change of time only.
    Empty,
}

impl<'a> Page<'a> {
    /// Returns the records of a page.
    pub(super) fn new(page: &'a [u8]) -> Self {
        let word = |at: usize| Some(u64::from_le_bytes(page.get(at..at + 8)?.try_into().ok()?));
        let now = word(0).unwrap_or(0);
        let committed = word(8).unwrap_or(0) as usize & 0x3fff_ffff;
        let events = page.get(HEADER..).unwrap_or_default();
        Self { rest: &events[..committed.min(events.len())], now }
    }

    fn word(&self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(self.rest.get(at..at + 4)?.try_into().ok()?))
    }

    /// Returns the next entry.
    fn step(&mut self) -> Option<Event<'a>> {
        let header = self.word(0)?;
        let (kind, delta) = (header & 31, u64::from(header >> 5));
        let (body, length): (usize, usize) = match kind {
            kind::PADDING if delta == 0 => return None,
            kind::PADDING => (4, self.word(4)? as usize),
            kind::TIME_EXTEND => {
                self.now = self.now.wrapping_add(delta + (u64::from(self.word(4)?) << DELTA_BITS));
                (4, 4)
            }
            kind::TIME_STAMP => {
                // The entry has no room for the upper five bits of the time.
                let time = delta + (u64::from(self.word(4)?) << DELTA_BITS);
                self.now = self.now & !(u64::MAX >> 5) | time;
                (4, 4)
            }
            kind::LONG => (8, (self.word(4)? as usize).checked_sub(4)?),
            words => (4, words as usize * 4),
        };
        let record = self.rest.get(body..body.checked_add(length)?)?;
        self.rest = self.rest.get(body + length.next_multiple_of(4)..).unwrap_or_default();
        if matches!(kind, kind::TIME_EXTEND | kind::TIME_STAMP) {
            return Some(Event::Empty);
        }
        self.now = self.now.wrapping_add(delta);
        Some(if kind == kind::PADDING { Event::Empty } else { Event::Record(self.now, record) })
    }
}

impl<'a> Iterator for Page<'a> {
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.step() {
                Some(Event::Record(time, record)) => return Some((time, record)),
                Some(Event::Empty) => {}
                None => {
                    self.rest = &[];
                    return None;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a page with these events.
    fn page(time: u64, events: &[u8]) -> Vec<u8> {
        let mut page = Vec::new();
        page.extend(time.to_le_bytes());
        // Bit 31 says that events were lost before this page.
        page.extend((events.len() as u64 | 1 << 31).to_le_bytes());
        page.extend(events);
        page.extend([0xff; 32]);
        page
    }

    fn event(kind: u32, delta: u32, body: &[u8]) -> Vec<u8> {
        let mut event = (kind | delta << 5).to_le_bytes().to_vec();
        event.extend(body);
        event
    }

    #[test]
    fn every_kind_of_event() {
        let long: Vec<u8> = [120_u32.to_le_bytes().as_slice(), &[7; 116]].concat();
        let events = [
            event(2, 5, &[1; 8]),
            event(kind::TIME_EXTEND, 3, &2_u32.to_le_bytes()),
            event(kind::LONG, 1, &long),
            event(kind::PADDING, 4, &[8_u32.to_le_bytes().as_slice(), &[0; 4]].concat()),
            event(kind::TIME_STAMP, 9, &1_u32.to_le_bytes()),
            event(1, 1, &[2; 4]),
            event(kind::PADDING, 0, &[0; 8]),
            event(1, 1, &[3; 4]),
        ]
        .concat();
        let page = page(1000, &events);
        let records: Vec<_> = Page::new(&page).collect();
        let extended = 1005 + 3 + (2 << 27) + 1;
        let expected: [(u64, &[u8]); 3] = [(1005, &[1; 8]), (extended, &[7; 116]), ((1 << 27) + 10, &[2; 4])];
        assert_eq!(records, expected);
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(Page::new(&bytes).count() <= bytes.len());
        }
    }
}
