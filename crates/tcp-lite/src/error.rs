//! Errors of loading and attaching.

use std::io;
use std::path::PathBuf;

/// Error of TCP Lite.
#[derive(Debug, thiserror::Error)]
pub enum LiteError {
    /// The kernel refuses the programs.
    #[error("cannot load the eBPF programs of TCP Lite: {0}")]
    Load(String),
    /// This user may not load eBPF programs.
    #[error(
        "this user may not load eBPF programs ({0}): run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_SYS_ADMIN"
    )]
    Rights(String),
    /// The control group cannot be used.
    #[error("cannot attach TCP Lite to the control group `{}`: {reason}", path.display())]
    ControlGroup {
        /// Its directory.
        path: PathBuf,
        /// Why it cannot be used.
        reason: String,
    },
    /// The interface cannot be used.
    #[error("cannot attach TCP Lite to the interface `{name}`: {reason}")]
    Interface {
        /// Its name.
        name: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// The objects in the BPF file system cannot be pinned, read or removed.
    #[error("{0}")]
    Pin(String),
    /// A map cannot be read.
    #[error("cannot read the counters of TCP Lite: {0}")]
    Read(io::Error),
}

impl From<tcx::Refusal> for LiteError {
    fn from(refusal: tcx::Refusal) -> Self {
        match refusal {
            tcx::Refusal::Load(why) => Self::Load(why),
            tcx::Refusal::Rights(why) => Self::Rights(why),
        }
    }
}
