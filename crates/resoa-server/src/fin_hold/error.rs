//! Why FINs cannot be held.

use std::io;

/// Why FINs are not held.
#[derive(Debug, thiserror::Error)]
pub enum FinHoldError {
    /// The kernel refuses the programs.
    #[error("cannot load the eBPF programs that hold FINs of far hosts: {0}; Linux 6.6 or later is needed")]
    Load(String),
    /// This user may not.
    #[error(
        "this user may not load the eBPF programs that hold FINs of far hosts ({0}): run as root or with CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW, \
         or go without the hold"
    )]
    Rights(String),
    /// The interface cannot be used.
    #[error("cannot hold FINs at the interface `{name}`: {reason}")]
    Interface {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is none.
    #[error("no interfaces for holding FINs: name the interfaces that lead to far hosts")]
    NoInterface,
    /// Acknowledgements cannot be sent.
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
