//! The words that models of links, captures, campaigns and reports share.
//!
//! * [`units`]: instants, lengths of time, rates, sizes and probabilities, with their text forms.
//! * [`LinkId`], [`Direction`], [`Sending`]: where and when a packet was on a link.
//! * [`Loss`], [`ChannelState`], [`Cause`]: why a packet was lost, and what a sender should have
//!   taken the loss for.
//! * [`link_layer`]: what the ends of a link layer with retransmissions note.
//!
//! A model of a link produces these values, the event log stores them, and the analysis reads them:
//! there is one type for each, so none is translated on the way.
#![forbid(unsafe_code)]

pub mod link_layer;
mod loss;
mod place;
pub mod units;

pub use loss::{Cause, ChannelState, Loss};
pub use place::{Direction, LinkId, Sending};
