//! Phase 3: for each doubtful field, keeps it, replaces it, or gives up the segment (P II-B c).
//!
//! This module only puts the checks in order; each check has its own module. The first that finds
//! the segment too risky ends it.

use crate::confirm::confirm;
use crate::detect::Arrival;
use crate::header_length::header_length;
use crate::place::{Bases, StreamPosition};
use crate::salvage::{self, Header};
use crate::{Acceptance, Parameters, Policy, Reason, SocketView, Track, Tuple, policy};
use packet::{Field, TcpHeader};
use std::ops::Range;

/// A damaged segment and the connection that was found for it.
#[derive(Debug)]
pub struct Localized<'a> {
    /// The connection.
    pub connection: Tuple,
    /// Whether the segment's ports name a different connection.
    pub is_approximate: bool,
    /// The fixed header as received.
    pub header: TcpHeader,
    /// The whole segment as received.
    pub segment: &'a [u8],
    /// The addresses, and what the IP header showed.
    pub arrival: &'a Arrival,
    /// The socket.
    pub view: SocketView,
}

/// A repair that is worth its risk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The header to write.
    pub header: Header,
    /// Length of the payload behind it, in bytes.
    pub len: u32,
    /// How the segment is accepted.
    pub acceptance: Acceptance,
    /// Bytes of the stream that may be damaged: none if confirmed.
    pub damaged: Option<Range<u64>>,
}

/// Decides how to repair a segment. Changes nothing except the credit for guesses.
pub fn assess(
    damaged: &Localized<'_>,
    track: &mut Track,
    parameters: &Parameters,
    now: u64,
) -> Result<Repair, Reason> {
    let &Localized { connection, is_approximate, header: fixed, segment, view, .. } = damaged;
    if track.has_others() {
        return Err(Reason::Options);
    }
    if !track.known {
        return Err(Reason::Template);
    }
    let header_len = header_length(&fixed, segment, track)?;
    let received = Header::read(segment, header_len).ok_or(Reason::HeaderLength)?;
    let len = (segment.len() - header_len) as u32;
    let bases = Bases {
        rcv_nxt: view.rcv_nxt,
        contiguous: track.contiguous,
        highest: track.highest,
        payload: track.payload,
        window: parameters.window,
    };

    let base = salvage::base(&received, &connection);
    let confirmation = confirm(damaged, &base, track, &bases)?;
    let confirmed = confirmation.is_some();
    let mut guess = !confirmed && salvage::is_guess(&received, &base);
    let mut header = confirmation.unwrap_or_else(|| salvage::unconfirmed(&base, track));

    let mut seq = header.fixed.get(Field::Sequence);
    let mut place = bases.place(seq, len);
    if place.is_none() && !confirmed && view.settings.policy == Policy::Bold {
        seq = policy::nearest(seq, &bases).ok_or(Reason::Position)?;
        place = bases.place(seq, len);
        header = header.with(Field::Sequence, seq);
        guess = true;
    }
    let place = place.ok_or(Reason::Position)?;
    if !view.settings.policy.permits(is_approximate, place) {
        return Err(Reason::Policy);
    }

    let offset = view.offset(seq);
    let is_outside = |window: crate::ByteWindow| !offset.is_some_and(|at| window.covers(at, u64::from(len)));
    if view.settings.window.is_some_and(is_outside) {
        return Err(Reason::Window);
    }
    if guess && !track.bucket.pay(now, parameters) {
        return Err(Reason::Rate);
    }

    Ok(Repair {
        header,
        len,
        acceptance: Acceptance {
            confirmed,
            approximate: is_approximate,
            guess,
            out_of_order: place == StreamPosition::OutOfOrder,
            bytes: if confirmed { 0 } else { len },
        },
        damaged: offset.filter(|_| !confirmed).map(|from| from..from.saturating_add(u64::from(len))),
    })
}
