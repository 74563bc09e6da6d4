//! Manual pages from the definition of the command line. Options and lists of subcommands come from
//! `clap_mangen`; the other sections are made here, from usage, descriptions and help texts.

use super::help_text::{Block, HelpText};
use crate::status::{FAILURE, USAGE};
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

/// Section of the manual for commands.
const SECTION: &str = "1";
/// Manual that the pages belong to, in their heading.
const MANUAL: &str = "User Commands";

/// A manual page.
pub struct Page {
    /// Name of its file, such as `lasthop-link.1`.
    pub file: String,
    /// The page in the language of man(7).
    pub text: String,
}

/// Returns the pages of `command` and of all visible subcommands below it. `date` is in their last
/// line.
pub fn pages(mut command: Command, date: &str) -> Vec<Page> {
    command.build();
    let source = format!("{} {}", command.get_name(), command.get_version().unwrap_or_default());
    let mut pages = Vec::new();
    collect(&command, None, [date, &source], &mut pages);
    pages
}

fn collect(command: &Command, parent: Option<&str>, [date, source]: [&str; 2], pages: &mut Vec<Page>) {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let title = [name, SECTION, date, source, MANUAL];
    pages.push(Page { file: format!("{name}.{SECTION}"), text: page(command, parent, title) });
    for subcommand in visible(command) {
        collect(subcommand, Some(name), [date, source], pages);
    }
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set())
}

/// Returns the text of a page.
fn page(command: &Command, parent: Option<&str>, title: [&str; 5]) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let help = HelpText::parse(&after);

    let mut head = Roff::new();
    head.control("TH", [&title[0].to_uppercase(), title[1], title[2], title[3], title[4]]);
    head.control("SH", ["NAME"]);
    head.text([roman(format!("{} - {}", title[0], lower_case(&about)))]);
    head.control("SH", ["SYNOPSIS"]);
    synopsis(&mut head, command.clone());
    head.control("SH", ["DESCRIPTION"]);
    head.text([roman(format!("{about}."))]);
    for block in &help.prose {
        head.control("PP", []);
        show(&mut head, block);
    }

    let mut tail = Roff::new();
    tail.control("SH", ["EXIT STATUS"]);
    if help.exit_status.is_empty() {
        tail.text([roman(format!(
            "0 on success, {FAILURE} after an error, {USAGE} for an invalid command line."
        ))]);
    }
    show_all(&mut tail, &help.exit_status);
    if !help.examples.is_empty() {
        tail.control("SH", ["EXAMPLES"]);
        show_all(&mut tail, &help.examples);
    }
    see_also(&mut tail, command, parent);

    [head.render(), from_clap(command), tail.to_roff()].concat()
}

/// Returns the sections that `clap_mangen` makes.
fn from_clap(command: &Command) -> String {
    let man = Man::new(command.clone());
    let mut sections = Vec::new();
    man.render_options_section(&mut sections).expect("memory can be written");
    if visible(command).next().is_some() {
        man.render_subcommands_section(&mut sections).expect("memory can be written");
    }
    let sections = String::from_utf8(sections).expect("clap has only text");
    // Each section repeats the definition at the top of the page. Empty lines and repeated breaks
    // have no meaning in man(7).
    let definition = Roff::new().render();
    let sections = sections.replace(&definition, "");
    let mut lines: Vec<_> = sections.lines().filter(|line| !line.is_empty()).collect();
    lines.dedup_by(|next, line| *line == ".br" && next == line);
    lines.join("\n") + "\n"
}

/// Writes the usage, one line for each form of the command line.
fn synopsis(roff: &mut Roff, mut command: Command) {
    let usage = command.render_usage().to_string();
    let forms = usage.trim_start_matches("Usage:").lines().map(str::trim).filter(|form| !form.is_empty());
    for (number, form) in forms.enumerate() {
        if number > 0 {
            roff.control("br", []);
        }
        roff.text(words(form, command.get_bin_name().unwrap_or_else(|| command.get_name())));
    }
}

/// Sets the command's name bold and its placeholders (`<FILE>`) italic.
fn words(form: &str, name: &str) -> Vec<Inline> {
    let mut inlines = vec![bold(name)];
    let mut rest = form.strip_prefix(name).unwrap_or(form);
    while let Some((before, (placeholder, after))) =
        rest.split_once('<').and_then(|(before, after)| Some((before, after.split_once('>')?)))
    {
        inlines.extend([roman(before), italic(placeholder)]);
        rest = after;
    }
    inlines.push(roman(rest));
    inlines
}

/// Writes the blocks at the beginning of a section.
fn show_all(roff: &mut Roff, blocks: &[Block]) {
    for (number, block) in blocks.iter().enumerate() {
        if number > 0 {
            roff.control("PP", []);
        }
        show(roff, block);
    }
}

/// Writes paragraphs filled, and literal lines as they are.
fn show(roff: &mut Roff, block: &Block) {
    match block {
        Block::Paragraph(lines) => {
            for line in lines {
                roff.text([roman(*line)]);
            }
        }
        Block::Literal(lines) => {
            roff.control("RS", ["2"]).control("EX", []);
            for line in lines {
                roff.text([roman(*line)]);
            }
            roff.control("EE", []).control("RE", []);
        }
    }
}

/// Refers to the page of the command above this one, and to pages that are not generated.
fn see_also(roff: &mut Roff, command: &Command, parent: Option<&str>) {
    let others = match command.get_display_name() {
        Some("lasthop-tcp-lite" | "lasthop-tcp-lite-run" | "lasthop") | None => Some(("tcp_lite", "7")),
        _ => None,
    };
    let pages: Vec<_> = parent.map(|name| (name, SECTION)).into_iter().chain(others).collect();
    roff.control("SH", ["SEE ALSO"]);
    for (number, (name, section)) in pages.iter().enumerate() {
        let comma = if number + 1 < pages.len() { "," } else { "" };
        roff.text([bold(*name), roman(format!("({section}){comma}"))]);
    }
}

/// Returns a description for the NAME section, which is not a sentence.
fn lower_case(about: &str) -> String {
    let mut characters = about.chars();
    match (characters.next(), about.chars().nth(1)) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(characters).collect()
        }
        _ => about.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;
    use clap::CommandFactory;

    fn page_of(file: &str) -> String {
        let pages = pages(Arguments::command(), "2026-11-26");
        pages.into_iter().find(|page| page.file == file).expect("there is such a page").text
    }

    #[test]
    fn a_page_of_every_command() {
        let pages = pages(Arguments::command(), "");
        for file in ["lasthop.1", "lasthop-link.1", "lasthop-link-set.1", "lasthop-resoa-serve.1"] {
            assert!(pages.iter().any(|page| page.file == file), "{file}");
        }
        for Page { file, text } in pages {
            for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "\"EXIT STATUS\"", "\"SEE ALSO\""] {
                assert_eq!(text.matches(&format!(".SH {section}\n")).count(), 1, "{file}: {section}");
            }
            assert!(!text.contains("\n\n"), "{file} has an empty line");
        }
    }

    #[test]
    fn the_page_of_a_command_with_every_section() {
        insta::assert_snapshot!(page_of("lasthop-link-set.1"));
        let link = page_of("lasthop-link.1");
        assert!(link.contains(".SH \"EXIT STATUS\"\nThe exit status is the program"), "{link}");
        assert!(link.contains(".SH SUBCOMMANDS\n"), "{link}");
        assert!(!link.contains("split"), "hidden options stay hidden");
    }
}
