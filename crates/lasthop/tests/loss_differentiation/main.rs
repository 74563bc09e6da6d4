//! Tests of loss differentiation in a kernel: the behaviour of lasthop's congestion controls in
//! whole runs, compared with the formulas, with Linux's own controls, and with the true causes of
//! losses.
//!
//! | file | content |
//! |---|---|
//! | `recorded` | recorded sender states agree with the oracle `loss_differentiation` at every ACK and loss event |
//! | `follow`, `rules`, `tally` | how one sender is compared with the oracle |
//! | `scenes`, `states` | plans, and the senders that they record |
//! | `beside_linux` | newreno equals reno, byte for byte; the others behave nearly as Linux's own |
//! | `truth` | verdicts compared with the true causes |
//! | `parameters` | parameters set by plans |
//! | `own_control` | congestion controls of workloads |
//! | `coarse` | the cost of a coarse clock |
//!
//! All tests use the virtual clock, whose kernel has the algorithms, and are skipped without it.

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
