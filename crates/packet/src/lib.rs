//! Packets as bytes: headers read and changed in place, checksums, and segments kept whole.
//!
//! This crate is the only place in the project that knows the offset of a field. It performs no I/O
//! and uses no clock.
//!
//! * [`Frame`] is what a link carries: one MTU-sized packet. It has bytes of its own, or is a part
//!   of a larger segment that the kernel delivered in one piece (see [`whole`]).
//! * [`headers`] finds where each header starts, and the range of each [`headers::Region`].
//! * [`checksum`] verifies, completes, recomputes and spoils checksums. [`ecn`] reads and sets the
//!   ECN field.
//! * [`Check`] is the check by which a receiver detects a damaged packet.
//! * [`TcpHeader`] is the fixed part of a TCP header as a value, each [`Field`] of which can be
//!   read and set.
//! * [`segment`] reads a TCP segment with its options, as far as a capture contains it.
//! * [`rlp`] reads and writes the frames of GSM's Radio Link Protocol.
//! * [`virtio`] is the header that a TUN device with `IFF_VNET_HDR` puts before each packet.
#![forbid(unsafe_code)]

mod check;
pub mod checksum;
pub mod ecn;
mod frame;
pub mod headers;
pub mod rlp;
#[cfg(test)]
mod sample;
pub mod segment;
mod tcp_header;
pub mod virtio;
pub mod whole;

pub use check::Check;
pub use ecn::Ecn;
pub use frame::{Frame, Layer};
pub use headers::{Headers, Region, Tcp, Unreadable};
pub use segment::Segment;
pub use tcp_header::{Field, TcpHeader};
pub use whole::{Misfit, Run, Whole};
