//! Why FINs cannot be held.

use std::io;

/// Why FINs are not held.
#[derive(Debug, thiserror::Error)]
pub enum FinHoldError {
    /// The kernel refuses the programs.
    #[error("the eBPF programs that hold a far host's FIN do not load: {0}; Linux 6.6 or later is needed")]
    Load(String),
    /// This user may not.
    #[error(
        "this user may not load the eBPF programs that hold a far host's FIN ({0}): run as root or with CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW, \
         or go without the hold"
    )]
    Rights(String),
    /// The interface cannot be used.
    #[error("FINs cannot be held at the interface `{name}`: {reason}")]
    Interface {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is none.
    #[error("no interface was named at which FINs are to be held: name those by which far hosts are reached")]
    NoInterface,
    /// Acknowledgements cannot be sent.
    #[error(
        "no raw socket for the acknowledgement of a FIN that was held ({0}): run as root or with CAP_NET_RAW, or go without the hold"
    )]
    RawSocket(io::Error),
    /// The programs' maps cannot be read.
    #[error("read what became of FINs: {0}")]
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
