//! The program behind a link, and how it ended.

use crate::keeper::Exit;
use std::ffi::OsString;
use std::process::ExitCode;

/// A program, its arguments, and what its environment has besides the caller's.
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
    /// `program` with `arguments`.
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

    /// The words, for a list.
    pub(super) fn for_people(&self) -> Vec<String> {
        std::iter::once(&self.program)
            .chain(&self.arguments)
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }
}

/// How the program ended, or why it never began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It ran.
    Exited(Exit),
    /// It could not be executed.
    NotStarted {
        /// 126: found and not executable; 127: not found.
        code: u8,
        /// The program and the reason.
        message: String,
    },
}

impl Ended {
    /// The exit status as a shell has it: the program's own, 128 + n for signal n, 126 or 127.
    #[must_use]
    pub fn status(&self) -> u8 {
        match self {
            Self::Exited(Exit::Code(code)) | Self::NotStarted { code, .. } => *code,
            Self::Exited(Exit::Signal(signal)) => 128_u8.saturating_add(*signal as u8),
        }
    }

    /// The same as an exit code of this process.
    #[must_use]
    pub fn code(&self) -> ExitCode {
        ExitCode::from(self.status())
    }

    /// What to tell people if it never began.
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
        assert_eq!(Ended::Exited(Exit::Code(3)).status(), 3);
        assert_eq!(Ended::Exited(Exit::Signal(libc::SIGINT)).status(), 130);
        assert_eq!(Ended::NotStarted { code: 127, message: String::new() }.status(), 127);
    }
}
