//! Every state of a client, a server, a TCP connection to a far host, and the programs at both
//! ends: the shipped functions under a model checker.
//!
//! Buffers hold one or two octets, and a few octets go each way. Messages and segments wait as long
//! as they like, in order. In each state that can be reached, what a program may conclude is true
//! (`always`); and where nothing can happen any more, every call has returned and nothing is left
//! at either half. Since each step uses up something, that is every way to the end. Invariants are
//! those of the thesis (7.4.2) and of the specification's 5.2;
//! `cargo test -p resoa-protocol model -- --nocapture` prints the number of states.
//!
//! Each [`Mutation`](crate::settings::Mutation) is a mistake that one of them finds (C104).

mod accepting;
mod connecting;
mod far;
mod inclusion;
mod mutants;
pub(crate) mod program;
mod reference;
mod stream;
pub(crate) mod world;
