//! How many commands are run and how many are parsed only: `docs/tested.md` has the list.

use crate::page::{Content, Page};
use crate::parsed;
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::sync::Arc;

/// The page with the list.
const LIST: &str = "docs/tested.md";
/// Lines of that page between which the list is.
const MARKS: [&str; 2] = [
    "<!-- list: written by UPDATE_PAGES=1 cargo test -p lasthop --test book -->\n",
    "<!-- end of the list -->\n",
];

/// Commands of one or several pages.
#[derive(Debug, Default)]
pub struct Counts {
    run: usize,
    parsed: usize,
    reasons: BTreeSet<String>,
    pages: usize,
}

impl Counts {
    /// Counts the commands of all pages.
    pub fn of(pages: &[Arc<Page>]) -> Self {
        let mut sum = Self { pages: pages.len(), ..Self::default() };
        for page in pages {
            let counts = Self::of_page(page);
            sum.run += counts.run;
            sum.parsed += counts.parsed;
        }
        sum
    }

    fn of_page(page: &Page) -> Self {
        let mut counts = Self::default();
        for block in &page.blocks {
            match &block.content {
                Content::Run { .. } => {
                    counts.run += block.text.lines().filter(|line| line.starts_with("$ ")).count();
                }
                Content::Parsed(reason) => {
                    counts.parsed += parsed::commands(block).len();
                    counts.reasons.extend(reason.clone().or_else(|| page.reason.clone()));
                }
                _ => {}
            }
        }
        counts
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} commands run, {} parsed only, on {} pages", self.run, self.parsed, self.pages)
    }
}

/// Checks that the list is current. With `UPDATE_PAGES`, writes it.
pub fn check(pages: &[Arc<Page>]) -> Result<(), String> {
    let page = pages.iter().find(|page| page.path == LIST).ok_or_else(|| format!("there is no {LIST}"))?;
    let [begin, end] = MARKS;
    let (before, rest) = page.text.split_once(begin).ok_or_else(|| format!("{LIST} has no line {begin}"))?;
    let (list, after) = rest.split_once(end).ok_or_else(|| format!("{LIST} has no line {end}"))?;
    let current = table(pages);
    if list == current {
        return Ok(());
    }
    if crate::updates() {
        let text = format!("{before}{begin}{current}{end}{after}");
        std::fs::write(crate::root().join(LIST), text).map_err(|error| error.to_string())?;
    }
    Err(format!("the list in {LIST} is not current; it should be\n{current}"))
}

fn table(pages: &[Arc<Page>]) -> String {
    let mut table = "\n| page | run | parsed only | why |\n|---|---|---|---|\n".to_owned();
    for page in pages {
        let counts = Counts::of_page(page);
        if counts.run + counts.parsed == 0 {
            continue;
        }
        let link = page.path.strip_prefix("docs/").map_or_else(|| format!("../{}", page.path), str::to_owned);
        let why = counts.reasons.into_iter().collect::<Vec<_>>().join("; ");
        let _ = writeln!(table, "| [{}]({link}) | {} | {} | {why} |", page.path, counts.run, counts.parsed);
    }
    let all = Counts::of(pages);
    let _ = writeln!(table, "| all | {} | {} | |\n", all.run, all.parsed);
    table
}
