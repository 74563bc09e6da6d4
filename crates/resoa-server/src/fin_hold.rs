//! The far host's FIN, held by eBPF programs at tc until the client has what came before it (3.18,
//! 8.3 of the specification).
//!
//! An ordinary kernel acknowledges a FIN when it arrives. The programs of `bpf/` let it: what it
//! says is corrected on its way out, so that to the far host the FIN seems lost, and nothing else
//! does. Three things follow from the kernel not knowing (8.2):
//!
//! * the server sends no FIN of its own while one is held (rule b), which
//!   [`KernelTcp`](crate::KernelTcp) sees to;
//! * when it is released there is nothing that the kernel would say, so a copy of the last segment
//!   that was held goes out of a raw socket, with the right number; if that is lost, the far host's
//!   FIN comes again and the kernel answers for itself;
//! * an abort behind our own FIN is one that the kernel is silent about (rule c): RST is made in
//!   the same way, and again whenever the far host asks.
//!
//! Programs and marks of sockets are gone with the process.

mod attach;
mod connection;
mod error;
mod interfaces;
mod records;
mod segment;

pub use attach::FinHold;
pub(crate) use connection::Connection;
pub use error::FinHoldError;
pub use records::Counts;
