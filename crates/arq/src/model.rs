//! Every state of two ends and the channel between them, for small windows and moduli: the shipped
//! functions under a model checker.
//!
//! What is checked in each state that can be reached: packets are delivered once, in order and
//! intact (`always`); and from there a channel that loses nothing for a while brings everything to
//! its end (`always`, which is stronger than "no deadlock": wherever losses have led, the link
//! recovers as soon as they end). The number of states is printed;
//! `cargo test -p arq model -- --nocapture` shows it.

mod llp;
mod rlp;

/// Whether what an end delivered came once and in order, and without abandoning with nothing
/// missing between.
fn in_order<N: Copy + Into<u64>>(delivered: &[N], lossless: bool) -> bool {
    let numbers = || delivered.iter().map(|&number| number.into());
    numbers().is_sorted_by(|a, b| a < b) && (!lossless || numbers().eq(0..delivered.len() as u64))
}

/// Whether what an end delivered came once, in whatever order.
fn once(delivered: &[u64]) -> bool {
    delivered.iter().enumerate().all(|(place, number)| !delivered[..place].contains(number))
}

/// Whether each of so many packets of one end was delivered at the other, or abandoned.
fn all_ended<N: Copy + Into<u64>>(packets: u64, delivered: &[N], abandoned: &[N]) -> bool {
    (0..packets).all(|number| delivered.iter().chain(abandoned).any(|&one| one.into() == number))
}
