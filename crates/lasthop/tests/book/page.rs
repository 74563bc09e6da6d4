//! A Markdown page: its code blocks, links and headings.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

/// Start of a comment that gives the reason why a page's commands are parsed only.
const REASON: &str = "<!-- parsed only: ";
/// First words of lines in blocks without a language that are commands.
const PROGRAMS: [&str; 9] = ["lasthop", "cargo", "scripts/", "make", "sudo", "npm", "git", "pip", "resoa-"];

/// A page of the repository.
#[derive(Debug)]
pub struct Page {
    /// Path below the root of the repository.
    pub path: String,
    /// The whole text.
    pub text: String,
    /// Code blocks in order.
    pub blocks: Vec<Block>,
    /// Destinations of links and images, with the line of each.
    pub links: Vec<(String, usize)>,
    /// Anchors of the headings.
    pub anchors: Vec<String>,
    /// Code spans, with the line of each.
    pub spans: Vec<(String, usize)>,
    /// Why the page's commands are parsed only, if the page says so.
    pub reason: Option<String>,
}

/// A code block.
#[derive(Debug, Clone)]
pub struct Block {
    /// What it contains.
    pub content: Content,
    /// Its lines.
    pub text: String,
    /// Where these lines are in the page.
    pub range: Range<usize>,
    /// Line number of the first of them, counted from 1.
    pub line: usize,
}

/// What a code block contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Commands that are run, and their output.
    Run {
        /// Numbers in the output differ from run to run.
        varies: bool,
        /// Exit status of the last command.
        status: i32,
    },
    /// Commands that are parsed only; the reason, if the block gives one.
    Parsed(Option<String>),
    /// TOML of this kind, with the name of the file in which the page tells readers to save it.
    Toml(String, Option<String>),
    /// A file that the page tells readers to save under this name.
    File(String),
    /// A block without a language. [`Page::blocks`] has none of these: its lines decide.
    Unnamed,
    /// Anything else.
    Other,
}

impl Page {
    /// Reads all pages that git tracks or would track, in the order of their paths.
    pub fn all(root: &Path) -> Vec<Self> {
        let files = ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"];
        let listed =
            std::process::Command::new("git").args(files).current_dir(root).output().expect("git runs");
        let listed = String::from_utf8(listed.stdout).expect("paths are UTF-8");
        let mut paths: Vec<_> = listed.lines().filter(|path| root.join(path).exists()).collect();
        assert!(!paths.is_empty(), "git lists no pages");
        paths.sort_unstable();
        paths.dedup();
        let read = |path: &str| {
            Self::new(path.to_owned(), std::fs::read_to_string(root.join(path)).expect("a page"))
        };
        paths.into_iter().map(read).collect()
    }

    /// Reads a page from its text.
    pub fn new(path: String, text: String) -> Self {
        let mut page = Self {
            reason: reason(&text),
            path,
            blocks: Vec::new(),
            links: Vec::new(),
            anchors: Vec::new(),
            spans: Vec::new(),
            text: String::new(),
        };
        let line = |at: usize| text[..at].matches('\n').count() + 1;
        let mut block: Option<(Content, Range<usize>)> = None;
        let mut heading: Option<String> = None;
        let mut seen: HashMap<String, usize> = HashMap::new();
        for (event, range) in Parser::new_ext(&text, Options::ENABLE_TABLES).into_offset_iter() {
            match event {
                Event::Start(Tag::CodeBlock(kind)) => {
                    block = Some((content(&kind), range.end..range.end));
                }
                Event::Text(_) if block.is_some() => {
                    if let Some((_, place)) = &mut block {
                        place.start = place.start.min(range.start);
                        place.end = range.end;
                    }
                }
                Event::End(TagEnd::CodeBlock) => {
                    if let Some((content, range)) = block.take() {
                        let lines = text[range.clone()].to_owned();
                        let content = match content {
                            Content::Unnamed if is_commands(&lines) => Content::Parsed(None),
                            Content::Unnamed => Content::Other,
                            named => named,
                        };
                        page.blocks.push(Block { content, text: lines, line: line(range.start), range });
                    }
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let anchor = anchor(&heading.take().unwrap_or_default());
                    let same = seen.entry(anchor.clone()).or_insert(0);
                    page.anchors.push(if *same == 0 { anchor } else { format!("{anchor}-{same}") });
                    *same += 1;
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push((dest_url.into_string(), line(range.start)));
                }
                Event::Code(words) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                    page.spans.push((words.into_string(), line(range.start)));
                }
                Event::Text(words) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                }
                _ => {}
            }
        }
        page.text = text;
        page
    }

    /// Returns whether commands of the page are run.
    pub fn is_run(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block.content, Content::Run { .. }))
    }

    /// Returns whether commands of the page are parsed only.
    pub fn is_parsed(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block.content, Content::Parsed(_))) || !self.spans.is_empty()
    }

    /// Returns whether the page has TOML blocks.
    pub fn has_toml(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block.content, Content::Toml(..)))
    }
}

/// Returns the reason that a page gives for parsing its commands only.
fn reason(text: &str) -> Option<String> {
    let (_, rest) = text.split_once(REASON)?;
    let (reason, _) = rest.split_once("-->")?;
    Some(reason.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns the content that a block's first line announces.
fn content(kind: &CodeBlockKind) -> Content {
    let CodeBlockKind::Fenced(info) = kind else { return Content::Unnamed };
    if info.is_empty() {
        return Content::Unnamed;
    }
    let (language, rest) = info.split_once(' ').unwrap_or((info, ""));
    let words: Vec<_> = rest.split_whitespace().collect();
    match language {
        "console" if rest.starts_with("parsed: ") => {
            Content::Parsed(rest.strip_prefix("parsed: ").map(str::to_owned))
        }
        "console" => Content::Run {
            varies: words.contains(&"varies"),
            status: words.iter().find_map(|word| word.strip_prefix("status=")?.parse().ok()).unwrap_or(0),
        },
        "sh" => Content::Parsed(rest.strip_prefix("parsed: ").map(str::to_owned)),
        "toml" => Content::Toml(
            words.first().copied().unwrap_or_default().to_owned(),
            words.get(1).map(|name| (*name).to_owned()),
        ),
        _ => match rest.strip_prefix("file ") {
            Some(name) => Content::File(name.trim().to_owned()),
            None => Content::Other,
        },
    }
}

/// Returns whether the lines of a block without a language are commands: the first one is.
fn is_commands(lines: &str) -> bool {
    let first = lines.lines().next().unwrap_or_default().trim_start();
    first.starts_with("$ ") || is_command(first)
}

/// Returns whether a line starts a program of this project, or a tool that builds it.
pub fn is_command(line: &str) -> bool {
    PROGRAMS.iter().any(|program| {
        line.strip_prefix(program).is_some_and(|rest| rest.starts_with(' ') || program.ends_with(['/', '-']))
    })
}

/// Returns the anchor that forges and mdBook make of a heading.
fn anchor(heading: &str) -> String {
    let kept = |letter: char| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        letter if letter.is_alphanumeric() => Some(letter),
        _ => None,
    };
    heading.trim().to_lowercase().chars().filter_map(kept).collect()
}
