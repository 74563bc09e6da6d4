//! Loss differentiation in a kernel: what our congestion controls did in whole runs, held against
//! the formulas, against Linux's own, and against what links really lost.
//!
//! | file | what it holds |
//! |---|---|
//! | `recorded` | recorded states of senders agree with the oracle `loss_differentiation` at every ACK and every loss event |
//! | `follow`, `rules`, `tally` | how one sender is followed |
//! | `scenes`, `states` | plans, and the senders that they record |
//! | `beside_linux` | newreno is reno, byte by byte; the others that Linux has as well come near to its own |
//! | `truth` | verdicts beside what was really lost |
//! | `parameters` | parameters that plans set |
//! | `own_control` | congestion controls of workloads |
//! | `coarse` | what a coarse clock costs |
//!
//! All of it goes by the virtual clock, whose kernel has the algorithms, and is skipped without it.

mod beside_linux;
mod coarse;
mod follow;
#[path = "../lab/mod.rs"]
mod lab;
mod own_control;
mod parameters;
mod recorded;
mod rules;
mod scenes;
mod states;
mod tally;
mod truth;
