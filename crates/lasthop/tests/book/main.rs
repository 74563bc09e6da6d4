//! Tests of the pages: every Markdown page of the repository is also a test.
//!
//! * Commands in `console` blocks are run, page by page, and their output is compared
//!   ([`session`], [`output`]).
//! * Commands in all other blocks, and in `console` blocks that give a reason, are parsed only
//!   ([`parsed`]).
//! * TOML blocks are plans, parts of plans, profiles or policies, and are read as such ([`plans`]).
//! * Links lead to a page, heading or file that exists, and each page is in the table of contents
//!   ([`links`]).
//! * [`counts`] keeps the list of what is run and what is parsed only, with the reasons.
//!
//! `UPDATE_PAGES=1 cargo test -p lasthop --test book` writes the output that differs into the
//! pages. Read the diff afterwards.

mod counts;
mod links;
mod output;
mod page;
mod parsed;
mod plans;
mod session;

use libtest_mimic::{Arguments, Conclusion, Failed, Trial};
use page::Page;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Environment variable that makes the tests write differing output into the pages.
const UPDATE: &str = "UPDATE_PAGES";

/// Returns whether pages are to be updated.
fn updates() -> bool {
    std::env::var_os(UPDATE).is_some()
}

/// Returns the root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Returns a test that runs `check` on a page, if `applies` to it.
fn trial(
    kind: &str,
    page: &Arc<Page>,
    applies: bool,
    check: fn(&Page) -> Result<(), String>,
) -> Option<Trial> {
    let name = format!("{kind}::{}", page.path);
    let page = Arc::clone(page);
    applies.then(|| {
        let thread = name.clone();
        // The thread has the test's name, by which `skip!` lists it.
        Trial::test(name, move || {
            let check = move || check(&page).map_err(Failed::from);
            let builder = std::thread::Builder::new().name(thread);
            builder.spawn(check).expect("a thread").join().unwrap_or_else(|panic| {
                let message = panic.downcast_ref::<String>().map_or("panicked", String::as_str);
                Err(message.into())
            })
        })
    })
}

/// Checks that `docs/reference/` is what `lasthop generate reference` writes.
fn reference() -> Result<(), String> {
    let error = |error: std::io::Error| error.to_string();
    let folder = tempfile::tempdir().map_err(error)?;
    let committed = root().join("docs/reference");
    let lasthop = || std::process::Command::new(env!("CARGO_BIN_EXE_lasthop"));
    lasthop().args(["generate", "reference"]).arg(folder.path()).status().map_err(error)?;
    for page in std::fs::read_dir(folder.path()).map_err(error)? {
        let page = page.map_err(error)?;
        let current = std::fs::read_to_string(page.path()).map_err(error)?;
        if std::fs::read_to_string(committed.join(page.file_name())).ok().as_ref() != Some(&current) {
            let name = page.file_name().display().to_string();
            return Err(format!("{name} is not current: run `lasthop generate reference docs/reference`"));
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let pages: Vec<_> = Page::all(&root()).into_iter().map(Arc::new).collect();
    let mut trials = Vec::new();
    for page in &pages {
        trials.extend(trial("commands", page, page.is_run(), session::check));
        trials.extend(trial("parsed", page, page.is_parsed(), parsed::check));
        trials.extend(trial("toml", page, page.has_toml(), plans::check));
        trials.extend(trial("links", page, true, links::check));
    }
    let all = pages.clone();
    trials.push(Trial::test("contents", move || links::contents(&all).map_err(Failed::from)));
    trials.push(Trial::test("reference", || reference().map_err(Failed::from)));
    let all = pages.clone();
    trials.push(Trial::test("counts", move || counts::check(&all).map_err(Failed::from)));
    // Sessions run programs by the real clock, which a busy machine delays: few at a time.
    let arguments = Arguments { test_threads: arguments.test_threads.or(Some(2)), ..arguments };
    let listed = arguments.list;
    let Conclusion { num_failed, .. } = libtest_mimic::run(&arguments, trials);
    if !listed {
        println!("pages: {}", counts::Counts::of(&pages));
    }
    ExitCode::from(u8::from(num_failed > 0))
}
