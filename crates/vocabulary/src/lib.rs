//! Vocabulary shared by models of links, captures, campaigns and reports.
//!
//! * [`units`]: points in time, time spans, rates, sizes and probabilities, with their text forms.
//! * [`LinkId`], [`Direction`], [`Sending`]: where and when a packet was on a link.
//! * [`Loss`], [`ChannelState`], [`Cause`]: why a packet was lost, and how a sender should have
//!   classified the loss.
//! * [`link_layer`]: records of the ends of a link layer with retransmissions.
//!
//! A link model produces these values, the event log stores them, and the analysis reads them.
//! There is one type for each, so no conversion is needed in between.
#![forbid(unsafe_code)]

pub mod link_layer;
mod loss;
mod place;
pub mod units;

pub use loss::{Cause, ChannelState, Loss};
pub use place::{Direction, LinkId, Sending};
