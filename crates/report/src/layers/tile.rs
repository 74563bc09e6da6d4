//! Packing of points as text: differences, seven bits per byte, deflated, base64.
//! `web/src/layers/tile.ts` unpacks them.
//!
//! All times come first, then all values. Each is stored as the difference from the one before (for
//! the first one from zero), with its sign in the lowest bit. A difference has seven bits per byte,
//! the lowest first; the highest bit is set in all but its last byte. Times are in steps of the
//! graph.

use super::whole::Whole;
use data_encoding::BASE64;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::{self, Write};

/// Packs points whose times are multiples of `step` nanoseconds.
pub(super) fn pack(points: &[Whole], step: i64) -> io::Result<String> {
    let mut bytes = Vec::with_capacity(4 * points.len());
    column(points.iter().map(|point| point.time / step), &mut bytes);
    column(points.iter().map(|point| point.value), &mut bytes);
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(&bytes)?;
    Ok(BASE64.encode(&encoder.finish()?))
}

fn column(values: impl Iterator<Item = i64>, bytes: &mut Vec<u8>) {
    let mut before = 0_i64;
    for value in values {
        let difference = value.wrapping_sub(before);
        before = value;
        let mut rest = (difference << 1 ^ difference >> 63).cast_unsigned();
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
    }
}

/// Returns the largest step in nanoseconds that divides all times: times with microseconds then
/// need fewer digits.
pub(super) fn step(points: &[Whole]) -> i64 {
    let divisor = |mut one: u64, mut other: u64| {
        while other != 0 {
            (one, other) = (other, one % other);
        }
        one
    };
    let mut step = 0;
    for point in points {
        step = divisor(step, point.time.unsigned_abs());
        if step == 1 {
            break;
        }
    }
    step.max(1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::DeflateDecoder;
    use proptest::prelude::*;
    use std::io::Read;

    /// Unpacks as the page does, in Rust.
    fn unpack(text: &str, count: usize, step: i64) -> Vec<Whole> {
        let packed = BASE64.decode(text.as_bytes()).expect("base64");
        let mut bytes = Vec::new();
        DeflateDecoder::new(packed.as_slice()).read_to_end(&mut bytes).expect("deflated");
        let mut bytes = bytes.into_iter();
        let mut column = || {
            let mut before = 0_i64;
            let value = |_| {
                let mut rest = 0_u64;
                for shift in (0..).step_by(7) {
                    let byte = bytes.next().expect("a byte");
                    rest |= u64::from(byte & 0x7f) << shift;
                    if byte < 0x80 {
                        break;
                    }
                }
                before = before.wrapping_add((rest >> 1).cast_signed() ^ -(rest & 1).cast_signed());
                before
            };
            (0..count).map(value).collect::<Vec<_>>()
        };
        let (times, values) = (column(), column());
        assert_eq!(bytes.next(), None, "nothing is left");
        times.into_iter().zip(values).map(|(time, value)| Whole { time: time * step, value }).collect()
    }

    proptest! {
        #[test]
        fn what_was_packed_comes_out(
            points in prop::collection::vec((any::<i32>(), any::<i64>()), 0..200),
            step in prop::sample::select(vec![1_i64, 1000, 20_000_000]),
        ) {
            let points: Vec<_> =
                points.into_iter().map(|(time, value)| Whole { time: i64::from(time) * step, value }).collect();
            let found = super::step(&points);
            // If all times are zero, every step is a divisor.
            prop_assert!(found % step == 0 || points.iter().all(|point| point.time == 0), "{} is smaller than it need be", found);
            prop_assert_eq!(unpack(&pack(&points, found).expect("packed"), points.len(), found), points);
        }
    }

    /// The same text as in `web/test/layers/tile.test.ts`.
    #[test]
    fn the_page_reads_the_same_text() {
        let points = [(-1000, 0), (0, 460), (540_000_000, 920), (540_001_000, 460)];
        let points = points.map(|(time, value)| Whole { time, value });
        assert_eq!(step(&points), 1000);
        assert_eq!(pack(&points, 1000).expect("packed"), "Y2Q68NWRiWEG+wz26ewA");
    }
}
