//! Model checking of the shipped functions: all states of a client, a server, a TCP connection to a
//! far host, and the programs at both ends.
//!
//! Buffers hold one or two bytes, and a few bytes go each way. Messages and segments may be delayed
//! for any time, but stay in order. In every reachable state, whatever a program may conclude is
//! true (`always`). Where no further step is possible, every call has returned and nothing is left
//! at either half. Each step uses something up, so every path reaches such an end. The invariants
//! are those of the thesis (7.4.2) and of the specification's 5.2.
//! `cargo test -p resoa-protocol model -- --nocapture` prints the number of states.
//!
//! Each [`Mutation`](crate::settings::Mutation) is a mistake that one of the models detects (C104).

mod accepting;
mod connecting;
mod far;
mod inclusion;
mod mutants;
pub(crate) mod program;
mod reference;
mod stream;
pub(crate) mod world;
