//! Links between pages and to files, and the table of contents.

use crate::page::Page;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The table of contents.
pub const CONTENTS: &str = "docs/SUMMARY.md";

/// Checks that each link of `page` leads to something that exists.
pub fn check(page: &Page) -> Result<(), String> {
    let wrong: Vec<_> = page
        .links
        .iter()
        .filter_map(|(link, line)| {
            let why = broken(page, link)?;
            Some(format!("{}:{line}: link to {link}: {why}", page.path))
        })
        .collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Returns what is wrong with a link, if anything is.
fn broken(page: &Page, link: &str) -> Option<String> {
    if link.starts_with("https://") || link.starts_with("http://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let target = if path.is_empty() { page.path.clone() } else { resolved(&page.path, path) };
    let file = crate::root().join(&target);
    if !file.exists() {
        return Some(format!("there is no {target}"));
    }
    let anchor = anchor?;
    if Path::new(&target).extension().is_none_or(|extension| extension != "md") {
        return Some("only pages have anchors".to_owned());
    }
    let text = std::fs::read_to_string(file).ok()?;
    let anchors = Page::new(target.clone(), text).anchors;
    (!anchors.iter().any(|known| known == anchor))
        .then(|| format!("{target} has no heading #{anchor}; it has {}", anchors.join(", ")))
}

/// Returns a link's path below the root of the repository.
pub fn resolved(page: &str, link: &str) -> String {
    let mut path = PathBuf::from(page);
    path.pop();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    path.to_string_lossy().into_owned()
}

/// Checks that the table of contents has each page of `docs/` once.
pub fn contents(pages: &[Arc<Page>]) -> Result<(), String> {
    let contents = pages.iter().find(|page| page.path == CONTENTS).ok_or("there is no docs/SUMMARY.md")?;
    let mut listed = BTreeSet::new();
    for (link, line) in &contents.links {
        if !listed.insert(resolved(CONTENTS, link)) {
            return Err(format!("{CONTENTS}:{line}: {link} is listed twice, which mdBook refuses"));
        }
    }
    let is_chapter =
        |path: &&str| path.starts_with("docs/") && *path != CONTENTS && !path.starts_with("docs/results/");
    let missing: Vec<_> = pages
        .iter()
        .map(|page| page.path.as_str())
        .filter(is_chapter)
        .filter(|path| !listed.contains(*path))
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("{CONTENTS} does not list {}", missing.join(", "))) }
}
