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

    /// Returns the profile called `name`: a built-in one, a file if the name looks like a path, or
    /// the recording in a directory if the name is `cellreplay:DIR`.
    ///
    /// # Errors
    /// If there is none, with the nearest known name, or if the file is invalid.
    pub fn find(&self, name: &str) -> Result<Profile, NoProfile> {
        if let Some((file, text)) = builtin().find(|(file, _)| file.trim_end_matches(".toml") == name) {
            return Profile::parse(file, text, &mut no_files).map_err(|error| NoProfile(error.to_string()));
        }
        if let Some(folder) = name.strip_prefix("cellreplay:") {
            let folder = Self::in_folder(&self.folder.join(folder));
            return Profile::parse(name, &folder.cellreplay(name), &mut |file| folder.read(file))
                .map_err(|error| NoProfile(error.to_string()));
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

    /// Returns a profile of the recording in this directory, whose files have the names of
    /// CellReplay's published recordings. Offsets of the latency by packet size are optional.
    fn cellreplay(&self, name: &str) -> String {
        let direction = |way: &str| {
            let offsets = format!("latency-offset-{way}");
            let given = self.folder.join(&offsets).exists();
            let offsets = if given { format!("offsets = {offsets:?}\n") } else { String::new() };
            format!(
                "[{way}.cellreplay]\nlight = \"{way}-delay-light-pdo\"\nheavy = \"{way}-heavy-pdo\"\n{offsets}"
            )
        };
        let (title, source) = ("A recorded cellular link", format!("the CellReplay recording {name}"));
        format!(
            "kind = \"link\"\ntitle = {title:?}\nsource = {source:?}\n{}{}",
            direction("up"),
            direction("down")
        )
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

    #[test]
    fn a_directory_with_a_recording_of_cellreplay_is_a_profile() {
        let folder = tempfile::tempdir().expect("a folder");
        let recording = folder.path().join("walk");
        fs::create_dir(&recording).expect("created");
        let catalogue = Catalogue::in_folder(folder.path());
        let error = catalogue.link("cellreplay:walk").expect_err("no files").to_string();
        assert!(error.contains("cellreplay:walk: cannot read up-delay-light-pdo: "), "{error}");
        for way in ["up", "down"] {
            let light = recording.join(format!("{way}-delay-light-pdo"));
            fs::write(light, "0 20 0\n9 20 0\n").expect("written");
            fs::write(recording.join(format!("{way}-heavy-pdo")), "1\n").expect("written");
        }
        fs::write(recording.join("latency-offset-up"), "100 1\n").expect("written");
        let (_, link) = catalogue.link("cellreplay:walk").expect("a profile");
        assert_eq!(
            link.down.to_string(),
            "cellreplay: light down-delay-light-pdo, heavy down-heavy-pdo, drop-tail inf"
        );
        let offsets = |direction: &link::spec::DirectionSpec| match direction.find("cellreplay") {
            Some(link::spec::StageSpec::CellReplay(spec)) => spec.offsets.is_some(),
            other => panic!("{other:?}"),
        };
        assert!(offsets(&link.up) && !offsets(&link.down));
    }

    /// The recordings in `examples/` are links that can be built.
    #[test]
    fn the_examples_of_recordings_are_links() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/recordings");
        let catalogue = Catalogue::in_folder(&folder);
        for (name, stages) in [
            ("cellreplay:cellreplay", "cellreplay: light up-delay-light-pdo, heavy up-heavy-pdo"),
            ("leocc/link.toml", "delay: LeoCC trace delay.txt, a line every 10ms, reordering"),
            (
                "errant/drive.toml",
                "bottleneck: TheaterQ trace speed_tests.csv counted at IP, drop-tail 1000p",
            ),
            ("errant/log.toml", "delay: TheaterQ trace log.csv"),
        ] {
            let (_, link) = catalogue.link(name).unwrap_or_else(|error| panic!("{error}"));
            assert!(link.up.to_string().contains(stages), "{name}: {}", link.up);
            assert!(link.build(&link::Seed::campaign(1)).is_ok(), "{name}");
        }
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
