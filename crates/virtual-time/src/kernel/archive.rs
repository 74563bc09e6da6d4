//! Debian's archive, through an apt with lists, cache and sources in a private directory.
//!
//! The machine's own apt stays as it is. The administrator's settings for fetching (proxies,
//! retries) apply, but hooks that run after an update do not.

use super::child::{Programs, Sign};
use super::error::KernelError;
use super::mirror;
use super::version::Candidate;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Keyring with the keys that sign Debian's packages.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Directory of apt's configuration.
const ETC: &str = "/etc/apt";

/// An apt with private directories.
#[derive(Debug)]
pub struct Archive {
    folder: PathBuf,
    mirror: String,
    /// Codename of this machine's release if it is Debian; tools come from it.
    codename: Option<String>,
}

impl Archive {
    /// Sets up an apt in `folder` for packages of `suite` and, if `tools`, of the machine's own
    /// release.
    pub fn create(
        folder: &Path,
        suite: &str,
        tools: bool,
        programs: &mut Programs<'_>,
    ) -> Result<Self, KernelError> {
        let codename = fs::read_to_string("/etc/os-release").ok().and_then(|text| mirror::codename(&text));
        let mirror = mirror::of_machine(Path::new(ETC), codename.as_deref());
        let archive = Self { folder: folder.to_owned(), mirror, codename };
        for part in ["lists/partial", "cache/archives/partial", "packages"] {
            let path = folder.join(part);
            fs::create_dir_all(&path).map_err(KernelError::file("create", &path))?;
        }
        let own = programs.run(Command::new("apt-config").arg("dump"), &mut |_| {})?;
        archive.write("apt.conf", &configuration(folder, &own.lines))?;
        let release = archive.codename.as_deref().filter(|_| tools);
        archive
            .write("sources.list", &sources(&archive.mirror, suite, release, Path::new(KEYRING).exists()))?;
        Ok(archive)
    }

    /// Returns an archive that is never asked.
    #[cfg(test)]
    pub(super) fn for_tests(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), mirror: String::new(), codename: None }
    }

    fn write(&self, name: &str, text: &str) -> Result<(), KernelError> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(KernelError::file("write", &path))
    }

    /// Returns the mirror that it uses.
    pub fn mirror(&self) -> &str {
        &self.mirror
    }

    /// Returns whether the archive has packages for this machine's release.
    pub const fn knows_the_machine(&self) -> bool {
        self.codename.is_some()
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("APT_CONFIG", self.folder.join("apt.conf")).env("LC_ALL", "C");
        command.current_dir(self.folder.join("packages"));
        command
    }

    /// Fetches the lists of packages; the inner error is what apt printed.
    pub fn update(&self, programs: &mut Programs<'_>) -> Result<Result<(), String>, KernelError> {
        let outcome =
            programs.run(self.command("apt-get").args(["-q", "--error-on=any", "update"]), &mut |_| {})?;
        Ok(if outcome.success { Ok(()) } else { Err(outcome.errors()) })
    }

    /// Returns the kernel source packages in the archive.
    pub fn kernels(&self, programs: &mut Programs<'_>) -> Result<Vec<Candidate>, KernelError> {
        let mut names =
            programs.run(self.command("apt-cache").args(["pkgnames", "linux-source-"]), &mut |_| {})?.lines;
        names.retain(|name| super::version::numbers(name).is_some());
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let found = programs.run(self.command("apt-cache").arg("madison").args(&names), &mut |_| {})?;
        Ok(Candidate::parse_all(&found.lines))
    }

    /// Downloads one package and returns its file, or what apt printed.
    ///
    /// `watch` receives the number of bytes so far.
    pub fn download(
        &self,
        package: &Candidate,
        programs: &mut Programs<'_>,
        watch: &mut dyn FnMut(u64),
    ) -> Result<Result<PathBuf, String>, KernelError> {
        let before = self.packages()?;
        let wanted = format!("{}={}", package.package, package.version);
        let folder = self.folder.join("packages");
        let outcome =
            programs.run(self.command("apt-get").args(["-q", "download", &wanted]), &mut |sign| {
                if matches!(sign, Sign::Tick) {
                    watch(size(&folder) + size(&self.folder.join("cache/archives/partial")));
                }
            })?;
        let new = self.packages()?.into_iter().find(|path| !before.contains(path));
        Ok(new.filter(|_| outcome.success).ok_or_else(|| outcome.errors()))
    }

    /// Returns the packages to install so that `wanted` work on this machine, or what apt printed.
    pub fn missing(
        &self,
        wanted: &[&str],
        programs: &mut Programs<'_>,
    ) -> Result<Result<Vec<String>, String>, KernelError> {
        let mut command = self.command("apt-get");
        command.args(["-q", "--simulate", "--no-install-recommends", "install"]).args(wanted);
        let outcome = programs.run(&mut command, &mut |_| {})?;
        Ok(if outcome.success { Ok(installed(&outcome.lines)) } else { Err(outcome.errors()) })
    }

    /// Downloads packages of any version and returns their files, or what apt printed.
    pub fn download_all(
        &self,
        names: &[String],
        programs: &mut Programs<'_>,
    ) -> Result<Result<Vec<PathBuf>, String>, KernelError> {
        let before = self.packages()?;
        let mut command = self.command("apt-get");
        let outcome = programs.run(command.args(["-q", "download"]).args(names), &mut |_| {})?;
        let new = self.packages()?.into_iter().filter(|path| !before.contains(path)).collect();
        Ok(if outcome.success { Ok(new) } else { Err(outcome.errors()) })
    }

    /// Returns the packages that were downloaded.
    fn packages(&self) -> Result<Vec<PathBuf>, KernelError> {
        let folder = self.folder.join("packages");
        let entries = fs::read_dir(&folder).map_err(KernelError::file("list", &folder))?;
        let paths = entries.flatten().map(|entry| entry.path());
        Ok(paths.filter(|path| path.extension().is_some_and(|ending| ending == "deb")).collect())
    }
}

/// Returns the total size in bytes of the files in a directory.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.metadata().ok())
        .filter(fs::Metadata::is_file)
        .map(|file| file.len())
        .sum()
}

/// Returns the configuration: the private directories, and the machine's own settings for fetching.
fn configuration(folder: &Path, own: &[String]) -> String {
    let folder = folder.display();
    let mut text = format!(
        "Dir::Etc::main \"/dev/null\";\nDir::Etc::parts \"/dev/null\";\n\
         Dir::Etc::sourcelist \"{folder}/sources.list\";\nDir::Etc::sourceparts \"/dev/null\";\n\
         Dir::Etc::preferences \"/dev/null\";\nDir::Etc::preferencesparts \"/dev/null\";\n\
         Dir::State::lists \"{folder}/lists\";\nDir::Cache \"{folder}/cache\";\n\
         APT::Sandbox::User \"\";\nAPT::Install-Recommends \"false\";\n"
    );
    // Other indexes that this machine fetches (icons, contents) would be megabytes for nothing.
    let fetching =
        |line: &&String| line.starts_with("Acquire::") && !line.starts_with("Acquire::IndexTargets");
    for line in own.iter().filter(fetching) {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Returns the sources to fetch from: `suite`, and the machine's release if its tools are needed.
fn sources(mirror: &str, suite: &str, release: Option<&str>, keyring: bool) -> String {
    let signed = if keyring { format!(" [signed-by={KEYRING}]") } else { String::new() };
    let suites = std::iter::once(suite).chain(release.filter(|release| *release != suite));
    let lines: Vec<_> = suites.map(|suite| format!("deb{signed} {mirror} {suite} main\n")).collect();
    lines.concat()
}

/// Returns the packages that `apt-get --simulate install` would install: `Inst NAME (VERSION ...)`.
fn installed(lines: &[String]) -> Vec<String> {
    lines
        .iter()
        .filter_map(|line| line.strip_prefix("Inst ")?.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_proxy_is_kept_and_its_hooks_are_not() {
        let own = [
            "Acquire::http::Proxy \"http://proxy.example:3128\";".to_owned(),
            "Acquire::IndexTargets::deb::DEP-11::MetaKey \"dep11\";".to_owned(),
            "APT::Update::Post-Invoke:: \"rm -f /var/cache/apt/*.bin\";".to_owned(),
            "Dir::State::lists \"lists/\";".to_owned(),
        ];
        let text = configuration(Path::new("/private"), &own);
        assert!(text.contains("Acquire::http::Proxy \"http://proxy.example:3128\";"), "{text}");
        assert!(text.contains("Dir::State::lists \"/private/lists\";"), "{text}");
        assert!(
            !text.contains("Post-Invoke") && !text.contains("DEP-11") && !text.contains("\"lists/\""),
            "{text}"
        );
    }

    #[test]
    fn tools_come_from_the_machines_release_and_only_if_wanted() {
        let kernel = sources("http://m.example/debian", "trixie-backports", None, false);
        assert_eq!(kernel, "deb http://m.example/debian trixie-backports main\n");
        let both = sources("http://m.example/debian", "trixie-backports", Some("bookworm"), true);
        assert_eq!(both.lines().count(), 2);
        assert!(both.contains(
            "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://m.example/debian bookworm main"
        ));
    }

    #[test]
    fn what_would_be_installed_is_read_from_the_simulation() {
        let lines = [
            "Inst libsigsegv2 (2.14-1 Debian:12.0/stable [amd64])",
            "Inst m4 (1.4.19-3 Debian:12.0/stable [amd64])",
            "Conf m4 (1.4.19-3 Debian:12.0/stable [amd64])",
        ]
        .map(str::to_owned);
        assert_eq!(installed(&lines), ["libsigsegv2", "m4"]);
    }

    #[test]
    fn only_packages_and_bytes_of_files_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let packages = folder.path().join("packages");
        fs::create_dir_all(packages.join("folder.deb/below")).expect("made");
        fs::remove_dir_all(packages.join("folder.deb")).expect("removed");
        for (name, text) in [("a.deb", "12345"), ("a.deb.part", "123"), ("notes", "1")] {
            fs::write(packages.join(name), text).expect("written");
        }
        fs::create_dir(packages.join("partial")).expect("made");
        assert_eq!(size(&packages), 9);
        assert_eq!(size(&folder.path().join("missing")), 0);
        let archive = Archive::for_tests(folder.path());
        assert_eq!(archive.packages().expect("listed"), [packages.join("a.deb")]);
    }

    /// The machine's own configuration is not read, and its lists are not touched.
    #[test]
    fn apt_is_called_with_its_private_configuration() {
        let archive = Archive::for_tests(Path::new("/private"));
        let command = archive.command("apt-get");
        let environment: Vec<_> = command.get_envs().collect();
        let expected = [("APT_CONFIG", "/private/apt.conf"), ("LC_ALL", "C")];
        assert_eq!(environment, expected.map(|(name, value)| (name.as_ref(), Some(value.as_ref()))));
        assert_eq!(command.get_current_dir(), Some(Path::new("/private/packages")));
        let text = configuration(Path::new("/private"), &[]);
        for key in ["main", "parts", "sourceparts", "preferences", "preferencesparts"] {
            assert!(text.contains(&format!("Dir::Etc::{key} \"/dev/null\";")), "{key}: {text}");
        }
        assert_eq!(sources("m", "trixie", Some("trixie"), false), "deb m trixie main\n", "each suite once");
    }
}
