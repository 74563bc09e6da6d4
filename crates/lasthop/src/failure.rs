//! The error type of all subcommands.

/// Error of a subcommand; the user sees its text unchanged.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
