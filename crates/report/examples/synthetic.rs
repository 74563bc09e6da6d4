//! Writes a synthetic campaign and its report, to look at the page while working on `web/`:
//! `cargo run -p report --example synthetic -- FOLDER`.

#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use report::{Page, PageOptions, html};
use results::Directory;
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: synthetic FOLDER")?);
    std::fs::create_dir_all(&folder)?;
    synthetic::write(&folder, 7);
    let page = Page::of(&Directory::open(&folder)?, PageOptions::default());
    let file = folder.join("report.html");
    html::write(&page, &file)?;
    println!("{}", file.display());
    Ok(())
}
