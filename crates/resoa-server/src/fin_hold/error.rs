//! Errors of the FIN hold.

use std::io;

/// Reason why FINs are not held.
#[derive(Debug, thiserror::Error)]
pub enum FinHoldError {
    /// The kernel refuses the programs.
    #[error("cannot load the eBPF programs that hold FINs of far hosts: {0}; Linux 6.6 or later is needed")]
    Load(String),
    /// This user lacks the privileges to load the programs.
    #[error(
        "this user may not load the eBPF programs that hold FINs of far hosts ({0}): run as root or with CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW, \
         or go without the hold"
    )]
    Rights(String),
    /// The interface cannot be used.
    #[error("cannot hold FINs at the interface `{name}`: {reason}")]
    Interface {
        /// Name of the interface.
        name: String,
        /// Reason why it cannot be used.
        reason: String,
    },
    /// No interface was named.
    #[error("no interfaces for holding FINs: name the interfaces that lead to far hosts")]
    NoInterface,
    /// The raw socket for acknowledgements cannot be opened.
    #[error(
        "cannot open a raw socket for acknowledgements of held FINs ({0}): run as root or with CAP_NET_RAW, or go without the hold"
    )]
    RawSocket(io::Error),
    /// The programs' maps cannot be read.
    #[error("cannot read the counters of held FINs: {0}")]
    Read(String),
}

impl From<tcx::Refusal> for FinHoldError {
    fn from(refusal: tcx::Refusal) -> Self {
        match refusal {
            tcx::Refusal::Load(why) => Self::Load(why),
            tcx::Refusal::Rights(why) => Self::Rights(why),
        }
    }
}
