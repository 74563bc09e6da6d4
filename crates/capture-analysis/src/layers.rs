//! The multi-layer view: sender and receiver of TCP and of the link layer below it, on one time
//! axis (Ludwig's MultiTracer, 3.2.1 and 3.2.4; LL-15 to LL-21).
//!
//! | file | contents |
//! |---|---|
//! | [`graph`] | the parts of a view, independent of how it is drawn |
//! | [`view`](mod@view) | the view of one direction of a connection |
//! | [`monitor`] | records of a link layer's ends, from any source |
//! | [`sender`] | the recorded states of a sender: windows and times |
//! | [`link`] | the link layer's frames, placed in a view |
//! | [`time`] | time zero, and the mapping of one clock's times to another's axis |
//! | [`clocks`] | offset and drift of two clocks |
//! | [`regression`] | lines whose slopes are rates |
//! | [`limiter`] | what a link without a link layer sent, by the event log |
//! | [`capacity`] | what it could have sent, where its rate is a trace |
//! | [`idle`] | when the link's sender sent nothing, and whether it had something to send |
//! | [`cause`] | what TCP waited for meanwhile |
//! | [`utilization`] | share of the time in which useful data was on the link |
//! | [`xpl`] | a view as a file for xplot |

pub mod capacity;
pub mod cause;
pub mod clocks;
pub mod graph;
pub mod idle;
pub mod limiter;
pub mod link;
pub mod monitor;
pub mod regression;
pub mod sender;
pub mod time;
pub mod utilization;
pub mod view;
pub mod xpl;

pub use view::{Sources, Tracing, view};
