//! Merging the run directories of all shards of a campaign into one.
//!
//! The result is the run directory of the whole campaign, as if it had not been sharded: by the
//! virtual clock, every file that depends only on plan, seed and kernel has the same bytes. The
//! manifest also says where and when each shard ran ([`Manifest::merged`]).
//!
//! Shards of different campaigns are refused, and so are shards that are missing, unfinished or
//! there twice. The directory is built under another name beside its final place and renamed when
//! it is complete, so that nothing half-done stays behind. The shards are not changed: captures and
//! event logs become hard links where the file system allows it, or else copies.
//!
//! Time and memory are linear in the number of runs; docs/beyond-one-machine.md has the figures.

mod campaign;
mod error;

pub use error::{MergeError, Unfinished};

use crate::directory::{self, read_manifest};
use crate::journal::{self, Line};
use crate::manifest::Part;
use crate::{Directory, Machine, Manifest, RunRecord, Shard};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

/// A merged campaign that has not got its name yet. Dropping it removes it.
#[derive(Debug)]
#[must_use = "the directory gets its name by `finish`"]
pub struct Merged {
    /// The campaign, with manifest, journal, captures, event logs and logs. Its path is that of the
    /// unfinished directory: tables and report are to be written there.
    pub directory: Directory,
    folder: TempDir,
    out: PathBuf,
}

/// The shards of one campaign, all of them, in order.
#[derive(Debug)]
pub struct Shards(Vec<(PathBuf, Manifest)>);

impl Shards {
    /// Reads the manifests in these directories.
    ///
    /// # Errors
    /// If a directory has no shard, if they are of different campaigns, or if a shard is missing or
    /// there twice.
    pub fn open(directories: &[PathBuf]) -> Result<Self, MergeError> {
        let read = |path: &PathBuf| Ok((path.clone(), read_manifest(path)?));
        let mut shards = directories.iter().map(read).collect::<Result<Vec<_>, MergeError>>()?;
        campaign::check(&mut shards)?;
        Ok(Self(shards))
    }

    /// Returns the manifest of the merged campaign, without its runs.
    #[must_use]
    pub fn manifest(&self) -> Manifest {
        let manifests = || self.0.iter().map(|(_, manifest)| manifest);
        let first = &self.0[0].1;
        Manifest {
            started_unix_ns: manifests().map(|shard| shard.started_unix_ns).min().unwrap_or_default(),
            ended_unix_ns: manifests().filter_map(|shard| shard.ended_unix_ns).max(),
            machine: together(&manifests().map(|shard| &shard.machine)),
            shard: None,
            ..first.clone()
        }
    }

    /// Merges the shards into a directory that is to become `out`.
    ///
    /// Ends early when `interrupted` becomes true.
    ///
    /// # Errors
    /// If `out` exists, if a shard is unfinished, or if a file cannot be read or written.
    pub fn merge(&self, out: &Path, interrupted: &AtomicBool) -> Result<Merged, MergeError> {
        if fs::read_dir(out).map_or_else(|_| out.symlink_metadata().is_ok(), |mut all| all.next().is_some()) {
            return Err(MergeError::Exists(out.to_owned()));
        }
        let mut manifest = self.manifest();
        let lines = self.lines(&mut manifest, interrupted)?;
        let folder = folder_beside(out)?;
        copy_journal(&self.0, &lines, folder.path(), interrupted)?;
        for (source, line) in &lines {
            for name in files(&line.ended.run) {
                take(&self.0[*source].0, folder.path(), name)?;
            }
            go_on(interrupted)?;
        }
        let (records, connections) =
            lines.into_iter().map(|(_, line)| (line.ended.run, line.ended.connections)).unzip();
        manifest.runs = records;
        file("write the manifest in", out, directory::write_manifest(folder.path(), &manifest))?;
        let directory = Directory { path: folder.path().to_owned(), manifest, connections };
        Ok(Merged { directory, folder, out: out.to_owned() })
    }

    /// Reads the journals: all runs, each with the index of its shard, in the order of cell and
    /// repetition. Adds the shards to the manifest.
    fn lines(
        &self,
        manifest: &mut Manifest,
        interrupted: &AtomicBool,
    ) -> Result<Vec<(usize, Line)>, MergeError> {
        let mut all = Vec::new();
        let mut unfinished = Vec::new();
        let labels: BTreeMap<_, _> = manifest.cells.iter().map(|cell| (cell.number, cell.label())).collect();
        for (source, (path, shard)) in self.0.iter().enumerate() {
            go_on(interrupted)?;
            let its = shard.shard.unwrap_or(Shard { number: 1, of: 1 });
            let lines = file("read", &path.join(journal::FILE), journal::lines(path))?;
            for Line { ended, .. } in &lines {
                let (cell, repetition) = (ended.run.cell, ended.run.repetition);
                let label = labels.get(&cell).filter(|_| repetition < manifest.repetitions);
                if label.is_none_or(|label| Shard::of_run(label, repetition, its.of) != its) {
                    return Err(MergeError::Stray { directory: path.clone(), shard: its, cell, repetition });
                }
            }
            let (ended, planned) = (lines.len(), shard.planned());
            if ended < planned {
                unfinished.push(Unfinished { shard: its, directory: path.clone(), ended, planned });
            }
            manifest.merged.push(Part {
                shard: its,
                runs: ended as u64,
                machine: shard.machine.clone(),
                started_unix_ns: shard.started_unix_ns,
                ended_unix_ns: shard.ended_unix_ns,
            });
            all.extend(lines.into_iter().map(|line| (source, line)));
        }
        if !unfinished.is_empty() {
            return Err(MergeError::Unfinished(unfinished));
        }
        all.sort_by_key(|(_, line)| (line.ended.run.cell, line.ended.run.repetition));
        Ok(all)
    }
}

impl Merged {
    /// Gives the directory its name, and returns the campaign in it.
    ///
    /// # Errors
    /// If something else has that name by now.
    pub fn finish(self) -> Result<Directory, MergeError> {
        let Self { mut directory, folder, out } = self;
        file("rename the merged campaign to", &out, fs::rename(folder.path(), &out))?;
        // It has moved, so there is nothing to remove.
        let _ = folder.keep();
        directory.path = out;
        Ok(directory)
    }
}

/// Creates the unfinished directory in the folder of `out`.
fn folder_beside(out: &Path) -> Result<TempDir, MergeError> {
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    file("create", parent, fs::create_dir_all(parent))?;
    let mut builder = tempfile::Builder::new();
    // The umask applies, as for any new directory.
    builder.prefix(".lasthop-merge-").permissions(Permissions::from_mode(0o777));
    file("create a directory in", parent, builder.tempdir_in(parent))
}

/// Writes the journal: the very lines of the shards' journals, in order. Numbers that were read and
/// written again could differ in their last digit.
fn copy_journal(
    shards: &[(PathBuf, Manifest)],
    lines: &[(usize, Line)],
    folder: &Path,
    interrupted: &AtomicBool,
) -> Result<(), MergeError> {
    let path = folder.join(journal::FILE);
    let mut output = BufWriter::with_capacity(1 << 18, file("create", &path, File::create_new(&path))?);
    let mut journals = BTreeMap::new();
    let mut text = Vec::new();
    for (source, line) in lines {
        go_on(interrupted)?;
        let from = shards[*source].0.join(journal::FILE);
        let journal = match journals.entry(source) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(file("read", &from, File::open(&from))?),
        };
        text.resize((line.place.end - line.place.start) as usize, 0);
        file("read", &from, journal.read_exact_at(&mut text, line.place.start))?;
        file("write", &path, output.write_all(&text))?;
    }
    let synced =
        output.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| file.sync_data());
    file("write", &path, synced)
}

/// Returns the names of all files of a run.
fn files(run: &RunRecord) -> impl Iterator<Item = &String> {
    [&run.captures, &run.events, &run.senders, &run.link_layers, &run.logs].into_iter().flatten()
}

/// Links or copies a run's file into the merged directory.
fn take(shard: &Path, folder: &Path, name: &str) -> Result<(), MergeError> {
    let inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    let from = shard.join(name);
    // A directory of somebody else must not make us read or write files outside.
    if !inside || !from.symlink_metadata().is_ok_and(|about| about.is_file()) {
        return Err(MergeError::NoFile(from));
    }
    let to = folder.join(name);
    if let Some(parent) = to.parent() {
        file("create", parent, fs::create_dir_all(parent))?;
    }
    if fs::hard_link(&from, &to).is_err() {
        file("copy", &from, fs::copy(&from, &to))?;
    }
    Ok(())
}

/// Describes the machines of all shards as one: the common values, or the different ones in a list.
/// Of several machines, processors and memory are not known.
fn together<'a>(machines: &(impl Iterator<Item = &'a Machine> + Clone)) -> Machine {
    let distinct = |of: fn(&Machine) -> &String| {
        let words: BTreeSet<&str> = machines.clone().map(|machine| of(machine).as_str()).collect();
        words.into_iter().collect::<Vec<_>>().join(" / ")
    };
    let mut all = machines.clone();
    let first = all.next().cloned();
    match first.filter(|first| all.all(|other| other == first)) {
        Some(same) => same,
        None => Machine {
            architecture: distinct(|machine| &machine.architecture),
            processor: distinct(|machine| &machine.processor),
            processors: 0,
            memory_bytes: 0,
        },
    }
}

fn go_on(interrupted: &AtomicBool) -> Result<(), MergeError> {
    if interrupted.load(Ordering::Acquire) { Err(MergeError::Interrupted) } else { Ok(()) }
}

/// Converts an error about a file into one of this module.
fn file<T>(doing: &'static str, path: &Path, result: io::Result<T>) -> Result<T, MergeError> {
    result.map_err(|source| MergeError::File { doing, path: path.to_owned(), source })
}

#[cfg(test)]
mod tests;
