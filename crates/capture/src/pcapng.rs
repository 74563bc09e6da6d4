//! Writing of pcapng, the format of Wireshark.
//!
//! Each end of a link is an interface, `NAME host end` and `NAME network end`, as seen from the
//! machine at that end: packets that enter the link there are outbound, packets that leave it there
//! are inbound. A packet is recorded where it enters and, if it is delivered, where it leaves. A
//! comment on each record tells its fate. [`Writer`] writes the format. [`Order`] sorts packets by
//! time once their fates are known.
//!
//! Format: draft-ietf-opsawg-pcapng; link types of <https://www.tcpdump.org/linktypes.html>. The
//! reader is [`crate::packets`].

mod order;
pub mod words;
mod write;

pub use order::{Order, OrderReport};
pub use write::{Interface, Packet, Writer};

#[cfg(test)]
mod tests;
