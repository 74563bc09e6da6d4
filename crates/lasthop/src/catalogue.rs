//! Finding profiles and trace files by name or path.

use link::profile::{Content, LinkProfile, LossProfile, Profile, builtin};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A profile that was asked for and cannot be had.
#[derive(Debug)]
pub struct NoProfile(String);

impl fmt::Display for NoProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoProfile {}

/// The profile called `name`: one that is built in, or a file if it looks like a path.
pub fn find(name: &str) -> Result<Profile, NoProfile> {
    if let Some((file, text)) = builtin().find(|(file, _)| file.trim_end_matches(".toml") == name) {
        return Profile::parse(file, text, &mut no_files).map_err(|error| NoProfile(error.to_string()));
    }
    let path = Path::new(name);
    if !name.contains('/') && path.extension().is_none_or(|ending| ending != "toml") {
        return Err(NoProfile(unknown(name)));
    }
    let text =
        fs::read_to_string(path).map_err(|error| NoProfile(format!("read profile {name}: {error}")))?;
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    Profile::parse(name, &text, &mut |file| read_beside(&folder, file))
        .map_err(|error| NoProfile(error.to_string()))
}

/// The link profile called `name`.
pub fn link(name: &str) -> Result<(Profile, LinkProfile), NoProfile> {
    let profile = find(name)?;
    match profile.content.clone() {
        Content::Link(link) => Ok((profile, link)),
        Content::Loss(_) => Err(NoProfile(format!("`{name}` is a loss profile: use it as --loss {name}"))),
    }
}

/// The loss profile called `name`.
pub fn loss(name: &str) -> Result<(Profile, LossProfile), NoProfile> {
    let profile = find(name)?;
    match profile.content.clone() {
        Content::Loss(loss) => Ok((profile, loss)),
        Content::Link(_) => Err(NoProfile(format!("`{name}` is a link profile: use it as --profile {name}"))),
    }
}

/// Every profile that is built in, in the order of their names.
pub fn all() -> Result<Vec<Profile>, NoProfile> {
    builtin()
        .map(|(file, text)| {
            Profile::parse(file, text, &mut no_files).map_err(|error| NoProfile(error.to_string()))
        })
        .collect()
}

/// Text of a file that a profile or a parameter names; relative to `folder`.
pub fn read_beside(folder: &Path, file: &str) -> io::Result<String> {
    let path: PathBuf = folder.join(file);
    fs::read_to_string(path)
}

fn no_files(file: &str) -> io::Result<String> {
    Err(io::Error::other(format!("a built-in profile names no file, and this one names {file}")))
}

fn unknown(name: &str) -> String {
    let names = || builtin().map(|(file, _)| file.trim_end_matches(".toml"));
    let nearest = names().map(|known| (strsim::damerau_levenshtein(name, known), known)).min();
    let hint = match nearest {
        Some((distance, known)) if distance <= 2 => format!("did you mean `{known}`?"),
        _ => format!("built in are {}", names().collect::<Vec<_>>().join(", ")),
    };
    format!("there is no profile `{name}`: {hint} (a file needs a path, such as ./{name}.toml)")
}
