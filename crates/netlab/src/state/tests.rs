mod foreign;

use super::*;

fn registry() -> (tempfile::TempDir, Registry) {
    let directory = tempfile::tempdir().expect("a directory");
    let registry = Registry::at(directory.path().join("lasthop")).expect("a registry");
    (directory, registry)
}

/// Records a run whose processes are gone, as `kill -9` leaves it.
fn abandoned(registry: &Registry, made: Vec<Made>) -> String {
    let mut run = registry.begin().expect("a run");
    let gone = ProcessId { pid: run.state.main.pid, start_time: 1 };
    run.update(|state| {
        state.main = gone;
        state.made = made;
    })
    .expect("written");
    run.leave_to_keeper();
    run.id().to_owned()
}

#[test]
fn a_run_is_written_down_and_read_back() {
    let (_guard, registry) = registry();
    let mut run = registry.begin().expect("a run");
    run.record(Made::Table { name: "lasthop_x".into() }).expect("recorded");
    assert_eq!(registry.list().expect("a list"), [run.state().clone()]);
    assert_eq!(registry.find(run.id()).expect("found"), *run.state());
    let error = registry.find("none").expect_err("unknown").to_string();
    assert_eq!(error, "no link \"none\"; lasthop link list shows the running links");
}

#[test]
fn a_run_that_is_dropped_leaves_no_directory() {
    let (_guard, registry) = registry();
    let run = registry.begin().expect("a run");
    let directory = run.directory();
    assert!(directory.is_dir());
    drop(run);
    assert!(!directory.exists());
}

#[test]
fn sweeping_leaves_running_ones_alone_and_undoes_dead_ones() {
    let (_guard, registry) = registry();
    let running = registry.begin().expect("a run");
    let mut child = std::process::Command::new("sleep").arg("600").spawn().expect("sleep");
    let process = ProcessId::of(child.id()).expect("it runs");
    let dead = abandoned(&registry, vec![Made::Process { process, what: "pasta".into() }]);

    let lines = registry.sweep().expect("swept").undone;

    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(lines[0], format!("killed pasta (process {})", process.pid));
    assert!(!registry.path().join(dead).exists());
    assert!(running.directory().is_dir());
    child.wait().expect("reaped");
    assert_eq!(registry.sweep().expect("swept again"), Swept::default());
}

/// A run that was killed before it wrote its first state has made nothing but its directory.
#[test]
fn an_empty_folder_of_a_run_is_swept() {
    let (_guard, registry) = registry();
    drop(registry.lock().expect("locked"));
    std::fs::create_dir(registry.path().join("7")).expect("made");
    assert_eq!(registry.sweep().expect("swept").undone.len(), 1);
    assert!(!registry.path().join("7").exists());
}

#[test]
fn a_run_of_another_pid_namespace_is_not_judged() {
    let (_guard, registry) = registry();
    let id = abandoned(&registry, Vec::new());
    let mut state = registry.find(&id).expect("found");
    state.pid_namespace += 1;
    assert!(state.is_running());
}

/// For a user without a runtime directory, nothing is left in /tmp after the last run.
#[test]
fn a_directory_in_tmp_goes_with_its_last_run() {
    let path = Registry::temporary(folder::own_user());
    if path.exists() {
        skip::skip!("{} is in use", path.display());
        return;
    }
    let registry = Registry::at(path).expect("a registry");
    let (one, other) = (registry.begin().expect("a run"), registry.begin().expect("another"));
    drop(one);
    assert!(registry.path().join(LOCK).exists() && other.directory().is_dir());
    drop(other);
    assert!(!registry.path().exists());
    drop(registry.begin().expect("it is made anew"));
    assert!(!registry.path().exists());
}

/// The last run to be undone restores a sysctl, to its value before the first of them.
#[test]
fn a_sysctl_is_remembered_for_runs_of_the_same_namespace() {
    let (_guard, registry) = registry();
    let [here, elsewhere] = [(5, 50), (5, 51)].map(|(inode, cookie)| NamespaceId { inode, cookie });
    let mut run = registry.begin().expect("a run");
    run.update(|state| {
        state.outside = Some(here);
        // Nothing restores it: when the run is dropped, this namespace does not exist.
        state.made = vec![Made::Sysctl { key: "net.ipv4.ip_forward".into(), former: "0".into() }];
    })
    .expect("written");
    let of = |namespace, key| remembered(&registry, namespace, key).expect("read");
    assert_eq!(of(here, "net.ipv4.ip_forward"), Some("0".into()));
    assert_eq!(of(here, "net.ipv6.conf.all.forwarding"), None);
    assert_eq!(of(elsewhere, "net.ipv4.ip_forward"), None, "its inode number is used again");
}

#[test]
fn runs_are_listed_oldest_first_and_their_ids_are_used_again() {
    let (_guard, registry) = registry();
    let first = registry.begin().expect("a run");
    let mut second = registry.begin().expect("another");
    second.update(|state| state.started -= 100).expect("written");
    let ids = || registry.list().expect("a list").into_iter().map(|state| state.id).collect::<Vec<_>>();
    assert_eq!(ids(), ["2", "1"]);
    drop(first);
    let third = registry.begin().expect("a third");
    assert_eq!((third.id(), ids()), ("1", vec!["2".to_owned(), "1".to_owned()]));
    // Ten runs that begin in the same second: by number, not as text.
    let started = third.state().started;
    let mut more: Vec<_> = (0..8).map(|_| registry.begin().expect("a run")).collect();
    for run in more.iter_mut().chain([&mut second]) {
        run.update(|state| state.started = started).expect("written");
    }
    assert_eq!(ids(), (1..=10).map(|id| id.to_string()).collect::<Vec<_>>());
}
