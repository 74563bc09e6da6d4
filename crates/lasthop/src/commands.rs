//! The subcommands, one module each.

pub mod analyze;
pub mod cc;
pub mod compare;
pub mod convert;
pub mod doctor;
pub mod fit;
pub mod gate;
pub mod generate;
pub mod kernel;
pub mod link;
pub mod merge;
pub mod profiles;
pub mod record;
pub mod report;
pub mod resoa;
pub mod retracer;
pub mod rto;
pub mod run;
pub mod self_check;
pub mod serve;
pub mod tcp_lite;
pub mod watch;
