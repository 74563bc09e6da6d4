//! From a plan to cells, runs and their results.
//!
//! A [`plan::Plan`] is an experiment as a file. It has *cells*, the combinations of the levels of
//! its factors. Each cell is *run* as often as there are repetitions. A [`campaign::Campaign`]
//! starts a process for each run, [`run::execute`] is the work of such a process, and the results
//! are in the run directory (crate `results`).
//!
//! | module | what |
//! |---|---|
//! | [`plan`] | the plan file, its errors, and the experiment that it describes for a cell |
//! | [`scenario`], [`routes`], [`stack`], [`acceptance`] | nodes, links, paths, TCP, damage |
//! | [`roles`] | programs on nodes beside the workloads: remote sockets, split proxies, DHCP |
//! | [`attached`] | interfaces and namespaces of the host at nodes |
//! | [`workload`] | traffic and its measurements |
//! | [`duration`] | bounds on the duration of a run, from the plan |
//! | [`run`] | one run, in its own namespaces |
//! | [`campaign`] | all runs: order, processes, resuming, the run directory |
//! | [`catalogue`], [`recording`], [`capacity`] | profiles by name; fates from the event loop to the recorder, and what limiters can send (`lasthop link` uses them as well) |
#![forbid(unsafe_code)]

pub mod acceptance;
pub mod attached;
pub mod campaign;
pub mod capacity;
pub mod catalogue;
pub mod duration;
pub mod parameters;
pub mod plan;
pub mod recording;
pub mod rlp_trace;
pub mod roles;
pub mod routes;
pub mod run;
pub mod scenario;
pub mod stack;
pub mod workload;
