//! Tests of the whole receiver, from bytes to bytes.

mod choice;
mod every_bit;
mod model;
mod policies;
mod properties;
mod settings;
mod special;
mod thesis;

use super::*;
use crate::sample::{ACK, FIN, FIRST, Line, PSH, S, Sample, hit, on, sack, stamps, text};
use crate::{Acceptance, ByteWindow, Localization, Policy};

/// Returns the verdict on a segment accepted in order, with right ports and without a guess.
fn accepted(confirmed: bool, bytes: u32) -> SegmentVerdict {
    SegmentVerdict::Accept(Acceptance { confirmed, bytes, ..Acceptance::default() })
}

/// Returns the segment that follows this one.
fn next(sample: &Sample) -> Sample {
    Sample { seq: sample.seq.wrapping_add(sample.payload.len() as u32), ..sample.clone() }
}
