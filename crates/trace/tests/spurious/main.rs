//! Spurious retransmissions, on conversations written packet by packet: each kind of evidence, both
//! ways of being wrong.

mod alignment;
mod both_ends;
mod clocks;
mod conversation;
mod one_end;
mod response;
mod truth;
