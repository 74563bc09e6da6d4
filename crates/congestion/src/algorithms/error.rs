//! Errors of loading, listing and unloading congestion controls.

/// Error of a function on congestion controls.
#[derive(Debug, thiserror::Error)]
pub enum AlgorithmError {
    /// No algorithm has this name.
    #[error("there is no congestion control `{name}` to load: {hint}")]
    Unknown {
        /// The name that was given.
        name: String,
        /// The name that may have been meant, or all names.
        hint: String,
    },
    /// The algorithm has no such parameter.
    #[error("`{algorithm}` has no parameter `{name}`: {hint}")]
    Parameter {
        /// The algorithm.
        algorithm: &'static str,
        /// The name that was given.
        name: String,
        /// The name that may have been meant, or all names.
        hint: String,
    },
    /// A setting is not NAME=NUMBER.
    #[error("`{text}` is not a parameter setting: write NAME=NUMBER, such as gain=5")]
    Setting {
        /// The text that was given.
        text: String,
    },
    /// A parameter is too large or too small.
    #[error("{name}={value} is out of range: expected {least} to {most} ({meaning})")]
    Range {
        /// The parameter.
        name: &'static str,
        /// The value that was given.
        value: u32,
        /// The smallest value.
        least: u32,
        /// The largest value.
        most: u32,
        /// What the parameter means.
        meaning: &'static str,
    },
    /// A parameter was given twice.
    #[error("{name} is given twice")]
    Twice {
        /// The parameter.
        name: &'static str,
    },
    /// The kernel cannot register this name.
    #[error("`{name}` cannot be the name of a congestion control: use letters, digits and _, 15 at most")]
    Name {
        /// The name that was given.
        name: String,
    },
    /// The name is taken.
    #[error("`{name}` is already registered {by}")]
    Taken {
        /// The name.
        name: String,
        /// Who registered it, and what to do.
        by: &'static str,
    },
    /// lasthop loaded no congestion control of this name.
    #[error("lasthop has not loaded a congestion control `{name}`: {hint}")]
    NotLoaded {
        /// The name that was given.
        name: String,
        /// What is loaded.
        hint: String,
    },
    /// This kernel cannot load congestion controls as eBPF.
    #[error("this kernel cannot load congestion controls as eBPF: {0}")]
    Unsupported(String),
    /// This user may not load congestion controls.
    #[error(
        "this user may not load congestion controls ({0}): run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_SYS_ADMIN"
    )]
    Rights(String),
    /// The kernel refuses the program.
    #[error("the kernel refuses `{name}`: {reason}")]
    Load {
        /// The algorithm.
        name: &'static str,
        /// Message of the kernel or libbpf.
        reason: String,
    },
    /// The objects in the BPF file system cannot be pinned, read or removed.
    #[error("{0}")]
    Pin(String),
    /// A list in `/proc/sys` cannot be read.
    #[error("cannot read {path}: {error}")]
    Read {
        /// The file.
        path: String,
        /// The error of the system.
        error: std::io::Error,
    },
    /// A sysctl of a namespace cannot be read or written.
    #[error(transparent)]
    System(#[from] netlab::Error),
}
