//! Confirmation: the received checksum says where the damage was.
//!
//! If the checksum is right once a single field is replaced by what it should have been, then
//! almost surely that field was damaged, and nothing else was: payload and checksum are intact.
//! Every value tried is one that is known already.
//!
//! Only what cannot be genuine is replaced. A field that changes by itself, and carries a value
//! that it may well have, says nothing about where the damage is: putting the value of the segment
//! before into it changes the sum by the difference between the two, and that is what one of the
//! many wrong bits in the payload may weigh. A time stamp that has advanced by one would make up
//! for the lowest bit of every other byte. So
//! * an acknowledgment number is replaced only if the socket cannot have been sent it
//!   ([`SocketView::is_plausible_ack`]);
//! * time stamps only if they go back or jump ([`options::is_plausible`]);
//! * a window only if it differs in a single bit, unless other fields are impossible too;
//! * PSH, FIN and the bits of ECN never. A segment with FIN, ECE or CWR is not confirmed at all,
//!   since clearing them for good is such a replacement.
//!
//! [`SocketView::is_plausible_ack`]: crate::SocketView::is_plausible_ack

use crate::place::Bases;
use crate::risk::Localized;
use crate::salvage::Header;
use crate::{Reason, Track, options};
use packet::{Field, TcpHeader, checksum};

/// Finds the header that the received checksum fits to; `None` if there is none. `base` is the
/// received header with its constants restored.
///
/// A sequence number is not replaced where the received one is a place as well, or was one: a
/// segment that was hit elsewhere and lies behind a loss, or comes a second time, looks the same
/// then as one whose sequence number was hit. With the usual segment sizes no single wrong bit
/// weighs as much as the distance between two places, with powers of two it may.
pub fn confirm(
    damaged: &Localized<'_>,
    base: &Header,
    track: &Track,
    bases: &Bases,
) -> Result<Option<Header>, Reason> {
    let is_set = |field| damaged.header.get(field) == 1;
    if [Field::Fin, Field::Ece, Field::Cwr].into_iter().any(is_set) {
        return Ok(None);
    }
    let payload = &damaged.segment[TcpHeader::LEN + base.options.len()..];
    let rest = checksum::sum(payload);
    let fits = |header: &Header| damaged.arrival.is_right(checksum::add(header.sum(), rest));

    let window_bits = (base.fixed.get(Field::Window) ^ u32::from(track.window)).count_ones();
    let with_window = |header: &Header| header.with(Field::Window, u32::from(track.window));
    let is_ack_impossible = !damaged.view.is_plausible_ack(base.fixed.get(Field::Acknowledgment));
    let with_ack = |header: &Header| header.with(Field::Acknowledgment, track.ack);
    let are_options_impossible = has_impossible_options(base, track);

    let single = [
        Some(base.clone()),
        are_options_impossible.then(|| base.with_template_options(track)),
        is_ack_impossible.then(|| with_ack(base)),
        (window_bits == 1).then(|| with_window(base)),
    ];
    if let Some(header) = single.into_iter().flatten().find(&fits) {
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

    let replaced = [is_ack_impossible, are_options_impossible, window_bits > 0];
    if replaced.into_iter().filter(|is_replaced| *is_replaced).count() < 2 {
        return Ok(None);
    }
    let mut together = with_window(base);
    if is_ack_impossible {
        together = with_ack(&together);
    }
    if are_options_impossible {
        together = together.with_template_options(track);
    }
    Ok(Some(together).filter(fits))
}

/// Whether the connection carries time stamps and these cannot be its next ones.
fn has_impossible_options(base: &Header, track: &Track) -> bool {
    track.has_options()
        && base.options.first_chunk().is_none_or(|received| !options::is_plausible(received, &track.options))
}

#[cfg(test)]
mod tests;
