//! From a plan to cells, runs and their results.
//!
//! A [`plan::Plan`] is an experiment as a file. It has *cells*, the combinations of levels of its
//! factors; each cell is *run* as often as there are repetitions. A [`campaign::Campaign`] hands
//! runs to processes of their own, [`run::execute`] is what happens in one of them, and the run
//! directory (crate `results`) is what stays.
//!
//! | module | what |
//! |---|---|
//! | [`plan`] | the file, its errors, and what it means for a cell |
//! | [`scenario`], [`routes`], [`stack`], [`acceptance`] | nodes and links, ways through them, TCP of a node, what it makes of damage |
//! | [`workload`] | traffic and what is measured of it |
//! | [`run`] | one run, in namespaces of its own |
//! | [`campaign`] | all runs: order, processes, resuming, the run directory |
//! | [`catalogue`], [`recording`], [`capacity`] | profiles by name; fates from the event loop to the recorder, and what limiters can send (`lasthop link` uses them as well) |
#![forbid(unsafe_code)]

pub mod acceptance;
pub mod campaign;
pub mod capacity;
pub mod catalogue;
pub mod parameters;
pub mod plan;
pub mod recording;
pub mod rlp_trace;
pub mod routes;
pub mod run;
pub mod scenario;
pub mod stack;
pub mod workload;
