//! Why a command failed.

/// The error of a subcommand, which the user sees as it is.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
