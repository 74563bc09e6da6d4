use super::*;
use crate::example::{connection, guest, manifest, run};
use crate::journal::{Journal, RunEnded};
use crate::{Clock, Guest, directory};

const REPETITIONS: u32 = 5;

/// A folder with the shards of a campaign of 30 runs, each with a capture and a log.
struct Campaign(tempfile::TempDir);

impl Campaign {
    fn of(shards: u32) -> Self {
        let campaign = Self(tempfile::tempdir().unwrap());
        for number in 1..=shards {
            campaign
                .shard(&number.to_string(), |manifest| manifest.shard = Some(Shard { number, of: shards }));
        }
        campaign
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes the run directory of a shard whose manifest is the example's after `change`.
    fn shard(&self, name: &str, change: impl FnOnce(&mut Manifest)) {
        let path = self.path(name);
        fs::create_dir_all(path.join("captures")).unwrap();
        let mut manifest = Manifest { repetitions: REPETITIONS, ..manifest() };
        change(&mut manifest);
        directory::write_manifest(&path, &manifest).unwrap();
        let mut journal = Journal::open(&path).unwrap();
        // Runs end in another order than that of their numbers.
        for cell in manifest.cells.iter().rev() {
            for repetition in (0..REPETITIONS).filter(|repetition| manifest.plans(cell, *repetition)) {
                let name = format!("captures/c{:03}-r{repetition:02}.pcapng", cell.number);
                fs::write(path.join(&name), format!("{} {repetition}", cell.label())).unwrap();
                let record = RunRecord { captures: vec![name], ..run(cell.number, repetition) };
                let bytes = u64::from(100 * cell.number + repetition);
                journal
                    .append(&RunEnded { run: record, connections: vec![connection("bulk", bytes)] })
                    .unwrap();
            }
        }
    }

    fn merge(&self, names: &[&str]) -> Result<Directory, MergeError> {
        let directories: Vec<_> = names.iter().map(|name| self.path(name)).collect();
        let merged = Shards::open(&directories)?.merge(&self.path("out"), &AtomicBool::new(false))?;
        crate::table::write(&merged.directory).unwrap();
        merged.finish()
    }

    /// Returns the message of a merge that is refused, with the folder's path as `…`. Nothing is
    /// left of it.
    fn refused(&self, names: &[&str]) -> String {
        let entries = || -> BTreeSet<_> {
            fs::read_dir(self.0.path()).unwrap().flatten().map(|entry| entry.file_name()).collect()
        };
        let before = entries();
        let error = self.merge(names).unwrap_err().to_string();
        assert_eq!(entries(), before, "nothing half-done");
        error.replace(&format!("{}/", self.0.path().display()), "…/")
    }
}

#[test]
fn what_was_merged_is_what_was_run_in_one_directory() {
    let whole = Campaign::of(1);
    let whole = whole.merge(&["1"]).unwrap();
    let table = fs::read(whole.path.join(crate::table::FILE)).unwrap();
    for shards in [2, 7, 64] {
        let campaign = Campaign::of(shards);
        let mut names: Vec<_> = (1..=shards).map(|number| number.to_string()).collect();
        names.reverse();
        let merged = campaign.merge(&names.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        assert_eq!(fs::read(merged.path.join(crate::table::FILE)).unwrap(), table, "{shards}");
        assert_eq!(merged.manifest.runs, whole.manifest.runs);
        assert_eq!((merged.manifest.shard, merged.manifest.merged.len()), (None, shards as usize));
        let read = Directory::open(&merged.path).unwrap();
        assert_eq!((read.connections, read.manifest.runs), (merged.connections, merged.manifest.runs));
        for run in &whole.manifest.runs {
            let capture = |path: &Path| fs::read(path.join(&run.captures[0])).unwrap();
            assert_eq!(capture(&whole.path), capture(&merged.path));
        }
    }
}

#[test]
fn shards_that_are_missing_unfinished_or_twice_there_are_refused() {
    let campaign = Campaign::of(4);
    let command = "run it with `lasthop run  --shard 3/4 --seed 7 --repetitions 5` and the --only of the others, if they have one, and name its directory, too";
    assert_eq!(campaign.refused(&["4", "1", "2"]), format!("shard 3/4 is missing: {command}"));
    let said = campaign.refused(&["4", "1"]);
    assert!(said.starts_with("2 shards are missing, 2/4, 3/4: the first of them: run it with"), "{said}");
    assert_eq!(campaign.refused(&["1", "2", "3", "4", "2"]), "shard 2/4 is there twice: …/2 and …/2");
    assert_eq!(campaign.refused(&[]), "nothing to merge: name the run directories of all shards");
    // The last run of shard 2 was cut off, and shard 3 has not begun.
    let journal = campaign.path("2").join(journal::FILE);
    let text = fs::read(&journal).unwrap();
    let runs = text.split(|&byte| byte == b'\n').count() - 1;
    fs::write(&journal, &text[..text.len() - 1]).unwrap();
    let lines = fs::read_to_string(campaign.path("3").join(journal::FILE)).unwrap().lines().count();
    fs::remove_file(campaign.path("3").join(journal::FILE)).unwrap();
    let unfinished = |number: u32, ended: usize, planned: usize| {
        format!(
            "shard {number}/4 is unfinished, {ended} of {planned} runs have ended: finish it with `lasthop run --resume …/{number}`"
        )
    };
    let both = [unfinished(2, runs - 1, runs), unfinished(3, 0, lines)];
    assert_eq!(campaign.refused(&["1", "2", "3", "4"]), both.join("\n"));
}

#[test]
fn shards_of_different_campaigns_are_refused_with_what_differs() {
    let campaign = Campaign::of(2);
    let differs = |what: &str, change: &dyn Fn(&mut Manifest)| {
        campaign.shard("other", |manifest| {
            manifest.shard = Some(Shard { number: 2, of: 2 });
            change(manifest);
        });
        let said = campaign.refused(&["1", "other"]);
        fs::remove_dir_all(campaign.path("other")).unwrap();
        assert_eq!(said, format!("shards of different campaigns: the {what}"));
    };
    differs("seed is 7 in …/1, but 8 in …/other", &|manifest| manifest.seed = 8);
    differs("number of repetitions is 5 in …/1, but 4 in …/other", &|manifest| manifest.repetitions = 4);
    differs(
        "version of lasthop is 0.1.0 (schema 1) in …/1, but 0.2.0 (schema 1) in …/other",
        &|manifest| {
            manifest.lasthop = "0.2.0".into();
        },
    );
    differs("plan is no line 1 in …/1, but `seed = 7` in line 1 in …/other", &|manifest| {
        manifest.plan.text = "seed = 7\n".into();
    });
    differs("clock is real in …/1, but virtual in …/other", &|manifest| {
        manifest.clock = Some(Clock::Virtual);
    });
    differs("release of the kernel is 6.1.0 in …/1, but 6.2.0 in …/other", &|manifest| {
        manifest.kernel = "6.2.0".into();
    });
    differs("kernel is the host's in …/1, but a guest's in …/other", &|manifest| {
        manifest.guest = Some(guest());
    });
    differs("number of shards is 2 in …/1, but 3 in …/other", &|manifest| {
        manifest.shard = Some(Shard { number: 2, of: 3 });
    });
    differs(
        "selection (--only) is 6 cells with lite=on, loss=two in …/1, but 5 cells without lite=on, loss=two in …/other",
        &|manifest| drop(manifest.cells.pop()),
    );
    for (number, c_library) in [(1, "gnu"), (2, "musl")] {
        campaign.shard(c_library, |manifest| {
            manifest.shard = Some(Shard { number, of: 2 });
            manifest.guest = Some(Guest { c_library: c_library.into(), ..guest() });
        });
    }
    assert_eq!(
        campaign.refused(&["gnu", "musl"]),
        "shards of different campaigns: the C library of lasthop is gnu in …/gnu, but musl in …/musl"
    );
    campaign.shard("whole", |_| ());
    assert_eq!(campaign.refused(&["1", "whole"]), "…/whole is not a shard: it was run without --shard");
}

#[test]
fn nothing_is_replaced_and_nothing_is_read_from_elsewhere() {
    let campaign = Campaign::of(2);
    fs::create_dir(campaign.path("out")).unwrap();
    fs::write(campaign.path("out/mine"), "mine").unwrap();
    assert_eq!(campaign.refused(&["1", "2"]), "…/out already exists: choose another directory with --out");
    fs::remove_dir_all(campaign.path("out")).unwrap();
    fs::write(campaign.path("secret"), "secret").unwrap();
    let journal = campaign.path("1").join(journal::FILE);
    let text = fs::read_to_string(&journal).unwrap();
    let name = text.split('"').find(|word| word.starts_with("captures/")).unwrap().to_owned();
    fs::write(&journal, text.replace(&name, "../secret")).unwrap();
    assert_eq!(
        campaign.refused(&["1", "2"]),
        "…/1/../secret is not there, or not a file, though a run names it"
    );
    fs::write(&journal, &text).unwrap();
    let capture = campaign.path("1").join(&name);
    fs::remove_file(&capture).unwrap();
    std::os::unix::fs::symlink(campaign.path("secret"), &capture).unwrap();
    assert!(campaign.refused(&["1", "2"]).ends_with("is not there, or not a file, though a run names it"));
    // A run that its shard does not have.
    fs::write(&journal, text + &fs::read_to_string(campaign.path("2").join(journal::FILE)).unwrap()).unwrap();
    assert!(campaign.refused(&["1", "2"]).contains("is not a run of shard 1/2"));
}

#[test]
fn an_interrupted_merge_leaves_nothing() {
    let campaign = Campaign::of(2);
    let shards = Shards::open(&[campaign.path("1"), campaign.path("2")]).unwrap();
    let error = shards.merge(&campaign.path("new/out"), &AtomicBool::new(true)).unwrap_err();
    assert!(matches!(error, MergeError::Interrupted));
    drop(shards.merge(&campaign.path("out"), &AtomicBool::new(false)).unwrap());
    let left: BTreeSet<_> =
        fs::read_dir(campaign.0.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["1", "2"].map(Into::into).into());
}

#[test]
fn each_machine_is_kept() {
    let campaign = Campaign::of(2);
    let with = |name: &str, number: u32, processor: &str, started: u64| {
        campaign.shard(name, |manifest| {
            manifest.shard = Some(Shard { number, of: 2 });
            manifest.machine.processor = processor.into();
            manifest.started_unix_ns = started;
            manifest.ended_unix_ns = Some(started + 10);
        });
    };
    fs::remove_dir_all(campaign.path("1")).unwrap();
    fs::remove_dir_all(campaign.path("2")).unwrap();
    with("1", 1, "fast", 100);
    with("2", 2, "slow", 50);
    let merged = campaign.merge(&["1", "2"]).unwrap().manifest;
    assert_eq!((merged.started_unix_ns, merged.ended_unix_ns), (50, Some(110)));
    assert_eq!((merged.machine.processor.as_str(), merged.machine.processors), ("fast / slow", 0));
    let parts: Vec<_> =
        merged.merged.iter().map(|part| (part.shard.number, part.machine.processor.as_str())).collect();
    assert_eq!(parts, [(1, "fast"), (2, "slow")]);
    assert_eq!(merged.merged.iter().map(|part| part.runs).sum::<u64>(), 30);
}
