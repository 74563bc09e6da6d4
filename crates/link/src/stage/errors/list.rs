//! Lists of packet numbers: `3,7,10-12`.

use crate::units::UnitError;
use borsh::{BorshDeserialize, BorshSerialize};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A list of packet numbers, as counted by [`crate::Packet::number`]: all packets that arrived in
/// this direction of the link, from 0. Captures and event logs have the same numbers, so the losses
/// of one run can be repeated in the next. A duplicate shares the fate of its original.
#[derive(Debug, Clone, PartialEq, Eq, Default, BorshSerialize, BorshDeserialize)]
pub struct PacketList {
    /// Ranges in order, with gaps between them.
    ranges: Vec<RangeInclusive<u64>>,
}

impl PacketList {
    /// Returns whether the packet with this number is on the list.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        let after = self.ranges.partition_point(|range| *range.start() <= number);
        after > 0 && *self.ranges[after - 1].end() >= number
    }
}

impl FromIterator<RangeInclusive<u64>> for PacketList {
    fn from_iter<I: IntoIterator<Item = RangeInclusive<u64>>>(ranges: I) -> Self {
        let mut sorted: Vec<_> = ranges.into_iter().filter(|range| !range.is_empty()).collect();
        sorted.sort_by_key(|range| *range.start());
        let mut ranges: Vec<RangeInclusive<u64>> = Vec::new();
        for range in sorted {
            match ranges.last_mut() {
                Some(last) if *range.start() <= last.end().saturating_add(1) => {
                    *last = *last.start()..=*last.end().max(range.end());
                }
                _ => ranges.push(range),
            }
        }
        Self { ranges }
    }
}

impl FromStr for PacketList {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let item = |item: &str| {
            let number = |text: &str| text.trim().parse::<u64>().ok();
            match item.split_once('-') {
                Some((first, last)) => number(first)
                    .zip(number(last))
                    .filter(|(first, last)| first <= last)
                    .map(|(first, last)| first..=last),
                None => number(item).map(|number| number..=number),
            }
            .ok_or_else(|| UnitError::Wrong {
                given: item.to_owned(),
                what: "list of packet numbers",
                example: "3,7,10-12 (from 0)",
            })
        };
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        text.split(',').map(item).collect()
    }
}

vocabulary::serde_as_text!(PacketList);

impl fmt::Display for PacketList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, range) in self.ranges.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            if range.start() == range.end() {
                write!(f, "{comma}{}", range.start())?;
            } else {
                write!(f, "{comma}{}-{}", range.start(), range.end())?;
            }
        }
        Ok(())
    }
}
