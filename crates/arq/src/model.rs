//! Model checking of the shipped functions: all states of two ends and the channel between them,
//! for small windows and moduli.
//!
//! Two properties are checked in every reachable state (`always`):
//!
//! * Packets are delivered once, in order and intact.
//! * If the channel loses nothing for a while from then on, every packet ends. This is stronger
//!   than "no deadlock": wherever losses have led, the link recovers as soon as they end.
//!
//! The tests print the number of states: `cargo test -p arq model -- --nocapture`.

mod llp;
mod rlp;

/// Tells whether the delivered packets came once and in order. If `lossless`, none may be missing
/// in between; otherwise, packets may have been abandoned.
fn in_order<N: Copy + Into<u64>>(delivered: &[N], lossless: bool) -> bool {
    let numbers = || delivered.iter().map(|&number| number.into());
    numbers().is_sorted_by(|a, b| a < b) && (!lossless || numbers().eq(0..delivered.len() as u64))
}

/// Tells whether each delivered packet came once, in any order.
fn once(delivered: &[u64]) -> bool {
    delivered.iter().enumerate().all(|(place, number)| !delivered[..place].contains(number))
}

/// Tells whether each of one end's `packets` packets was delivered at the other end or abandoned.
fn all_ended<N: Copy + Into<u64>>(packets: u64, delivered: &[N], abandoned: &[N]) -> bool {
    (0..packets).all(|number| delivered.iter().chain(abandoned).any(|&one| one.into() == number))
}
