//! TCP Lite: delivers damaged segments to programs that ask for them, on a stock kernel with eBPF.
//!
//! Sources: S. Alfredsson, *TCP Lite* (2001), and S. Alfredsson and A. Brunstrom, *TCP-L: Allowing
//! Bit Errors in Wireless TCP*. A program says by a socket option that it can use damaged data
//! ([`option`], `tcp_lite(7)`). A segment with a wrong checksum is then acknowledged and delivered
//! in place, damage included, so that only real losses look like congestion to the sender.
//!
//! * [`Lite`] loads the programs of `bpf/` and attaches them to a control group and to interfaces.
//! * [`Settings`] chooses the rules for damaged segments. The crate [`header_repair`] has the
//!   algorithm as a pure function, against which the programs are tested.
//! * [`Totals`] counts the outcomes.

mod attach;
mod error;
pub mod inspect;
pub mod option;
pub mod pinned;
mod settings;
mod totals;

pub use attach::Lite;
pub use error::LiteError;
pub use header_repair::{Localization, Mode, Parameters, Policy, Reason, Track};
pub use settings::Settings;
pub use totals::Totals;
