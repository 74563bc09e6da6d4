//! The subcommands, one module each.

pub mod cc;
pub mod compare;
pub mod doctor;
pub mod fit;
pub mod kernel;
pub mod link;
pub mod lite;
pub mod profiles;
pub mod recover;
pub mod report;
pub mod resoa;
pub mod retrace;
pub mod rto;
pub mod run;
pub mod self_check;
pub mod trace;
