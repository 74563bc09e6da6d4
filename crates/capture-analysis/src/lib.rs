//! Analysis of captures: TCP connections, retransmissions and their reasons, round-trip times, and
//! long silences.
//!
//! ```no_run
//! use std::path::Path;
//! use capture_analysis::analysis::{self, AnalysisOptions, Unwatched};
//!
//! let trace = analysis::read(Path::new("x.pcapng"), &AnalysisOptions::default(), &mut Unwatched)?;
//! for interface in &trace.interfaces {
//!     for connection in interface.connections.all() {
//!         println!("{}: {} bytes", connection.end(0), connection.halves[0].unique_bytes());
//!     }
//! }
//! # Ok::<(), capture_analysis::TraceError>(())
//! ```
//!
//! [`analysis`] reads a capture once. Memory use depends on the number of connections, not on their
//! length. A packet goes through [`layer2`], `packet::segment` and [`connections`] into the two
//! [`half`]s of its [`connection`].
//!
//! Where tcptrace has a field, its definition holds here ([`long`] prints these fields as tcptrace
//! does), so that figures can be compared with those of others (TL-16). What tcptrace does not
//! report is counted in separate fields.
#![forbid(unsafe_code)]

pub mod analysis;
pub mod connection;
pub mod connections;
mod error;
pub mod fuzz;
pub mod half;
pub mod idle;
pub mod layer2;
pub mod layers;
pub mod long;
pub mod loss_events;
pub mod points;
pub mod retransmission;
pub mod round_trip;
pub mod row;
pub mod sent;
pub mod sequence;
pub mod sequence_number;
pub mod spurious;
pub mod table;
pub mod throughput;
pub mod window;
pub mod xpl;

pub use analysis::{Analysis, AnalysisOptions, Trace};
pub use connection::{Connection, Status};
pub use error::TraceError;
