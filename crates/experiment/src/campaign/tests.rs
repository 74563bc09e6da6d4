//! Tests of campaigns, without their runs.

use super::*;
use results::{Connection, RunRecord};

fn guest() -> results::Guest {
    results::Guest {
        source: "linux-source-7.2 7.2.12-1".into(),
        key: "0123456789abcdef".into(),
        fallback: false,
        hz: 1000,
        start_unix_ns: 0,
        memory_mib: 512,
        verified: false,
        c_library: "gnu".into(),
        link_library: "0123456789abcdef".into(),
    }
}

const PLAN: &str = r#"
    repetitions = 2
    seed = 77
    [[factors]]
    name = "rate"
    levels = ["1mbit", "2mbit", "3mbit"]
    [[factors]]
    name = "delay"
    levels = ["1ms", "2ms"]
    [[scenario.links]]
    between = ["a", "b"]
    up = "rate={rate},delay={delay}"
    [[workloads]]
    name = "w"
    kind = "bulk"
    from = "a"
    to = "b"
    bytes = "1kB"
"#;

fn plan() -> Plan {
    Plan::parse("folder/plan.toml", PLAN).unwrap_or_else(|error| panic!("{error}"))
}

/// Options of a campaign in `folder`, which need not exist.
fn asked(folder: &Path) -> Asked {
    Asked { out: Some(folder.join("out")), ..Asked::default() }
}

fn ended(cell: u32, repetition: u32) -> RunEnded {
    let run = RunRecord::failed(cell, repetition, format!("{cell}/{repetition}"));
    RunEnded {
        run,
        connections: vec![Connection { number: 10 * cell + repetition, ..Connection::default() }],
    }
}

fn numbers(left: &[(Cell, u32)]) -> Vec<(u32, u32)> {
    left.iter().map(|(cell, repetition)| (cell.number, *repetition)).collect()
}

#[test]
fn runs_go_repetition_by_repetition_through_all_cells() {
    let folder = tempfile::tempdir().expect("a folder");
    let only = vec!["rate=1mbit,3mbit".to_owned()];
    let campaign = Campaign::create(plan(), &Asked { only, ..asked(folder.path()) }).expect("a campaign");
    let all = [(0, 0), (1, 0), (4, 0), (5, 0), (0, 1), (1, 1), (4, 1), (5, 1)];
    assert_eq!(numbers(&campaign.left()), all);
    let levels: Vec<_> = campaign.manifest().factors.iter().map(|factor| factor.levels.join(" ")).collect();
    assert_eq!(levels, ["1mbit 3mbit", "1ms 2ms"], "levels that do not occur are left out");
}

#[test]
fn what_is_asked_for_comes_before_the_plan() {
    let folder = tempfile::tempdir().expect("a folder");
    let campaign = Campaign::create(plan(), &asked(folder.path())).expect("a campaign");
    let manifest = campaign.manifest();
    assert_eq!((manifest.seed, manifest.repetitions, manifest.clock), (77, 2, Some(Clock::Real)));
    assert_eq!((manifest.measure.as_str(), manifest.ended_unix_ns), ("w", None));
    let other = Asked {
        repetitions: Some(3),
        seed: Some(78),
        out: Some(folder.path().join("other")),
        guest: Some(("7.2".to_owned(), guest())),
        ..Asked::default()
    };
    let campaign = Campaign::create(plan(), &other).expect("a campaign");
    let manifest = campaign.manifest();
    assert_eq!((manifest.seed, manifest.repetitions, manifest.clock), (78, 3, Some(Clock::Virtual)));
    assert_eq!((manifest.kernel.as_str(), manifest.guest.clone()), ("7.2", Some(guest())));
    let job = campaign.job(plan().cells().remove(4), 1);
    assert_eq!((job.seed, job.repetition, job.cell.number), (78, 1, 4));
    assert_eq!((job.plan_file.as_str(), job.plan_text.as_str()), ("folder/plan.toml", PLAN));
    assert_eq!((job.directory, job.control_group), (folder.path().join("other"), None));
}

/// A directory that is refused stays as it is.
#[test]
fn a_directory_that_cannot_be_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let wrong = Asked { only: vec!["rate=9mbit".to_owned()], ..asked(folder.path()) };
    assert!(matches!(Campaign::create(plan(), &wrong), Err(CampaignError::Only(_))));
    let out = folder.path().join("out");
    assert!(!out.exists());
    fs::create_dir_all(out.join(SCRATCH)).expect("created");
    let refused = Campaign::create(plan(), &asked(folder.path()));
    assert!(matches!(refused, Err(CampaignError::Occupied(path)) if path == out.join(SCRATCH)));
    assert!(!out.join(directory::MANIFEST).exists());
    fs::remove_dir(out.join(SCRATCH)).expect("removed");
    std::os::unix::fs::symlink("/nowhere", out.join(SCRATCH)).expect("a dangling link");
    assert!(matches!(Campaign::create(plan(), &asked(folder.path())), Err(CampaignError::Occupied(_))));
    fs::remove_file(out.join(SCRATCH)).expect("removed");
    drop(Campaign::create(plan(), &asked(folder.path())).expect("a campaign"));
    let again = Campaign::create(plan(), &asked(folder.path()));
    assert!(matches!(again, Err(CampaignError::Exists(path)) if path == out));
}

/// Runs that ended are not repeated, and their connections stay theirs.
#[test]
fn a_campaign_goes_on_where_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let only = vec!["rate=2mbit".to_owned()];
    let mut campaign = Campaign::create(plan(), &Asked { only, ..asked(folder.path()) }).expect("a campaign");
    for (cell, repetition) in [(3, 0), (2, 1)] {
        campaign.journal.append(&ended(cell, repetition)).expect("written");
    }
    let began = campaign.manifest().clone();
    drop(campaign);
    let mut campaign = Campaign::resume(&out, None).expect("a campaign");
    assert_eq!(numbers(&campaign.left()), [(2, 0), (3, 1)]);
    assert_eq!(campaign.manifest(), &began, "the manifest stays");
    fs::create_dir(out.join(SCRATCH)).expect("created");
    campaign.close(false).expect("closed");
    assert!(!out.join(SCRATCH).exists());
    let read = results::Directory::open(&out).expect("a run directory");
    assert_eq!(read.manifest.ended_unix_ns, None, "it is not complete");
    // Other programs read the runs there; a manifest that lasthop reads gets them from the journal.
    let manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(out.join(directory::MANIFEST)).expect("read")).expect("a manifest");
    let runs = manifest["runs"].as_array().expect("runs");
    let runs: Vec<_> = runs.iter().map(|run| (run["cell"].as_u64(), run["repetition"].as_u64())).collect();
    assert_eq!(runs, [(Some(2), Some(1)), (Some(3), Some(0))], "in the order of cells");
    for (run, connections) in read.manifest.runs.iter().zip(&read.connections) {
        assert_eq!(connections[0].number, 10 * run.cell + run.repetition);
    }
}

/// Nothing is left to do, so no run starts and none is needed.
#[test]
fn a_complete_campaign_has_an_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let (only, repetitions) = (vec!["rate=2mbit,delay=1ms".to_owned()], Some(1));
    let asked = Asked { only, repetitions, ..asked(folder.path()) };
    let mut campaign = Campaign::create(plan(), &asked).expect("a campaign");
    campaign.journal.append(&ended(2, 0)).expect("written");
    drop(campaign);
    let out = folder.path().join("out");
    let mut campaign = Campaign::resume(&out, None).expect("a campaign");
    let interrupted = AtomicBool::new(false);
    let all = campaign.run(&RunEnvironment::Host, Capacity::runs(1), &interrupted, &mut |_| panic!("no run"));
    assert!(all.expect("a campaign"));
    assert!(campaign.manifest().ended_unix_ns.is_some() && !out.join(SCRATCH).exists());
}

#[test]
fn an_interrupted_campaign_starts_no_run_and_is_not_complete() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut campaign = Campaign::create(plan(), &asked(folder.path())).expect("a campaign");
    let interrupted = AtomicBool::new(true);
    let all = campaign.run(&RunEnvironment::Host, Capacity::runs(1), &interrupted, &mut |_| panic!("no run"));
    assert!(!all.expect("a campaign"));
    assert_eq!((campaign.manifest().ended_unix_ns, campaign.left().len()), (None, 12));
}

/// A batch system signals all processes of a job, those of a run before this one.
#[test]
fn a_run_that_fails_just_before_the_campaign_is_interrupted_is_not_counted() {
    let interrupted = AtomicBool::new(false);
    assert!(unless_interrupted(ended(1, 0), &interrupted).is_some());
    let mut good = ended(1, 0);
    good.run.verdict = RunVerdict::Good;
    assert!(unless_interrupted(good, &AtomicBool::new(true)).is_some());
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(SIGNAL_LAG / 10);
            interrupted.store(true, Ordering::Release);
        });
        assert!(unless_interrupted(ended(1, 0), &interrupted).is_none());
    });
}

/// Times of the two clocks, or of two kernels, are not comparable.
#[test]
fn a_campaign_goes_on_with_the_clock_and_kernel_that_it_was_begun_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let now = ("7.2".to_owned(), guest());
    drop(Campaign::create(plan(), &asked(folder.path())).expect("a campaign"));
    let resumed = Campaign::resume(&folder.path().join("out"), Some(&now));
    assert!(matches!(resumed, Err(CampaignError::OtherClock { began: "real", .. })));
    let out = folder.path().join("other");
    let with = Asked { guest: Some(now.clone()), out: Some(out.clone()), ..Asked::default() };
    drop(Campaign::create(plan(), &with).expect("a campaign"));
    assert!(matches!(Campaign::resume(&out, None), Err(CampaignError::OtherClock { began: "virtual", .. })));
    assert!(Campaign::resume(&out, Some(&now)).is_ok());
    let other = (now.0, results::Guest { memory_mib: 64, ..guest() });
    let resumed = Campaign::resume(&out, Some(&other));
    assert!(matches!(resumed, Err(CampaignError::OtherGuest { what: "--guest-memory", .. })));
}
