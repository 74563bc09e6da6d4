//! `lasthop generate`: writes files that are derived from the definition of the command line.

mod help_text;
mod man;
mod reference;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::pipe;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory, Subcommand};
use clap_complete::Shell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Arguments of `lasthop generate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lasthop generate man man1 && man man1/lasthop-link.1
  lasthop generate completions bash > ~/.local/share/bash-completion/completions/lasthop
  lasthop generate completions zsh > ~/.zfunc/_lasthop
  lasthop generate completions fish > ~/.config/fish/completions/lasthop.fish")]
pub struct GenerateArguments {
    /// The subcommand to run
    #[command(subcommand)]
    pub verb: GenerateVerb,
}

/// Subcommands of `lasthop generate`.
#[derive(Debug, Subcommand)]
pub enum GenerateVerb {
    /// Write a manual page of each command to a directory
    Man(ManArguments),
    /// Write the reference pages of the documentation to a directory, as Markdown
    Reference {
        /// Directory to write to, created if missing; pages that it contains are replaced
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Print the completion script of a shell
    Completions {
        /// Shell to complete command lines in
        #[arg(value_name = "SHELL", value_parser = shell())]
        shell: Shell,
    },
}

/// Arguments of `lasthop generate man`.
#[derive(Debug, Args)]
pub struct ManArguments {
    /// Directory to write to, created if missing; pages that it contains are replaced
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Date in the pages' last line, such as the date of a release [default: no date]
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = date)]
    pub date: Option<String>,
}

/// Runs the subcommand.
pub fn run(arguments: &GenerateArguments) -> Result<i32, Failure> {
    match &arguments.verb {
        GenerateVerb::Man(ManArguments { directory, date }) => {
            write_pages(directory, date.as_deref().unwrap_or_default()).map(|()| 0)
        }
        GenerateVerb::Reference { directory } => reference::write(directory).map(|()| 0),
        GenerateVerb::Completions { shell } => pipe::status(print_completions(*shell)),
    }
}

fn write_pages(directory: &Path, date: &str) -> Result<(), Failure> {
    let cannot = |path: &Path, error: io::Error| format!("cannot write {}: {error}", path.display());
    std::fs::create_dir_all(directory).map_err(|error| cannot(directory, error))?;
    for page in man::pages(Arguments::command(), date) {
        let path = directory.join(&page.file);
        std::fs::write(&path, page.text).map_err(|error| cannot(&path, error))?;
    }
    Ok(())
}

fn print_completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "lasthop", &mut script);
    Ok(io::stdout().write_all(&script)?)
}

/// Accepts the shells whose completions are tested and packaged.
fn shell() -> impl TypedValueParser<Value = Shell> {
    PossibleValuesParser::new(["bash", "zsh", "fish"])
        .map(|name| name.parse().expect("clap_complete has them"))
}

/// Parses the date of the pages. Its order is checked, its calendar is not.
fn date(text: &str) -> Result<String, String> {
    let pattern = "dddd-dd-dd";
    let matches = text.len() == pattern.len()
        && text.bytes().zip(pattern.bytes()).all(|(byte, expected)| match expected {
            b'd' => byte.is_ascii_digit(),
            dash => byte == dash,
        });
    if matches { Ok(text.to_owned()) } else { Err("expected a date such as 2026-11-26".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds every argument of every command, as release builds do not.
    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn dates_of_pages() {
        assert_eq!(date("2026-11-26"), Ok("2026-11-26".to_owned()));
        for wrong in ["", "26 Nov 2026", "2026-11-2", "2026/11/26", "2026-11-26 "] {
            assert!(date(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn completions_know_subcommands_and_options() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "lasthop", &mut script);
            let script = String::from_utf8(script).expect("text");
            for word in ["self-check", "resoa", "profile", "clock", "virtual"] {
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
    }
}
