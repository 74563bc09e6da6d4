//! What can go wrong with congestion controls.

/// Why one is not there.
#[derive(Debug, thiserror::Error)]
pub enum AlgorithmError {
    /// There is none of this name.
    #[error("there is no congestion control `{name}` to load: {hint}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What may have been meant, or what there is.
        hint: String,
    },
    /// It has no such parameter.
    #[error("`{algorithm}` has no parameter `{name}`: {hint}")]
    Parameter {
        /// Of which algorithm.
        algorithm: &'static str,
        /// What was asked for.
        name: String,
        /// What may have been meant, or what there is.
        hint: String,
    },
    /// A parameter is written wrong.
    #[error("`{text}` is no parameter: write NAME=NUMBER, as in gain=5")]
    Setting {
        /// What was written.
        text: String,
    },
    /// A parameter is too large or too small.
    #[error("{name}={value} is out of range: from {least} to {most} ({meaning})")]
    Range {
        /// The parameter.
        name: &'static str,
        /// What it should have been.
        value: u32,
        /// The least that it can be.
        least: u32,
        /// The most.
        most: u32,
        /// What it is.
        meaning: &'static str,
    },
    /// A parameter was given twice.
    #[error("{name} is given twice")]
    Twice {
        /// The parameter.
        name: &'static str,
    },
    /// The kernel could not register it under this name.
    #[error("`{name}` is no name for a congestion control: use letters, digits and _, 15 at most")]
    Name {
        /// What was asked for.
        name: String,
    },
    /// The name is taken.
    #[error("`{name}` is registered already, {by}")]
    Taken {
        /// The name.
        name: String,
        /// By whom, and what to do.
        by: &'static str,
    },
    /// Nothing of ours has this name.
    #[error("no congestion control `{name}` was loaded by lasthop: {hint}")]
    NotLoaded {
        /// What was asked for.
        name: String,
        /// What there is.
        hint: String,
    },
    /// This kernel cannot.
    #[error("this kernel takes no congestion control as eBPF: {0}")]
    Unsupported(String),
    /// This user may not.
    #[error(
        "this user may not load congestion controls ({0}): run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_SYS_ADMIN"
    )]
    Rights(String),
    /// The kernel refuses it.
    #[error("the kernel refuses `{name}`: {reason}")]
    Load {
        /// The algorithm.
        name: &'static str,
        /// What it or libbpf says.
        reason: String,
    },
    /// It cannot be kept, found or taken back.
    #[error("{0}")]
    Pin(String),
    /// A list of the kernel's cannot be read.
    #[error("read {path}: {error}")]
    Read {
        /// The file.
        path: String,
        /// Why not.
        error: std::io::Error,
    },
    /// A setting of the kernel cannot be read or written.
    #[error(transparent)]
    System(#[from] netlab::Error),
}
