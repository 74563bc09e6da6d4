//! Packets as bytes: headers read and rewritten in place, checksums, and segments kept whole.
//!
//! This crate is the only place in the project that knows the offset of a field. It does no I/O and keeps no clock.
//!
//! * [`Frame`] is what a link carries: the bytes of one MTU-sized packet, either its own or a part of a larger segment
//!   that the kernel handed over in one piece (see [`whole`]).
//! * [`headers`] finds where each header starts and which [`headers::Region`] of a packet is what.
#![forbid(unsafe_code)]

mod frame;

pub use frame::{Frame, Layer};
