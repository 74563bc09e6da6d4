//! The program behind a link, and how it ended.

use crate::keeper::Exit;
use std::ffi::OsString;
use std::process::ExitCode;

/// A program, its arguments, and additions to the caller's environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// A path, or a name to be found in PATH.
    pub program: OsString,
    /// Arguments after the name.
    pub arguments: Vec<OsString>,
    /// Variables to set besides `LASTHOP` and `LASTHOP_HOST`.
    pub environment: Vec<(OsString, OsString)>,
}

impl CommandLine {
    /// Returns the command line of `program` with `arguments`.
    pub fn new<A: Into<OsString>>(
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: Vec::new(),
        }
    }

    /// Returns the words as text, for lists of runs.
    pub(super) fn for_people(&self) -> Vec<String> {
        std::iter::once(&self.program)
            .chain(&self.arguments)
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }
}

/// How the program ended, or why it did not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandEnd {
    /// It ran.
    Exited(Exit),
    /// It could not be executed.
    NotStarted {
        /// 126: found but not executable; 127: not found.
        code: u8,
        /// The program and the reason.
        message: String,
    },
}

impl CommandEnd {
    /// Returns the exit status as shells define it: the program's own, 128 + n for signal n, 126 or
    /// 127.
    #[must_use]
    pub fn status(&self) -> u8 {
        match self {
            Self::Exited(Exit::Code(code)) | Self::NotStarted { code, .. } => *code,
            Self::Exited(Exit::Signal(signal)) => 128_u8.saturating_add(*signal as u8),
        }
    }

    /// Returns the status as an exit code of this process.
    #[must_use]
    pub fn code(&self) -> ExitCode {
        ExitCode::from(self.status())
    }

    /// Returns the message to show if the program did not start.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::NotStarted { message, .. } => Some(message),
            Self::Exited(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_those_of_a_shell() {
        assert_eq!(CommandEnd::Exited(Exit::Code(3)).status(), 3);
        assert_eq!(CommandEnd::Exited(Exit::Signal(libc::SIGINT)).status(), 130);
        assert_eq!(CommandEnd::NotStarted { code: 127, message: String::new() }.status(), 127);
    }
}
