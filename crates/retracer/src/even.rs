//! Even traces: the same number of erasures, evenly spaced (LL-12).
//!
//! A trace and its even trace differ only in how erasures are clustered. So the difference between
//! their replays is the effect of clustering.

use link::blocks::{BlockTrace, Origin};

/// Returns `blocks` blocks of which `erasures` (at most all) are erased: the k-th at block floor(k
/// n / K) (ambiguity 7 of the specification).
#[must_use]
pub fn even(blocks: usize, erasures: usize) -> Vec<bool> {
    let mut erased = vec![false; blocks];
    let count = erasures.min(blocks);
    for k in 0..count {
        // The product can exceed 64 bits.
        let place = k as u128 * blocks as u128 / count as u128;
        erased[place as usize] = true;
    }
    erased
}

/// Returns the even trace of `trace`. Its header states its origin, and `name` as what it was made
/// from.
#[must_use]
pub fn of_trace(trace: &BlockTrace, name: &str) -> BlockTrace {
    let mut header = trace.header.clone();
    header.origin = Some(Origin::Synthetic);
    header.notes.retain(|note| note.0 != "generator");
    header.notes.push(("generator".to_owned(), format!("even distances, as many erasures as in {name}")));
    BlockTrace { header, erased: even(trace.erased.len(), trace.erasures()), ..*trace }
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::blocks::Header;
    use proptest::prelude::*;

    proptest! {
        /// LL-12: the same number of erasures, at a constant distance +-1 block, also across the
        /// seam.
        #[test]
        fn ll_12_constant_distance(blocks in 1_usize..3000, share in 0.0_f64..=1.0) {
            let erasures = (blocks as f64 * share) as usize;
            let erased = even(blocks, erasures);
            let places: Vec<usize> = (0..blocks).filter(|&place| erased[place]).collect();
            prop_assert_eq!(places.len(), erasures);
            let seam = places.first().map(|first| first + blocks);
            let next = places.iter().copied().skip(1).chain(seam);
            for (one, next) in places.iter().zip(next) {
                let distance = blocks as f64 / erasures as f64;
                prop_assert!((next - one) as f64 > distance - 1.0 && ((next - one) as f64) < distance + 1.0);
            }
        }
    }

    /// LL-12: floor(k n / K), not the nearest (ambiguity 7).
    #[test]
    fn ll_12_places_are_rounded_down() {
        let places: Vec<usize> =
            even(11, 4).iter().enumerate().filter(|block| *block.1).map(|block| block.0).collect();
        assert_eq!(places, [0, 2, 5, 8]);
    }

    #[test]
    fn an_even_trace_says_that_it_is_made() {
        let header = Header { origin: Some(Origin::Measured), ..Header::default() };
        let trace = BlockTrace {
            header,
            period: BlockTrace::GSM_PERIOD,
            payload: BlockTrace::GSM_PAYLOAD,
            erased: vec![true, true, false, false],
        };
        let even = of_trace(&trace, "a.blocks");
        assert_eq!(even.erased, [true, false, true, false]);
        assert_eq!(even.header.origin, Some(Origin::Synthetic));
        assert_eq!(even.header.note("generator"), Some("even distances, as many erasures as in a.blocks"));
    }
}
