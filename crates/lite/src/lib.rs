//! TCP Lite: damaged segments delivered to programs that ask for them, on a stock kernel by eBPF.
//!
//! S. Alfredsson, *TCP Lite* (2001), and S. Alfredsson and A. Brunstrom, *TCP-L: Allowing Bit
//! Errors in Wireless TCP*. A program says by a socket option that it can use damaged data
//! ([`option`], `tcp_lite(7)`); a segment with a wrong checksum is then acknowledged and delivered
//! in place, damage included, so that only real losses look like congestion to the sender.
//!
//! * [`Lite`] loads the programs of `bpf/` and attaches them to a control group and to interfaces.
//! * [`Settings`] says by which rule damaged segments are judged; the algorithm as a pure function,
//!   which the programs are held to, is the crate [`recovery`].
//! * [`Totals`] counts what became of them.

mod attach;
mod error;
pub mod inspect;
pub mod option;
pub mod pinned;
mod settings;
mod totals;

pub use attach::Lite;
pub use error::LiteError;
pub use recovery::{Localization, Mode, Parameters, Policy, Reason, Track};
pub use settings::Settings;
pub use totals::Totals;
