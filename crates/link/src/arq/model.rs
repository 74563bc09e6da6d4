//! Every state of two ends and the channel between them, for small windows and moduli: the shipped functions under a model checker.
//!
//! What is checked in each state that can be reached: packets are delivered once, in order and intact (`always`); and from there a channel that
//! loses nothing for a while brings everything to its end (`always`, which is stronger than "no deadlock": wherever losses have led, the
//! link recovers as soon as they end). The number of states is printed; `cargo test -p link arq::model -- --nocapture` shows it.

mod llp;
mod rlp;
