//! The structure of the text behind a command's options (`after_help`), so that pages can show it
//! in sections.

/// Text behind a command's options, divided into parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HelpText<'a> {
    /// Explanations, and lists with a heading of their own, in the order of the text.
    pub prose: Vec<Block<'a>>,
    /// The paragraph about the exit status; empty if the text has none.
    pub exit_status: Vec<Block<'a>>,
    /// Command lines under `Examples:`, and under the headings after it.
    pub examples: Vec<Block<'a>>,
}

/// Lines that belong together.
#[derive(Debug, PartialEq, Eq)]
pub enum Block<'a> {
    /// A paragraph, which may be wrapped elsewhere.
    Paragraph(Vec<&'a str>),
    /// Indented lines, which stay as they are, without the indentation that they share.
    Literal(Vec<&'a str>),
}

/// How a paragraph about the exit status begins.
const EXIT_STATUS: [&str; 2] = ["The exit status is ", "Exit status: "];
/// The heading of the command lines.
const EXAMPLES: &str = "Examples:";
/// Indentation of literal lines.
const INDENT: &str = "  ";

impl<'a> HelpText<'a> {
    /// Divides `text`. Empty lines separate its paragraphs; indented lines are literal.
    pub fn parse(text: &'a str) -> Self {
        let mut parts = Self::default();
        let mut in_examples = false;
        for paragraph in text.split("\n\n") {
            let mut blocks = blocks(paragraph);
            if paragraph.starts_with(EXAMPLES) {
                in_examples = true;
                blocks.remove(0);
            }
            if in_examples {
                parts.examples.append(&mut blocks);
            } else if EXIT_STATUS.iter().any(|beginning| paragraph.starts_with(beginning)) {
                parts.exit_status.append(&mut blocks);
            } else {
                parts.prose.append(&mut blocks);
            }
        }
        parts
    }
}

fn blocks(paragraph: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block> = Vec::new();
    for line in paragraph.lines().filter(|line| !line.trim().is_empty()) {
        match (line.strip_prefix(INDENT), blocks.last_mut()) {
            (Some(literal), Some(Block::Literal(lines))) => lines.push(literal),
            (Some(literal), _) => blocks.push(Block::Literal(vec![literal])),
            (None, Some(Block::Paragraph(lines))) => lines.push(line),
            (None, _) => blocks.push(Block::Paragraph(vec![line])),
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use Block::{Literal, Paragraph};

    #[test]
    fn a_text_with_every_part() {
        let text = "\
One paragraph
in two lines.

The exit status is the program's.

FORM is one of:
  a
    b

Examples:
  lasthop x

Then:
  ss -ti";
        let expected = HelpText {
            prose: vec![
                Paragraph(vec!["One paragraph", "in two lines."]),
                Paragraph(vec!["FORM is one of:"]),
                Literal(vec!["a", "  b"]),
            ],
            exit_status: vec![Paragraph(vec!["The exit status is the program's."])],
            examples: vec![Literal(vec!["lasthop x"]), Paragraph(vec!["Then:"]), Literal(vec!["ss -ti"])],
        };
        assert_eq!(HelpText::parse(text), expected);
    }

    #[test]
    fn a_text_without_parts() {
        assert_eq!(HelpText::parse(""), HelpText::default());
        let only = HelpText::parse("Examples:\n  lasthop x");
        assert!(only.prose.is_empty() && only.exit_status.is_empty());
        assert_eq!(only.examples, [Literal(vec!["lasthop x"])]);
    }

    /// A status in the middle of a paragraph would be missing from the section of that name.
    #[test]
    fn every_exit_status_begins_a_paragraph() {
        fn check(command: &clap::Command) {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let parts = HelpText::parse(&text);
            for block in parts.prose.iter().chain(&parts.examples) {
                let (Paragraph(lines) | Literal(lines)) = block;
                let text = lines.join(" ").to_lowercase();
                assert!(!text.contains("exit status"), "lasthop {}: {text}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&<crate::arguments::Arguments as clap::CommandFactory>::command());
    }
}
