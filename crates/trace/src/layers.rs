//! The multi-layer view: the sender and the receiver of TCP, and of the link layer below it, on one time axis (Ludwig's MultiTracer,
//! 3.2.1 and 3.2.4; LL-15 to LL-21).
//!
//! | file | what is there |
//! |---|---|
//! | [`graph`] | what a view is made of, whoever draws it |
//! | [`time`] | time zero, and how one clock's times come onto another's axis |
//! | [`clocks`] | offset and drift of two clocks |
//! | [`regression`] | slopes that say a rate |

pub mod clocks;
pub mod graph;
pub mod regression;
pub mod time;
