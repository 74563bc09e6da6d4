//! ReTracer: the throughput that a bulk transfer would have had on a recorded channel with frames
//! of another size (Ludwig 3.1.2, 3.1.4).
//!
//! Forward error correction and interleaving determine which blocks of a channel are erased,
//! whatever frames the link layer puts into them. So one block erasure trace
//! ([`link::blocks::BlockTrace`]) shows what frames of every size would have met:
//!
//! ```
//! use retracer::{Channel, Link, Start, sweep};
//!
//! // 258 s of GSM-CSD, one block in a hundred erased, at even distances.
//! let channel = Channel::new(&retracer::even(12_900, 129))?;
//! let sweep = sweep(&channel, &Link::GSM, 300_000, Start::Block(0), 1..=30)?;
//! let best = sweep.best().expect("some frame gets through");
//! assert_eq!(best.transfer.unit.blocks, 4);
//! assert_eq!(best.transfer.throughput(&Link::GSM).round(), 1368.0);
//! # Ok::<(), retracer::RetraceError>(())
//! ```
//!
//! * [`replay`]: sends units of a number of blocks over the trace until enough of them have
//!   arrived.
//! * [`mod@sweep`]: link-layer recovery with frames of every size, and the best one.
//! * [`end_to_end`]: recovery by TCP alone, packet by packet, for comparison.
//! * [`mod@even`], [`synthetic`]: generated traces.
//!
//! The results are for a best case: recovery is selective and never gives up, no window is ever
//! exhausted, the link always has data to send, and congestion control does not matter. So they are
//! upper bounds: tight for TCP over a link with recovery, often loose for TCP alone.
#![forbid(unsafe_code)]

pub mod end_to_end;
mod error;
pub mod even;
pub mod replay;
pub mod sweep;
pub mod synthetic;

pub use end_to_end::{Comparison, Packets, compare};
pub use error::RetraceError;
pub use even::even;
pub use replay::{Channel, Start, Transfer, Unit};
pub use sweep::{Frame, Link, Sweep, covering_size, sweep};
