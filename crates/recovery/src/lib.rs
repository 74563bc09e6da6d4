//! TCP Lite: a damaged TCP segment is delivered instead of dropped, its header repaired from what
//! is known of the connection.
//!
//! Alfredsson and Brunstrom ("TCP-L: Allowing Bit Errors in Wireless TCP", section II) describe
//! five phases. This crate is those five phases as a pure function: no I/O, no clock, no
//! randomness. [`Receiver::packet`] is given the bytes of one IP packet, the time and a way to ask
//! the socket, and answers with a [`Verdict`]; on [`Verdict::Accept`] the header in the bytes has
//! been repaired, otherwise not a bit of them has changed.
//!
//! | phase | what happens | where |
//! |---|---|---|
//! | 1 detect | is the checksum right? A right segment passes untouched, and its connection's [`Track`] learns from it | [`detect`], [`Track::learn`] |
//! | 2 localize | which connection does a damaged segment belong to, even if its ports were hit? | [`localize`] |
//! | 3 risk analysis | which fields are doubtful, and is the place in the stream one where data can be? | [`fields`] (the paper's tables), [`header_length`], [`confirm`], [`place`], [`policy`], [`ByteWindow`], [`Bucket`]; put together in [`risk`] |
//! | 4 salvage | the header that is written: constants restored, the rest confirmed or from the template | [`salvage`] |
//! | 5 discard | everything doubtful ends with one [`Reason`]; the sender will send it again | [`Counters`] |
//!
//! What goes beyond the paper: the received checksum, taken for right, *confirms* a repair if it
//! fits to the header with one field replaced; then the damage was in that field and the payload is
//! intact. Otherwise the segment is accepted unconfirmed, its range of the stream is noted in
//! [`Ranges`], and repairs that were guesses are limited in their rate.
//!
//! The thesis (Alfredsson, "TCP Lite", section 4.3), which trusts every header, is
//! [`Mode::Thesis`]; see [`thesis`].
//!
//! The same algorithm runs in the kernel as an eBPF program. This crate is its oracle: what the two
//! do to the same packets must be the same to the bit.
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
pub use verdict::{Acceptance, Reason, Verdict};
