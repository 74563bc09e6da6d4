//! Spurious retransmissions, on conversations written packet by packet: each kind of evidence, with
//! cases for both verdicts.

mod alignment;
mod both_ends;
mod clocks;
mod conversation;
mod one_end;
mod response;
mod truth;
