//! Confirmation: the received checksum shows where the damage was.
//!
//! Suppose that the checksum is right once a single field is replaced by its expected value. Then
//! almost surely only that field was damaged: payload and checksum are intact. Only values that are
//! already known are tried.
//!
//! A field is replaced only if its received value cannot be genuine. The plausible value of a field
//! that changes by itself does not show where the damage is: replacing it with the previous
//! segment's value changes the sum by the difference between the two, and a wrong bit of the
//! payload may have just this weight. For example, a time stamp that has advanced by one would
//! compensate for a wrong lowest bit in every other byte. So:
//!
//! * An acknowledgment number is replaced only if the other host cannot have sent it
//!   ([`SocketView::is_plausible_ack`]).
//! * Time stamps are replaced only if they go back or jump ([`options::is_plausible`]).
//! * A window is replaced only if it differs in a single bit, unless other fields are impossible
//!   too.
//! * PSH, FIN and the ECN bits are never replaced. A segment with FIN, ECE or CWR is not confirmed
//!   at all, because a confirmed repair would have cleared them, which is such a replacement.
//!
//! [`SocketView::is_plausible_ack`]: crate::SocketView::is_plausible_ack

use crate::place::Bases;
use crate::risk::Localized;
use crate::salvage::Header;
use crate::{Reason, Track, options};
use packet::{Field, TcpHeader, checksum};

/// Returns the header that matches the received checksum, or `None` if there is none. `base` is the
/// received header with its constants restored.
///
/// A sequence number is not replaced if the received one is a possible place too, or was one. In
/// that case, a segment damaged elsewhere that lies behind a loss or arrives twice looks like one
/// with a damaged sequence number. With the usual segment sizes, no single wrong bit weighs as much
/// as the distance between two places; with powers of two it may.
///
/// # Errors
///
/// `Reason::Ambiguous` if a replaced sequence number matches the checksum, but the received one
/// is or was a possible place.
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

/// Returns whether the connection carries time stamps and these cannot be its next ones.
fn has_impossible_options(base: &Header, track: &Track) -> bool {
    track.has_options()
        && base.options.first_chunk().is_none_or(|received| !options::is_plausible(received, &track.options))
}

#[cfg(test)]
mod tests;
