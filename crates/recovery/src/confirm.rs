//! Confirmation: the received checksum says where the damage was.
//!
//! If the checksum is right once a single field is replaced by what it should have been, then almost surely that field was
//! damaged, and nothing else was: payload and checksum are intact. Every substitution tried is a value that is known
//! already, so that a wrong one fits only where damage elsewhere happens to weigh as much in the sum.
//!
//! PSH is not tried: of all the single wrong bits that its change would make up for, it is only one of hundreds, and the
//! others damage payload.

use crate::detect::Arrival;
use crate::place::Bases;
use crate::salvage::Header;
use crate::{Reason, Track};
use packet::{Field, checksum};

/// Finds the header that the received checksum fits to; `None` if there is none. `payload` are the bytes behind it.
///
/// A sequence number is not replaced where the received one is a place as well, or was one: a segment that was hit elsewhere
/// and lies behind a loss, or comes a second time, looks the same then as one whose sequence number was hit. With the usual
/// segment sizes no single wrong bit weighs as much as the distance between two places, with powers of two it may.
pub fn confirm(
    base: &Header,
    payload: &[u8],
    track: &Track,
    bases: &Bases,
    arrival: &Arrival,
) -> Result<Option<Header>, Reason> {
    let rest = checksum::sum(payload);
    let fits = |header: &Header| arrival.is_right(checksum::add(header.sum(), rest));

    let substitutions = [
        base.clone(),
        base.with_template_options(track),
        base.with(Field::Acknowledgment, track.ack),
        base.with(Field::Window, u32::from(track.window)),
    ];
    if let Some(header) = substitutions.into_iter().find(&fits) {
        return Ok(Some(header));
    }

    let received = base.fixed.get(Field::Sequence);
    let is_possible = bases.place(received, payload.len() as u32).is_some() || bases.is_old(received);
    for seq in [bases.contiguous, bases.rcv_nxt, bases.highest] {
        let header = base.with(Field::Sequence, seq);
        if fits(&header) {
            return if is_possible { Err(Reason::Ambiguous) } else { Ok(Some(header)) };
        }
    }

    let template = base
        .with_template_options(track)
        .with(Field::Acknowledgment, track.ack)
        .with(Field::Window, u32::from(track.window));
    Ok(Some(template).filter(fits))
}

#[cfg(test)]
mod tests;
