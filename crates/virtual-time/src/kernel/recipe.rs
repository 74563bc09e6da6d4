//! The inputs of the kernel, and the key that names the result.
//!
//! The inputs are everything in `kernel/` and the congestion controls of crate `congestion`, all
//! embedded in the program. Recipes with the same key give the same kernel. So the key covers the
//! source, the configuration, the patches, our own additional sources, the build script and the
//! compiler.

use super::checksum::hexadecimal;
use super::error::KernelError;
use rust_embed::Embed;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[derive(Embed)]
#[folder = "../../kernel"]
struct Embedded;

/// The files that are eBPF programs on a host; in the kernel's tree they have a directory of their
/// own.
#[derive(Embed)]
#[folder = "../congestion/algorithms"]
#[prefix = "src/net/ipv4/lasthop/"]
struct CongestionControls;

/// File that describes the source.
const SOURCE: &str = "source.toml";
/// File with the requested configuration options.
const CONFIG: &str = "config";
/// The script that patches, configures and compiles.
pub(super) const SCRIPT: &str = "build";

/// The pinned source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Debian package.
    pub package: String,
    /// Its version.
    pub version: String,
    /// The suite of the archive that has it.
    pub suite: String,
    /// Size of the package in bytes.
    pub size: u64,
    /// SHA-256 of the package, hexadecimal.
    pub sha256: String,
    /// Number of lines that compiling prints, to estimate the progress.
    pub compile_lines: u64,
}

impl Source {
    /// Returns `package version`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", self.package, self.version)
    }
}

/// All inputs of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// The source.
    pub source: Source,
    /// The other inputs by path below `kernel/`: `config`, `build`, `patches/*`, `src/**`.
    files: BTreeMap<String, Vec<u8>>,
}

impl Recipe {
    /// Returns the recipe embedded in this program.
    pub fn embedded() -> Result<Self, KernelError> {
        Self::of(files::<Embedded>().chain(files::<CongestionControls>()).collect())
    }

    /// Returns the recipe with these files of a `kernel/` directory.
    pub(super) fn of(mut files: BTreeMap<String, Vec<u8>>) -> Result<Self, KernelError> {
        let wrong = |file: &str, what: String| KernelError::Recipe { file: file.to_owned(), what };
        let source = files.remove(SOURCE).ok_or_else(|| wrong(SOURCE, "is missing".to_owned()))?;
        let source = std::str::from_utf8(&source).map_err(|error| wrong(SOURCE, error.to_string()))?;
        let source = toml::from_str(source).map_err(|error| wrong(SOURCE, error.to_string()))?;
        files.retain(|name, _| makes_the_kernel(name));
        for needed in [CONFIG, SCRIPT] {
            if !files.contains_key(needed) {
                return Err(wrong(needed, "is missing".to_owned()));
            }
        }
        Ok(Self { source, files })
    }

    /// Returns the requested configuration options.
    #[must_use]
    pub fn config(&self) -> String {
        self.files.get(CONFIG).map(|text| String::from_utf8_lossy(text).into_owned()).unwrap_or_default()
    }

    /// Returns the names of the patches in the order in which they are applied.
    pub fn patches(&self) -> impl Iterator<Item = &str> {
        self.files.keys().filter_map(|name| name.strip_prefix("patches/"))
    }

    /// Returns the key of the kernel that this recipe gives with a compiler: 64 hexadecimal digits.
    ///
    /// `compiler` is the first line of the compiler's `--version`.
    #[must_use]
    pub fn key(&self, compiler: &str) -> String {
        let mut hash = Sha256::new();
        let mut take = |name: &str, content: &[u8]| {
            hash.update((name.len() as u64).to_le_bytes());
            hash.update(name);
            hash.update((content.len() as u64).to_le_bytes());
            hash.update(content);
        };
        take("source", self.source.name().as_bytes());
        take("sha256", self.source.sha256.as_bytes());
        take("compiler", compiler.as_bytes());
        for (name, content) in &self.files {
            take(name, content);
        }
        hexadecimal(&hash.finalize())
    }

    /// Writes the files below `folder`, in the layout that the build script expects.
    pub(super) fn write(&self, folder: &Path) -> Result<(), KernelError> {
        for (name, content) in &self.files {
            let path = folder.join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(KernelError::file("create", parent))?;
            }
            fs::write(&path, content).map_err(KernelError::file("write", &path))?;
        }
        Ok(())
    }
}

/// Returns embedded files with their names.
fn files<E: Embed>() -> impl Iterator<Item = (String, Vec<u8>)> {
    E::iter().filter_map(|name| Some((name.to_string(), E::get(&name)?.data.into_owned())))
}

/// Returns whether a file is an input of the kernel, not documentation.
fn makes_the_kernel(name: &str) -> bool {
    name == CONFIG
        || name == SCRIPT
        || name.starts_with("src/")
        || (name.starts_with("patches/") && has_ending(name, "patch"))
}

fn has_ending(name: &str, ending: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found == ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPILER: &str = "gcc 12";

    fn files() -> BTreeMap<String, Vec<u8>> {
        let source = "package = 'linux-source-7.2'\nversion = '7.2.1-1'\nsuite = 's'\nsize = 1\nsha256 = '00'\ncompile_lines = 9";
        [
            (SOURCE, source),
            (CONFIG, "CONFIG_NET=y"),
            (SCRIPT, "make"),
            ("patches/01-a.patch", "a"),
            ("src/net/x.c", "x"),
        ]
        .map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()))
        .into()
    }

    fn key_with(name: &str, content: &str) -> String {
        let mut files = files();
        files.insert(name.to_owned(), content.into());
        Recipe::of(files).expect("a recipe").key(COMPILER)
    }

    #[test]
    fn the_key_changes_with_all_that_makes_the_kernel() {
        let source = String::from_utf8(files()[SOURCE].clone()).expect("text");
        let recipe = Recipe::of(files()).expect("a recipe");
        let mut keys = vec![
            recipe.key(COMPILER),
            recipe.key("gcc 13"),
            key_with("patches/01-a.patch", "b"),
            key_with("patches/02-b.patch", "a"),
            key_with(CONFIG, "CONFIG_NET=n"),
            key_with(SCRIPT, "make -j"),
            key_with("src/net/x.c", "y"),
            key_with(SOURCE, &source.replace("7.2.1", "7.2.2")),
            key_with(SOURCE, &source.replace("'00'", "'01'")),
        ];
        let all = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), all, "two recipes have the same key");
    }

    #[test]
    fn the_key_does_not_change_with_an_explanation() {
        let key = Recipe::of(files()).expect("a recipe").key(COMPILER);
        assert_eq!(key_with("README.md", "words"), key);
        assert_eq!(key_with("patches/README.md", "words"), key);
        assert_eq!(key, Recipe::of(files()).expect("a recipe").key(COMPILER));
    }

    #[test]
    fn content_cannot_pass_as_a_name() {
        assert_ne!(key_with("patches/02.patch", ""), key_with("patches/0.patch", "2"));
    }

    #[test]
    fn the_embedded_recipe_is_whole() {
        let recipe = Recipe::embedded().expect("a recipe");
        assert_eq!(recipe.source.sha256.len(), 64, "{}", recipe.source.sha256);
        assert!(recipe.source.package.starts_with("linux-source-7."), "{}", recipe.source.package);
        let patches: Vec<_> = recipe.patches().collect();
        for (index, patch) in patches.iter().enumerate() {
            assert!(patch.starts_with(&format!("{:02}-", index + 1)), "{patches:?}");
        }
        assert!(recipe.config().contains("CONFIG_UML_TIME_TRAVEL_SUPPORT=y"));
        for ours in ["Makefile", "newzag.c", "state.h"] {
            assert!(recipe.files.contains_key(&format!("src/net/ipv4/lasthop/{ours}")), "{ours}");
        }
    }

    #[test]
    fn each_patch_says_why_before_what() {
        let recipe = Recipe::embedded().expect("a recipe");
        for (name, content) in recipe.files.iter().filter(|(name, _)| name.starts_with("patches/")) {
            let text = String::from_utf8_lossy(content);
            let (reason, _) = text.split_once("\n--- a/").unwrap_or_else(|| panic!("{name} has no --- a/"));
            assert!(reason.lines().count() > 2, "{name} does not say why");
        }
    }

    #[test]
    fn a_recipe_without_its_parts_says_what_is_missing() {
        for part in [SOURCE, CONFIG, SCRIPT] {
            let mut files = files();
            files.remove(part);
            let error = Recipe::of(files).expect_err("a part is missing");
            assert_eq!(error.to_string(), format!("kernel/{part}: is missing"));
        }
    }

    /// The build script finds its files beside itself, and applies patches in this order.
    #[test]
    fn files_are_written_where_the_script_looks_for_them() {
        let mut files = files();
        for name in ["patches/10-c.patch", "patches/02-b.patch", "README.md"] {
            files.insert(name.to_owned(), Vec::new());
        }
        let recipe = Recipe::of(files).expect("a recipe");
        assert_eq!(recipe.patches().collect::<Vec<_>>(), ["01-a.patch", "02-b.patch", "10-c.patch"]);
        let folder = tempfile::tempdir().expect("a folder");
        recipe.write(folder.path()).expect("written");
        let text = |name: &str| fs::read_to_string(folder.path().join(name)).ok();
        assert_eq!(text("src/net/x.c").as_deref(), Some("x"));
        assert_eq!((text("config"), text("build")), (Some(recipe.config()), Some("make".to_owned())));
        assert_eq!(text("patches/01-a.patch").as_deref(), Some("a"));
        assert_eq!((text("README.md"), text("source.toml")), (None, None), "no inputs of the script");
    }

    /// A field that is misspelt would leave the source unchecked.
    #[test]
    fn a_source_with_other_fields_is_refused() {
        let with = |change: &dyn Fn(&str) -> String| {
            let mut files = files();
            let text = String::from_utf8(files[SOURCE].clone()).expect("text");
            files.insert(SOURCE.to_owned(), change(&text).into_bytes());
            Recipe::of(files).map(drop).expect_err("refused").to_string()
        };
        let missing = with(&|text| text.replace("sha256", "sha265"));
        assert!(missing.starts_with("kernel/source.toml: ") && missing.contains("sha265"), "{missing}");
        let more = with(&|text| format!("{text}\nmirror = 'x'"));
        assert!(more.contains("mirror"), "{more}");
    }
}
