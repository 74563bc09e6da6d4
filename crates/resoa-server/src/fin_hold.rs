//! FIN hold: eBPF programs at tc hold the far host's FIN until the client has all data before it
//! (3.18, 8.3 of the specification).
//!
//! An ordinary kernel acknowledges a FIN on arrival. The programs of `bpf/` do not prevent that:
//! they correct its acknowledgements on their way out, so that to the far host the FIN, and only
//! the FIN, seems lost. The kernel does not know this, which has three consequences (8.2):
//!
//! * The server sends no FIN of its own while one is held (rule b). [`KernelTcp`](crate::KernelTcp)
//!   ensures that.
//! * At the release, the kernel has nothing to send. So a raw socket sends a copy of the last
//!   segment that was held, with the right acknowledgement number. If that is lost, the far host's
//!   FIN comes again and the kernel answers by itself.
//! * After our own FIN, the kernel sends no RST at an abort (rule c). The raw socket sends one, and
//!   the programs send another whenever the far host asks again.
//!
//! Programs and socket marks disappear with the process.

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
