//! Phase 2: finds the connection of a segment whose ports match no connection (TL-28, TL-29; P II-C
//! step 2).
//!
//! Only Lite connections between the same two addresses are candidates: a stream that did not ask
//! for damage never gets a guess. The ports must be near enough, and the sequence number must have
//! a place in the stream. Among those that remain, a plausible acknowledgment number counts more
//! than nearer ports. A tie is too risky.
//!
//! The effort is limited (R12): once a pair has more than [`SLOTS`] connections, and until all of
//! them have ended, only connections whose ports differ in one bit are tried.

use crate::place::Bases;
use crate::sequence::distance;
use crate::{Localization, Parameters, Reason, Track, Tuple};
use packet::{Field, TcpHeader};
use std::cmp::Ordering;

/// Largest number of Lite connections of a pair that are all examined.
pub const SLOTS: usize = 32;

/// Returns the connection of a segment whose ports name `named`, among the Lite connections of its
/// pair. `is_crowded` says whether the pair has, or had, too many connections to examine all.
///
/// # Errors
///
/// `Reason::NoConnection` if none fits; `Reason::Ambiguous` if several fit equally well.
pub fn localize<'a>(
    named: &Tuple,
    header: &TcpHeader,
    lite: impl Iterator<Item = (&'a Tuple, &'a Track)>,
    is_crowded: bool,
    parameters: &Parameters,
) -> Result<Tuple, Reason> {
    let mut best: Option<(Rank, Tuple)> = None;
    let mut is_tie = false;
    for (tuple, track) in lite.filter(|(tuple, _)| is_near(named, tuple, is_crowded, parameters.localization))
    {
        if bases(track, parameters).place(header.get(Field::Sequence), 0).is_none() {
            continue;
        }
        let rank = Rank {
            is_ack_implausible: distance(track.ack, header.get(Field::Acknowledgment)) > parameters.window,
            port_distance: named.port_distance(tuple),
        };
        match best.map_or(Ordering::Less, |(held, _)| rank.cmp(&held)) {
            Ordering::Less => (best, is_tie) = (Some((rank, *tuple)), false),
            Ordering::Equal => is_tie = true,
            Ordering::Greater => {}
        }
    }
    match best {
        None => Err(Reason::NoConnection),
        Some(_) if is_tie => Err(Reason::Ambiguous),
        Some((_, tuple)) => Ok(tuple),
    }
}

/// How well a connection matches; less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    is_ack_implausible: bool,
    port_distance: u32,
}

/// Returns whether a connection's ports are near enough to those that a segment names.
fn is_near(named: &Tuple, tuple: &Tuple, is_crowded: bool, localization: Localization) -> bool {
    let bits = named.port_distance(tuple);
    match localization {
        Localization::Exact => false,
        Localization::SourcePort => named.local_port == tuple.local_port && (!is_crowded || bits == 1),
        Localization::Bits(most) => bits <= if is_crowded { most.min(1) } else { most },
    }
}

/// Returns the bases without asking the socket, which happens only after a connection is chosen.
/// What the socket will have received stands for what it has received.
fn bases(track: &Track, parameters: &Parameters) -> Bases {
    Bases {
        rcv_nxt: track.contiguous,
        contiguous: track.contiguous,
        highest: track.highest,
        payload: track.payload,
        window: parameters.window,
    }
}

#[cfg(test)]
mod tests;
