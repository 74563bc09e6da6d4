//! Loss differentiation algorithms (LDAs): was a packet lost at random on a wireless link, or
//! dropped by a full queue?
//!
//! A [`Detector`] takes what one end of a connection sees (delays and arrivals), and returns a
//! [`Judgement`] whenever packets were lost. [`reduced`] applies the verdict to the congestion
//! window. [`Sender`] is a whole NewReno sender around it. All of this is arithmetic on arguments:
//! no clock, no I/O, no randomness.
//!
//! ```
//! use loss_differentiation::{Algorithm, Detector, Form, Loss, Reduction, LossVerdict, reduced};
//!
//! let mut newzag = Detector::new(Algorithm::NewZag, Form::SenderOnly);
//! for rtt_us in [53_000.0, 55_000.0, 54_000.0, 60_000.0, 80_000.0, 52_000.0] {
//!     newzag.sample(rtt_us);
//! }
//! let judged = newzag.judge(Loss { n: 1, cwnd: 105 });
//! assert_eq!(judged.verdict, LossVerdict::Wireless); // 52 ms is below the mean of 55.05 ms
//! assert_eq!(reduced(105, judged.verdict, Reduction::default()), 84);
//! ```
//!
//! | file | what is there | source |
//! |---|---|---|
//! | [`Statistics`], [`Gain`], [`Quantum`] | mean and deviation of delays; the clock they are read from | eq. 5.3 and 5.4, section 5.2.4 |
//! | `zones` | ZigZag, NewZag v1 and v2: the limit depends on how many packets were lost | eq. 5.2, sections 5.2.1 and 5.3.3 |
//! | `spike` | Spike: a state machine over the least delay | section 5.1 |
//! | `spacing` | Biaz and mBiaz: the gap that lost packets leave | eq. 5.1 |
//! | `backlog` | Veno: how many packets lie in queues | section 5.1, Linux's module |
//! | [`Window`], [`Sender`] | NewReno's window rules, with the changed decrease | sections 5.2.2 and 5.2.3, RFC 5681, RFC 6582 |
//! | [`throughput`] | what theory expects of a detector | spec 3.10.12 |
//!
//! Equations, sections and tables are those of the thesis that introduced NewZag (chapter 5).
//! "Spec" is our reading of it; AMB-N1 to AMB-N16 are its decisions where the thesis is ambiguous.
//! Biaz, mBiaz, Spike and ZigZag were designed for the receiver ([`Form::Original`]). With
//! round-trip times or acknowledgements instead of what a receiver sees, they are different
//! algorithms, and are labelled so everywhere ([`Form::SenderOnly`], AMB-N3).
//!
//! The same algorithms run in kernels, in integers. This crate is their oracle.
#![forbid(unsafe_code)]

mod algorithm;
mod backlog;
mod detector;
mod quantum;
mod reduction;
mod sender;
mod spacing;
mod spike;
mod statistics;
pub mod throughput;
mod verdict;
mod window;
mod zones;

pub use algorithm::{Algorithm, Form, Signal};
pub use backlog::Backlog;
pub use detector::{Detector, Parameters};
pub use quantum::{MAX_US, Quantum};
pub use reduction::{FEWEST, Reduction, reduced, undone};
pub use sender::{BaseWindow, LossEvent, Progress, Sender, SenderOptions};
pub use spacing::{Arrival, Spacing};
pub use spike::Spike;
pub use statistics::{Gain, Statistics};
pub use verdict::{Judgement, Loss, LossVerdict, Reason};
pub use window::{Usage, Window};
pub use zones::{Zones, limit};
