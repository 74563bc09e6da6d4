//! Compares `lasthop link` with other emulators, with the bare veth pair, and with a bare
//! forwarder.
//!
//! Every contender runs the same sender behind its link, and the same receiver measures at the
//! other end. Contenders take turns within one run, so that other load on the machine affects all
//! of them alike. The result is the ratio.

#![forbid(unsafe_code)]

pub mod compare;
pub mod contender;
pub mod experiment;
pub mod floor;
pub mod many;
pub mod measure;
pub mod namespace;
pub mod processor;
pub mod results;
pub mod traffic;
