//! The multi-layer view: the sender and the receiver of TCP, and of the link layer below it, on one time axis (Ludwig's MultiTracer,
//! 3.2.1 and 3.2.4; LL-17 to LL-21).
//!
//! [`graph`] is what a view is made of, whoever draws it.

pub mod graph;
