//! Exit statuses of commands that run a program. They are those of env(1) and timeout(1), so a
//! caller can tell the program's failure from a failure of lasthop.

use std::ffi::OsString;
use std::io;

/// lasthop itself failed; the program may not have run.
pub const OWN_FAILURE: u8 = 125;
/// The program was found and cannot be executed.
const NOT_EXECUTABLE: u8 = 126;
/// The program was not found.
const NOT_FOUND: u8 = 127;
/// A failure of a command whose [`FAILURE`] is a verdict, as with grep(1) and diff(1).
const TROUBLE: u8 = 2;
/// A failure of a command that runs no program.
pub const FAILURE: u8 = 1;
/// An invalid command line, of a command that runs no program; clap's status.
pub const USAGE: u8 = 2;

/// A program that could not be started.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct NotStarted {
    message: String,
    status: u8,
}

impl NotStarted {
    /// Reports that the program does not exist; `message` names it.
    pub fn not_found(message: String) -> Self {
        Self { message, status: NOT_FOUND }
    }

    /// Reports that `program` could not be started, with the reason.
    pub fn new(program: &str, error: &io::Error) -> Self {
        let status = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE };
        Self { message: format!("cannot start {program}: {error}"), status }
    }
}

/// The properties of a command line that decide the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    runs_a_program: bool,
    /// Whether the status of failure is a verdict.
    judges: bool,
}

impl Asked {
    /// Reads the arguments after the command's own name, which clap may have rejected.
    pub fn of(arguments: impl Iterator<Item = OsString>) -> Self {
        let words: Vec<_> = arguments.take(2).map(|word| word.to_string_lossy().into_owned()).collect();
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let looks_at_links = matches!(words[..], ["link", "list" | "set"]);
        let runs = matches!(
            words[..],
            ["link" | crate::commands::link::SUBCOMMAND, ..] | ["tcp-lite" | "lite" | "resoa", "run"]
        );
        Self { runs_a_program: runs && !looks_at_links, judges: matches!(words[..], ["gate", ..]) }
    }

    /// Returns the exit status for `error`.
    pub fn failed(self, error: &(dyn std::error::Error + 'static)) -> u8 {
        match error.downcast_ref::<NotStarted>() {
            Some(not_started) => not_started.status,
            None if self.runs_a_program => OWN_FAILURE,
            None if self.judges => TROUBLE,
            None => FAILURE,
        }
    }

    /// Returns the exit status for a command line that clap rejected or that asked for help.
    pub fn not_run(self, error: &clap::Error) -> u8 {
        match (error.use_stderr(), self.runs_a_program) {
            (false, _) => 0,
            (true, true) => OWN_FAILURE,
            (true, false) => USAGE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Asked {
        Asked::of(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn commands_that_run_a_program() {
        for line in
            ["link -- true", "link", "link --qiet -- true", "lite run -- true", "resoa run true", "__link x"]
        {
            assert!(asked(line).runs_a_program, "{line}");
        }
        for line in
            ["link list", "link set 1 up x", "lite status", "resoa serve", "run plan.toml", "", "trace link"]
        {
            assert!(!asked(line).runs_a_program, "{line}");
        }
    }

    #[test]
    fn failures_of_ours_and_of_starting() {
        let ours = io::Error::other("no such device");
        assert_eq!(asked("link -- true").failed(&ours), 125);
        assert_eq!(asked("clean").failed(&ours), 1);
        assert_eq!(asked("gate plan.toml").failed(&ours), 2);
        for (kind, status) in [(io::ErrorKind::NotFound, 127), (io::ErrorKind::PermissionDenied, 126)] {
            assert_eq!(asked("lite run -- x").failed(&NotStarted::new("x", &kind.into())), status);
        }
    }
}
