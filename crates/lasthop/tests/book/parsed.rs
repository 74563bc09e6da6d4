//! Commands that are parsed only: what they name must exist.
//!
//! For `lasthop` that is a subcommand with these options and values, by the definition of its
//! command line. Scripts, make targets and packages of the workspace must exist as well.

use crate::page::{Block, Content, Page, is_command};
use std::process::Command;

/// Error kinds of clap that a code span may cause: it names a command or an option, and need not be
/// complete; `PORT` may stand for a number.
const INCOMPLETE: [&str; 5] = [
    "MissingRequiredArgument",
    "MissingSubcommand",
    "DisplayHelpOnMissingArgumentOrSubcommand",
    "InvalidValue",
    "ValueValidation",
];
/// Packages of the workspace that are not in `crates/`.
const ELSEWHERE: [&str; 2] = ["bench", "media-examples"];

/// Parses all commands of `page` that are not run.
pub fn check(page: &Page) -> Result<(), String> {
    let mut wrong = Vec::new();
    for block in &page.blocks {
        let Content::Parsed(reason) = &block.content else { continue };
        if reason.is_none() && page.reason.is_none() {
            wrong.push(format!(
                "{}:{}: say why these commands are not run: ```console parsed: REASON, or <!-- parsed only: REASON -->",
                page.path, block.line
            ));
        }
        for command in commands(block) {
            if let Err(why) = parse(&command, false) {
                wrong.push(format!("{}:{}: {command}\n{why}", page.path, block.line));
            }
        }
    }
    for (span, line) in &page.spans {
        if span.starts_with("lasthop ")
            && !span.contains(['…', '['])
            && let Err(why) = parse(span, true)
        {
            wrong.push(format!("{}:{line}: {span}\n{why}", page.path));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Returns the commands of a block, without prompts and output.
pub fn commands(block: &Block) -> Vec<String> {
    let has_prompts = block.text.lines().any(|line| line.starts_with("$ "));
    let mut commands = Vec::new();
    let mut continued = false;
    for line in block.text.lines() {
        let line = line.trim_end();
        // Without prompts, lines that start other programs are not told from output.
        let command = match line.strip_prefix("$ ") {
            Some(command) => command,
            None if continued || (!has_prompts && is_command(line.trim_start())) => line.trim_start(),
            None => continue,
        };
        let (text, more) = command.strip_suffix('\\').map_or((command, false), |text| (text, true));
        match commands.last_mut() {
            Some(last) if continued => *last = format!("{last}{text}"),
            _ => commands.push(text.to_owned()),
        }
        continued = more;
    }
    commands
}

/// Checks everything that a line of the shell starts and that is part of this repository.
fn parse(line: &str, may_be_incomplete: bool) -> Result<(), String> {
    let words = shlex::split(line).ok_or("quotes do not match")?;
    let ends = |word: &String| {
        matches!(word.as_str(), "|" | "&&" | "||" | ";" | "&" | "&)")
            || word.starts_with(['>', '<'])
            || word.starts_with("2>")
    };
    for (index, word) in words.iter().enumerate() {
        let rest = &words[index + 1..];
        let rest = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
        match word.as_str() {
            "lasthop" | "target/release/lasthop"
                if is_started(&words[..index]) && !rest.is_empty() && !rest[0].starts_with("__") =>
            {
                lasthop(rest, may_be_incomplete)?;
            }
            "make" if index == 0 => {
                let makefile = std::fs::read_to_string(crate::root().join("Makefile")).unwrap_or_default();
                for target in rest.iter().filter(|word| !word.contains('=') && !word.starts_with('-')) {
                    if !makefile.lines().any(|line| line.starts_with(&format!("{target}:"))) {
                        return Err(format!("the Makefile has no target {target}"));
                    }
                }
            }
            "cargo" if rest.first().is_some_and(|command| command == "test" || command == "run") => {
                let package = rest.iter().skip_while(|word| *word != "-p" && *word != "--package").nth(1);
                if let Some(package) = package
                    && !crate::root().join("crates").join(package).exists()
                    && !ELSEWHERE.contains(&package.as_str())
                {
                    return Err(format!("there is no package {package}"));
                }
            }
            script if script.starts_with("scripts/") => {
                let script = script.trim_end_matches(',');
                if !crate::root().join(script).exists() {
                    return Err(format!("there is no {script}"));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns whether the word behind these is a program that the shell or another program starts.
fn is_started(before: &[String]) -> bool {
    let [.., verb, last] = before else { return before.iter().all(|word| starts_next(word)) };
    starts_next(last) || verb == "exec"
}

/// Returns whether a word is followed by a program: an operator, a program that starts another, or
/// a variable of its environment.
fn starts_next(word: &str) -> bool {
    matches!(word, "|" | "&&" | "||" | ";" | "&" | "sudo" | "--" | "nice" | "do" | "then" | "{" | "exec")
        || (word.contains('=') && !word.starts_with('-'))
}

/// Lets `lasthop` parse these arguments without executing them.
fn lasthop(arguments: &[String], may_be_incomplete: bool) -> Result<(), String> {
    let parsed = Command::new(env!("CARGO_BIN_EXE_lasthop"))
        .arg("__parse")
        .args(arguments)
        .output()
        .map_err(|error| error.to_string())?;
    let kind = String::from_utf8_lossy(&parsed.stdout);
    if parsed.status.success() || (may_be_incomplete && INCOMPLETE.contains(&kind.trim())) {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&parsed.stderr).into_owned())
}
