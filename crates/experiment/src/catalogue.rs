//! Finding profiles and trace files by name or path.

use link::nearest::nearest;
use link::profile::{Content, LinkProfile, LossProfile, Profile, Resolve, builtin};
use link::stage::errors::ErrorSpec;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A profile cannot be found or read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoProfile(String);

impl fmt::Display for NoProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoProfile {}

/// The places where profiles and files are looked up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalogue {
    /// Directory to which paths are relative.
    folder: PathBuf,
}

impl Catalogue {
    /// Returns a catalogue whose relative paths start from `folder`.
    ///
    /// An empty `folder`, the default, is the current directory.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Returns the profile called `name`: a built-in one, or a file if the name looks like a path.
    ///
    /// # Errors
    /// If there is none, with the nearest known name, or if the file is invalid.
    pub fn find(&self, name: &str) -> Result<Profile, NoProfile> {
        if let Some((file, text)) = builtin().find(|(file, _)| file.trim_end_matches(".toml") == name) {
            return Profile::parse(file, text, &mut no_files).map_err(|error| NoProfile(error.to_string()));
        }
        let path = Path::new(name);
        if !name.contains('/') && path.extension().is_none_or(|ending| ending != "toml") {
            return Err(NoProfile(unknown(name)));
        }
        let path = self.folder.join(path);
        let text = fs::read_to_string(&path)
            .map_err(|error| NoProfile(format!("cannot read profile `{name}`: {error}")))?;
        let beside = Self::in_folder(path.parent().unwrap_or(Path::new("")));
        Profile::parse(name, &text, &mut |file| beside.read(file))
            .map_err(|error| NoProfile(error.to_string()))
    }

    /// Returns the link profile called `name`.
    ///
    /// # Errors
    /// As [`find`](Self::find), or if it is a loss profile.
    pub fn link(&self, name: &str) -> Result<(Profile, LinkProfile), NoProfile> {
        let profile = self.find(name)?;
        match profile.content.clone() {
            Content::Link(link) => Ok((profile, link)),
            Content::Loss(_) => {
                Err(NoProfile(format!("`{name}` is a loss profile: use it as `loss` (--loss {name})")))
            }
        }
    }

    /// Returns the loss profile called `name`.
    ///
    /// # Errors
    /// As [`find`](Self::find), or if it is a link profile.
    pub fn loss(&self, name: &str) -> Result<(Profile, LossProfile), NoProfile> {
        let profile = self.find(name)?;
        match profile.content.clone() {
            Content::Loss(loss) => Ok((profile, loss)),
            Content::Link(_) => {
                Err(NoProfile(format!("`{name}` is a link profile: use it as `profile` (--profile {name})")))
            }
        }
    }

    fn read(&self, file: &str) -> io::Result<String> {
        fs::read_to_string(self.folder.join(file))
    }
}

impl Resolve for Catalogue {
    fn losses(&mut self, name: &str) -> Result<ErrorSpec, String> {
        self.loss(name).map(|(_, loss)| loss.errors).map_err(|error| error.to_string())
    }

    fn file(&mut self, name: &str) -> io::Result<String> {
        self.read(name)
    }
}

/// Returns all built-in profiles in the order of their names.
///
/// # Errors
/// None in practice: the profiles are our own data, and a test checks them.
pub fn all() -> Result<Vec<Profile>, NoProfile> {
    builtin()
        .map(|(file, text)| {
            Profile::parse(file, text, &mut no_files).map_err(|error| NoProfile(error.to_string()))
        })
        .collect()
}

fn no_files(file: &str) -> io::Result<String> {
    Err(io::Error::other(format!("a built-in profile cannot use files, but this one uses {file}")))
}

fn unknown(name: &str) -> String {
    let names = || builtin().map(|(file, _)| file.trim_end_matches(".toml"));
    let hint = match nearest(name, names()) {
        Some(known) => format!("did you mean `{known}`?"),
        None => format!("the built-in profiles are {}", names().collect::<Vec<_>>().join(", ")),
    };
    format!("there is no profile `{name}`: {hint} (a file needs a path, such as ./{name}.toml)")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trace is beside its profile, and a profile below the folder of the plan.
    #[test]
    fn files_start_from_the_file_that_names_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let below = folder.path().join("profiles");
        fs::create_dir(&below).expect("created");
        let text =
            "kind = \"link\"\ntitle = \"t\"\nsource = \"s\"\n[down]\nrate = { mahimahi = \"cell.trace\" }\n";
        fs::write(below.join("mine.toml"), text).expect("written");
        let mut catalogue = Catalogue::in_folder(folder.path());
        let error = catalogue.link("profiles/mine.toml").expect_err("no trace").to_string();
        assert!(error.contains("cannot read cell.trace: "), "{error}");
        fs::write(below.join("cell.trace"), "1\n2\n").expect("written");
        let (_, link) = catalogue.link("profiles/mine.toml").expect("a profile");
        assert!(link.down.to_string().contains("cell.trace"), "{}", link.down);
        assert_eq!(catalogue.file("profiles/cell.trace").expect("a file"), "1\n2\n");
        assert!(catalogue.file("cell.trace").is_err());
        let error = catalogue.link("profiles/other.toml").expect_err("no file").to_string();
        assert!(error.starts_with("cannot read profile `profiles/other.toml`: "), "{error}");
    }

    /// A name without an ending and without a path is never a file.
    #[test]
    fn names_of_profiles_and_paths_of_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let catalogue = Catalogue::in_folder(folder.path());
        for name in ["gsmm", "gsm.tml"] {
            let error = catalogue.find(name).expect_err("no profile").to_string();
            assert!(error.starts_with(&format!("there is no profile `{name}`: ")), "{error}");
        }
        for path in ["x.toml", "./x"] {
            let error = catalogue.find(path).expect_err("no file").to_string();
            assert!(error.starts_with(&format!("cannot read profile `{path}`: ")), "{error}");
        }
        assert!(catalogue.loss("gsm").is_err_and(|error| error.to_string().contains("is a link profile")));
        assert!(catalogue.link("lite-1").is_err_and(|error| error.to_string().contains("is a loss profile")));
    }

    #[test]
    fn every_built_in_profile_is_found_by_its_name() {
        for profile in all().expect("profiles") {
            assert_eq!(Catalogue::default().find(&profile.name).expect("a profile").name, profile.name);
        }
    }
}
