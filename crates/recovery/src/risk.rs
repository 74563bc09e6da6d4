//! Phase 3: for each doubtful field keep it, replace it, or let the segment go (P II-B c).
//!
//! This is the order of the questions; each has its own module. The first answer that is "too
//! risky" ends the segment.

use crate::confirm::confirm;
use crate::detect::Arrival;
use crate::header_length::header_length;
use crate::place::{Bases, Place};
use crate::salvage::{self, Header};
use crate::{Acceptance, Parameters, Policy, Reason, SocketView, Track, Tuple, policy};
use packet::{Field, TcpHeader};
use std::ops::Range;

/// A damaged segment and the connection that was found for it.
#[derive(Debug)]
pub struct Localized<'a> {
    /// The connection.
    pub connection: Tuple,
    /// Whether the ports of the segment name another one.
    pub is_approximate: bool,
    /// The fixed header as received.
    pub header: TcpHeader,
    /// The whole segment as received.
    pub segment: &'a [u8],
    /// What its IP header says.
    pub arrival: &'a Arrival,
    /// The socket.
    pub view: SocketView,
}

/// A repair that is worth its risk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The header to write.
    pub header: Header,
    /// Bytes of payload behind it.
    pub len: u32,
    /// What to say of it.
    pub acceptance: Acceptance,
    /// Bytes of the stream that may be damaged: none if confirmed.
    pub damaged: Option<Range<u64>>,
}

/// Decides what to repair. Changes nothing but the credit for guesses.
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
            out_of_order: place == Place::OutOfOrder,
            bytes: if confirmed { 0 } else { len },
        },
        damaged: offset.filter(|_| !confirmed).map(|from| from..from.saturating_add(u64::from(len))),
    })
}
