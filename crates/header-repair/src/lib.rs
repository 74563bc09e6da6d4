//! TCP Lite: delivers a damaged TCP segment instead of dropping it. The header is repaired from
//! what is known of the connection.
//!
//! Alfredsson and Brunstrom ("TCP-L: Allowing Bit Errors in Wireless TCP", section II) describe
//! five phases. This crate implements these phases as a pure function: no I/O, no clock, no
//! randomness. [`Receiver::packet`] takes the bytes of one IP packet, the time and a way to query
//! the socket, and returns a [`SegmentVerdict`]. On [`SegmentVerdict::Accept`] the header in the
//! bytes has been repaired; otherwise the bytes are unchanged.
//!
//! | phase | what happens | where |
//! |---|---|---|
//! | 1 detect | is the checksum right? A right segment passes untouched, and its connection's [`Track`] learns from it | [`detect`], [`Track::learn`] |
//! | 2 localize | which connection does a damaged segment belong to, even if its ports were hit? | [`localize`] |
//! | 3 risk analysis | which fields are doubtful, and is the place in the stream one where data can be? | [`fields`] (the paper's tables), [`header_length`], [`confirm`], [`place`], [`policy`], [`ByteWindow`], [`Bucket`]; put together in [`risk`] |
//! | 4 salvage | the header that is written: constants restored, the rest confirmed or from the template | [`salvage`] |
//! | 5 discard | everything doubtful ends with one [`Reason`]; the sender will send it again | [`Counters`] |
//!
//! One thing goes beyond the paper: the received checksum, assumed to be intact, *confirms* a
//! repair if it matches the header with one field replaced. Then the damage was in that field, and
//! the payload is intact. Otherwise the segment is accepted unconfirmed and its range of the stream
//! is recorded in [`Ranges`]. The rate of repairs that are guesses is limited.
//!
//! [`Mode::Thesis`] is the behaviour of the thesis (Alfredsson, "TCP Lite", section 4.3), which
//! trusts every header; see [`thesis`].
//!
//! The same algorithm runs in the kernel as an eBPF program. This crate is its oracle: both must
//! treat the same packets identically, to the bit.
#![forbid(unsafe_code)]

mod bucket;
mod byte_window;
pub mod confirm;
mod connections;
mod counters;
pub mod detect;
pub mod fields;
pub mod header_length;
pub mod localize;
pub mod options;
mod parameters;
pub mod place;
pub mod policy;
mod ranges;
mod receiver;
pub mod risk;
pub mod salvage;
#[cfg(test)]
mod sample;
pub mod sequence;
mod socket;
pub mod thesis;
mod track;
mod tuple;
mod verdict;

pub use bucket::Bucket;
pub use byte_window::ByteWindow;
pub use counters::Counters;
pub use parameters::{Localization, Mode, Parameters};
pub use policy::Policy;
pub use ranges::Ranges;
pub use receiver::Receiver;
pub use socket::{Settings, SocketView, Sockets};
pub use track::{Handshake, Track};
pub use tuple::{Pair, Tuple};
pub use verdict::{Acceptance, Reason, SegmentVerdict};
