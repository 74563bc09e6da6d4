//! The steps of a build that use the archive, and the unpacking and patching of the source.

use super::super::archive::Archive;
use super::super::checksum;
use super::super::error::KernelError;
use super::super::tools::Tools;
use super::super::version::{self, Candidate};
use super::{Ask, Building, Progress, Step, clear};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

impl Building<'_> {
    /// Sets up a private apt; returns it with the sources to try, best first.
    pub(super) fn ask_archive(&mut self, tools: bool) -> Result<(Archive, Vec<Candidate>), KernelError> {
        let site = &mut self.site;
        let from = &site.recipe.source.suite;
        let archive = Archive::create(&site.workshop.join("apt"), from, tools, &mut site.programs)?;
        if let Err(said) = archive.update(&mut site.programs)? {
            return Err(self.no_network(&archive, said));
        }
        let there = archive.kernels(&mut site.programs)?;
        let source = &site.recipe.source;
        let candidates = version::to_try(source, &there);
        if candidates.is_empty() {
            return Err(no_source(&source.name(), &there));
        }
        if candidates.first().is_some_and(|first| first.version != source.version) {
            let names = names(&candidates);
            let said = format!("the archive no longer has {}; trying {names} instead", source.name());
            (self.tell)(Progress::Note(said));
        }
        Ok((archive, candidates))
    }

    fn no_network(&self, archive: &Archive, said: String) -> KernelError {
        let cache = self.site.cache.folder().to_owned();
        KernelError::NoNetwork { mirror: archive.mirror().to_owned(), said, cache }
    }

    /// Fetches the tools that this machine lacks.
    pub(super) fn fetch_tools(&mut self, wanted: &[&str], archive: &Archive) -> Result<Tools, KernelError> {
        let site = &mut self.site;
        let folder = site.workshop.join("tools");
        let tools = Tools::fetch(&folder, wanted, archive, &mut site.programs)?;
        tools.map_err(|said| {
            let said =
                format!("{said}\nOr install the tools yourself: `apt-get install {}`", wanted.join(" "));
            site.failed(Step::Tools, said)
        })
    }

    /// Downloads, unpacks and patches sources until all patches apply; returns that source.
    pub(super) fn source(
        &mut self,
        archive: &Archive,
        tools: &Tools,
        candidates: &[Candidate],
        ask: Ask,
    ) -> Result<Candidate, KernelError> {
        for (index, candidate) in candidates.iter().enumerate() {
            let package = self.step(Step::Download, |it| it.download(archive, candidate))?;
            self.step(Step::Unpack, |it| it.unpack(&package, tools))?;
            if ask.keep_source {
                self.keep(&package)?;
            } else {
                fs::remove_file(&package).map_err(KernelError::file("remove", &package))?;
            }
            match self.step(Step::Patch, |it| it.patch(tools))? {
                Ok(()) => return Ok(candidate.clone()),
                // If a patch does not apply to the pinned source, the mistake is ours, and no other
                // source is tried.
                Err(said) if candidate.version == self.site.recipe.source.version => {
                    return Err(self.site.failed(Step::Patch, said));
                }
                Err(said) if index + 1 == candidates.len() => {
                    return Err(no_source(
                        &format!("{} ({said})", self.site.recipe.source.name()),
                        candidates,
                    ));
                }
                Err(_) => {
                    let said = format!("the patches do not apply to {}", candidate.name());
                    (self.tell)(Progress::Note(said));
                }
            }
        }
        Err(no_source(&self.site.recipe.source.name(), candidates))
    }

    /// Downloads a package and returns its file; checks its checksum if it is the pinned package.
    fn download(&mut self, archive: &Archive, candidate: &Candidate) -> Result<PathBuf, KernelError> {
        let (site, tell) = (&mut self.site, &mut self.tell);
        let source = site.recipe.source.clone();
        let total = source.size.max(1) as f64;
        let downloaded = archive.download(candidate, &mut site.programs, &mut |bytes| {
            tell(Progress::At(Step::Download, f64::min(bytes as f64 / total, 1.0)));
        })?;
        let package = downloaded.map_err(|said| self.no_network(archive, said))?;
        // apt has verified every package against the archive's signed lists; the pin is checked in
        // addition.
        if candidate.version == source.version {
            let found = checksum::of_file(&package)?;
            if found != source.sha256 {
                let file = candidate.name();
                return Err(KernelError::Checksum { file, found, wanted: source.sha256 });
            }
        }
        Ok(package)
    }

    /// Unpacks the package and the source archive in it.
    fn unpack(&mut self, package: &Path, tools: &Tools) -> Result<(), KernelError> {
        let site = &mut self.site;
        let (content, tree) = (site.workshop.join("content"), site.tree());
        clear(&content)?;
        clear(&tree)?;
        fs::create_dir_all(&tree).map_err(KernelError::file("create", &tree))?;
        let outcome =
            site.programs.run(Command::new("dpkg-deb").arg("-x").arg(package).arg(&content), &mut |_| {})?;
        if !outcome.success {
            return Err(site.failed(Step::Unpack, outcome.tail()));
        }
        let archive = tarball(&content.join("usr/src"))
            .ok_or_else(|| site.failed(Step::Unpack, "the package has no usr/src/*.tar.xz".to_owned()))?;
        let mut command = Command::new("tar");
        command
            .args(["--extract", "--strip-components=1", "--directory"])
            .arg(&tree)
            .arg("--file")
            .arg(archive);
        tools.lend(&mut command);
        let outcome = site.programs.run(&mut command, &mut |_| {})?;
        if !outcome.success {
            return Err(site.failed(Step::Unpack, outcome.tail()));
        }
        clear(&content)
    }

    /// Applies all patches; the inner error is what the script printed.
    fn patch(&mut self, tools: &Tools) -> Result<Result<(), String>, KernelError> {
        let outcome = self.site.script("patch", tools, &mut |_| {})?;
        Ok(if outcome.success { Ok(()) } else { Err(outcome.tail()) })
    }

    /// Moves the package into the cache.
    fn keep(&mut self, package: &Path) -> Result<(), KernelError> {
        let name = package.file_name().unwrap_or_default();
        let kept = self.site.cache.folder().join(name);
        fs::rename(package, &kept).map_err(KernelError::file("move", package))?;
        (self.tell)(Progress::Note(format!("the source is kept in {}", kept.display())));
        Ok(())
    }
}

fn names(candidates: &[Candidate]) -> String {
    candidates.iter().map(Candidate::name).collect::<Vec<_>>().join(", ")
}

fn no_source(pinned: &str, there: &[Candidate]) -> KernelError {
    let there = if there.is_empty() { "no linux-source-*".to_owned() } else { names(there) };
    KernelError::NoSource { pinned: pinned.to_owned(), there }
}

/// Returns the source archive in an unpacked package.
fn tarball(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    entries.into_iter().find(|path| path.to_string_lossy().ends_with(".tar.xz"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_is_gone_is_named_with_what_is_there() {
        let there = [("linux-source-7.3", "7.3.1-1"), ("linux-source-7.2", "7.2.14-1")]
            .map(|(package, version)| Candidate { package: package.into(), version: version.into() });
        let said = no_source("linux-source-7.2 7.2.12-1", &there).to_string();
        assert!(said.contains("no longer has linux-source-7.2 7.2.12-1"), "{said}");
        assert!(said.contains("linux-source-7.3 7.3.1-1, linux-source-7.2 7.2.14-1"), "{said}");
        assert!(no_source("p", &[]).to_string().contains("(no linux-source-*)"));
    }

    #[test]
    fn a_wrong_check_sum_names_both() {
        let error = KernelError::Checksum {
            file: "linux-source-7.2 7.2.12-1".to_owned(),
            found: "aa".to_owned(),
            wanted: "bb".to_owned(),
        };
        let said = error.to_string();
        assert!(said.contains("aa") && said.contains("bb") && said.contains("linux-source-7.2"), "{said}");
    }

    #[test]
    fn the_source_is_the_archive_in_the_package() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(tarball(folder.path()), None);
        assert_eq!(tarball(&folder.path().join("missing")), None);
        for name in ["linux-patch-7.2.patch.xz", "linux-source-7.2.tar.xz", "linux-source-7.2.tar.xz.sig"] {
            fs::write(folder.path().join(name), "").expect("written");
        }
        assert_eq!(tarball(folder.path()), Some(folder.path().join("linux-source-7.2.tar.xz")));
    }
}
