//! Makes the picture and the sound that are sent, and the report of what came;
//! `scripts/results/lite-media` runs what is between.

use clap::{Parser, Subcommand};
use media_examples::report::{Collection, Plan, page};
use media_examples::{test_picture, test_sound};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Make pictures and sound to send, and the report of what came
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Write picture.jpg and sound.wav into a folder
    Make {
        /// The folder; it is made if it is not there
        folder: PathBuf,
    },
    /// Write the report of a folder in which `scripts/results/lite-media` left plan.json and what
    /// was received
    Page {
        /// The folder
        folder: PathBuf,
        /// Where to write it
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        /// Also write figures, table and some pictures, as files of their own, into this folder
        #[arg(long, value_name = "DIR")]
        figures: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().verb {
        Verb::Make { folder } => make(&folder),
        Verb::Page { folder, out, figures } => write_page(&folder, &out, figures.as_deref()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lite-media-report: {error}");
            ExitCode::FAILURE
        }
    }
}

fn make(folder: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    write(&folder.join("picture.jpg"), &test_picture::jpeg(&test_picture::draw())?)?;
    write(&folder.join("sound.wav"), &test_sound::wav(&test_sound::samples()))
}

fn write_page(folder: &Path, out: &Path, figures: Option<&Path>) -> Result<(), Box<dyn Error>> {
    let collection = Collection::read(folder, Plan::read(&folder.join("plan.json"))?)?;
    write(out, page::html(&collection)?.as_bytes())?;
    if let Some(figures) = figures {
        fs::create_dir_all(figures)
            .map_err(|error| format!("cannot create {}: {error}", figures.display()))?;
        for (name, bytes) in page::files(&collection)? {
            write(&figures.join(name), &bytes)?;
        }
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    fs::write(path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("{}  {} kB", path.display(), bytes.len().div_ceil(1000));
    Ok(())
}
