//! Retransmission timers of TCP as pure functions of round-trip times, and the bulk transfer on
//! which they are compared (Ludwig 3.4; LL-30 to LL-33).
//!
//! * [`timer`]: input and output of every timer; [`TimerAlgorithm`] names them.
//! * [`bsd`], [`rfc6298`], [`linux`], [`eifel`]: the timers, from their formulas and rules, in
//!   real arithmetic.
//! * [`bulk`]: a network-limited bulk transfer in steady state, with one round-trip time per
//!   acknowledgment: Ludwig's spreadsheet.
//! * [`mod@cycles`]: cycles of a measured transfer, and the model of a cycle.
//! * [`mod@follow`]: timers over measured round-trip times.
//!
//! ```
//! use timers::{TimerAlgorithm, Settings, bulk::{Bulk, Regime}};
//!
//! // The load grows from 20 to 40 segments and is halved, over and over; a segment takes one second.
//! let bulk = Bulk::new(40, 1.0, 12, Regime::NetworkLimited)?;
//! let lite = bulk.run(TimerAlgorithm::Lite, Settings::default());
//! let summary = bulk.last_cycle(&lite);
//! // The timer's fault: at full load the timeout has come down to the round-trip time.
//! assert!(summary.least_ratio < 1.01);
//! # Ok::<(), timers::bulk::BulkError>(())
//! ```
#![forbid(unsafe_code)]

pub mod bsd;
pub mod bulk;
pub mod cycles;
pub mod eifel;
pub mod follow;
pub mod linux;
pub mod rfc6298;
pub mod timer;

pub use cycles::cycles;
pub use follow::{Followed, follow};
pub use timer::{Estimate, Sample, Settings, Timer, TimerAlgorithm};
