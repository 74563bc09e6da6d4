//! Pages of the commands: one for each subcommand of `lasthop`, from clap's definition.

use super::{Page, table, wrapped};
use crate::arguments::Arguments;
use clap::builder::{StyledStr, ValueRange};
use clap::{Arg, ArgAction, Command, CommandFactory as _};
use std::fmt::Write as _;

/// Returns a page for each subcommand, and the one that lists them.
pub fn pages() -> Vec<Page> {
    let mut root = Arguments::command();
    root.build();
    let shown: Vec<_> = shown(&root).collect();
    let rows = shown.iter().map(|command| {
        let name = command.get_name();
        [format!("[`lasthop {name}`](command-{name}.md)"), sentence(command.get_about())]
    });
    let list = Page {
        file: "commands.md".to_owned(),
        title: "Commands".to_owned(),
        about: "This page lists the subcommands of `lasthop` and their exit statuses. You need it to find \
                a command, or to use lasthop in a script."
            .to_owned(),
        body: table(["command", "what it does"], rows) + "\n" + STATUSES,
    };
    std::iter::once(list).chain(shown.iter().map(|command| page(command))).collect()
}

/// Exit statuses; `status.rs` and the gate's module define them.
const STATUSES: &str = "\
## Exit statuses

| status | meaning |
|---|---|
| 0 | success |
| 1 | the command failed; the last line on standard error says why |
| 2 | the command line is invalid |
| 125 | `link`, `tcp-lite run`, `resoa run`: lasthop itself failed, and the program may not have run |
| 126 | the same commands: the program cannot be executed |
| 127 | the same commands: the program was not found |
| others | the same commands: the status of the program |

A command with statuses of its own lists them on its page. `lasthop kernel build` ends with 4 if the
source of the kernel cannot be fetched.

## Environment

| variable | meaning |
|---|---|
| `LASTHOP_CACHE` | folder of the virtual-time kernel (default: `lasthop` in `$XDG_CACHE_HOME` or `~/.cache`) |
| `LASTHOP_LINK_LIBRARY` | path of the library with the links of the virtual clock (default: `liblasthop_link.so` beside the command or in lib/lasthop) |
| `LASTHOP_STATE_DIR` | folder in which running links and objects to clean up are recorded |
| `LASTHOP_RESOA` | socket of the agent of remote sockets |
| `LASTHOP_HOST` | set for programs behind a link: address of the network's end |
| `LASTHOP_KEEP` | set for programs of `link --clock virtual --keep`: folder whose files are kept |
| `NO_COLOR` | if set, output has no colours |
";

/// Returns the visible subcommands.
fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set())
}

fn page(command: &Command) -> Page {
    let name = command.get_name();
    let about = sentence(command.get_about());
    Page {
        file: format!("command-{name}.md"),
        title: format!("lasthop {name}"),
        about: format!(
            "This page lists the options of `lasthop {name}`: {}. You need it to look up an option, its \
             unit or its default.",
            lower_first(&about)
        ),
        body: described(command, &format!("lasthop {name}"), 2),
    }
}

/// Describes a command and, below it, its subcommands.
fn described(command: &Command, path: &str, level: usize) -> String {
    let mut text = String::new();
    let mut command_for_usage = command.clone();
    let usage = command_for_usage.render_usage().to_string();
    let usage =
        usage.trim_start_matches("Usage:").trim().lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let _ = writeln!(text, "```text\n{usage}\n```\n");
    if let Some(about) = command.get_long_about() {
        let _ = writeln!(text, "{}\n", wrapped(&plain(about)));
    }
    let aliases: Vec<_> = command.get_all_aliases().map(|alias| format!("`{alias}`")).collect();
    if !aliases.is_empty() {
        let _ = writeln!(text, "Former name: {}.\n", aliases.join(", "));
    }
    let (options, positionals): (Vec<_>, Vec<_>) = command
        .get_arguments()
        .filter(|argument| {
            !argument.is_hide_set() && !matches!(argument.get_id().as_str(), "help" | "version")
        })
        .partition(|argument| !argument.is_positional());
    if !positionals.is_empty() {
        let rows = positionals.iter().map(|argument| [signature(argument), meaning(argument)]);
        let _ = writeln!(text, "{}", table(["argument", "meaning"], rows));
    }
    if !options.is_empty() {
        let rows = options.iter().map(|argument| [signature(argument), meaning(argument)]);
        let _ = writeln!(text, "{}", table(["option", "meaning"], rows));
    }
    if let Some(after) = command.get_after_long_help().or_else(|| command.get_after_help()) {
        let _ = writeln!(text, "```text\n{}\n```\n", plain(after).trim_end());
    }
    for sub in shown(command) {
        let path = format!("{path} {}", sub.get_name());
        let about = wrapped(&format!("{}.", sentence(sub.get_about())));
        let _ = writeln!(text, "{} {path}\n\n{about}\n", "#".repeat(level));
        text += &described(sub, &path, level + 1);
    }
    text
}

/// Returns an argument as it is written on the command line.
fn signature(argument: &Arg) -> String {
    let takes_value = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    let names: Vec<_> =
        argument.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
    let name = if names.is_empty() { argument.get_id().to_string().to_uppercase() } else { names.join(" ") };
    let optional = argument.get_num_args().is_some_and(|range: ValueRange| range.min_values() == 0);
    if argument.is_positional() {
        let repeated = argument.get_num_args().is_some_and(|range| range.max_values() > 1);
        return format!("`{name}{}`", if repeated { "…" } else { "" });
    }
    let short = argument.get_short().map(|short| format!("-{short}"));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let flags: Vec<_> = short.into_iter().chain(long).collect();
    match (takes_value, optional) {
        (true, true) => format!("`{} [{name}]`", flags.join("`, `")),
        (true, false) => format!("`{} {name}`", flags.join("`, `")),
        (false, _) => format!("`{}`", flags.join("`, `")),
    }
}

/// Returns the help of an argument, with its values and its default.
fn meaning(argument: &Arg) -> String {
    let mut text = argument.get_help().map(plain).unwrap_or_default();
    if matches!(argument.get_action(), ArgAction::Set | ArgAction::Append) {
        let values = argument.get_possible_values();
        let values: Vec<_> = values.iter().filter(|value| !value.is_hide_set()).collect();
        if !values.is_empty() {
            let list = values.iter().map(|value| match value.get_help() {
                Some(help) => format!("`{}` ({})", value.get_name(), lower_first(&plain(help))),
                None => format!("`{}`", value.get_name()),
            });
            let _ = write!(text, ". Values: {}", list.collect::<Vec<_>>().join(", "));
        }
        let defaults: Vec<_> =
            argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
        if !defaults.is_empty() {
            let _ = write!(text, " [default: {}]", defaults.join(", "));
        }
    }
    escaped(&text)
}

/// Keeps words in angle and square brackets from being read as HTML or links.
fn escaped(text: &str) -> String {
    text.replace('<', "&lt;").replace("](", "]\\(")
}

fn plain(text: &StyledStr) -> String {
    text.to_string()
}

fn sentence(about: Option<&StyledStr>) -> String {
    about.map(plain).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    let is_word = text.chars().nth(1).is_some_and(char::is_lowercase);
    match letters.next() {
        Some(first) if is_word => first.to_lowercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}
