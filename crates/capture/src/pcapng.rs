//! pcapng, written: what Wireshark opens.
//!
//! Each end of a link is an interface, `NAME host end` and `NAME network end`, seen from the
//! machine at that end: what enters the link there is outbound, what leaves it there is inbound. A
//! packet is recorded where it enters and, if it is delivered, where it leaves; a comment on each
//! tells its fate. [`Writer`] knows the format and [`Order`] brings the packets into the order of
//! time, once the fate of each is known.
//!
//! Format: draft-ietf-opsawg-pcapng; link types of <https://www.tcpdump.org/linktypes.html>.
//! Reading is in [`crate::packets`].

mod order;
pub mod words;
mod write;

pub use order::{Order, OrderReport};
pub use write::{Interface, Packet, Writer};

#[cfg(test)]
mod tests;
