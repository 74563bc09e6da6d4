//! Each check passes on a working machine, and fails with a way out when its object is broken.

mod ground;

use ground::{Caller, Finished};
use netlab::checks::{self, Check, Places};
use std::path::PathBuf;

fn places() -> (tempfile::TempDir, Places) {
    let directory = tempfile::tempdir().expect("a directory");
    let state = Some(directory.path().join("states"));
    (directory, Places { executable: ground::behind(), state, ..Places::default() })
}

fn outcome<'a>(checks: &'a [Check], name: &str) -> &'a Result<String, String> {
    let check = checks.iter().find(|check| check.name == name);
    &check.unwrap_or_else(|| panic!("no check {name}: {checks:?}")).outcome
}

fn broken(name: &str, says: &str, change: impl FnOnce(&mut Places)) {
    let (_directory, mut places) = places();
    let whole = checks::all(&places);
    change(&mut places);
    let checks = checks::all(&places);
    let error = outcome(&checks, name).as_ref().expect_err("broken");
    assert!(error.contains(says), "{error}");
    assert!(error.contains(';') || error.contains("is not available"), "no way out: {error}");
    // The outcomes of the other checks do not change.
    for check in
        whole.iter().filter(|check| check.name != name && !AFTER.contains(&(name, check.name.as_str())))
    {
        assert_eq!(
            outcome(&checks, &check.name).is_ok(),
            check.outcome.is_ok(),
            "{check:?} when {name} is broken"
        );
    }
}

/// Checks that necessarily fail with another one: the broken one first.
const AFTER: [(&str, &str); 1] = [("TUN device", "whole segments")];

#[test]
fn all_is_well_for_root() {
    need_root!();
    let (directory, places) = places();
    let checks = checks::all(&places);
    for check in &checks {
        assert!(check.outcome.is_ok() || !check.essential, "{check:?}");
    }
    for name in [
        "state directory",
        "network namespace",
        "TUN device",
        "route with congestion control",
        "nftables",
        "sysctls",
        "mount namespace",
        "whole segments",
    ] {
        assert!(outcome(&checks, name).is_ok(), "{name}");
    }
    let left: Vec<_> = std::fs::read_dir(directory.path().join("states")).expect("made").flatten().collect();
    assert_eq!(left.len(), 1, "the lock alone: {left:?}");
}

#[test]
fn each_check_can_fail() {
    need_root!();
    broken("TUN device", "cannot open /nowhere/tun: No such file", |places| {
        places.tun = PathBuf::from("/nowhere/tun");
    });
    broken("nftables", "nft is not installed; apt-get install nftables", |places| places.nft = None);
    broken("pasta", "pasta is not installed; apt-get install passt", |places| places.pasta = None);
    broken("route with congestion control", "\"nosuch\" is not available here; available: ", |places| {
        places.congestion_control = "nosuch".into();
    });
}

#[test]
fn a_control_group_that_cannot_be_found() {
    need_root!();
    let (directory, mut places) = places();
    let process = directory.path().join("process");
    std::fs::create_dir(&process).expect("made");
    std::fs::write(process.join("mountinfo"), "1 0 0:1 / / rw - ext4 disk rw\n").expect("written");
    std::fs::write(process.join("cgroup"), "0::/\n").expect("written");
    places.process = process;
    let checks = checks::all(&places);
    let error = outcome(&checks, "control group").as_ref().expect_err("no v2");
    assert_eq!(error, "cgroup v2 is not mounted; mount -t cgroup2 none /sys/fs/cgroup");
}

#[test]
fn a_state_directory_of_somebody_else() {
    need_root!();
    let (directory, mut places) = places();
    let others = directory.path().join("others");
    std::fs::create_dir(&others).expect("made");
    std::os::unix::fs::chown(&others, Some(65_534), None).expect("given away");
    places.state = Some(others);
    let checks = checks::all(&places);
    let error = outcome(&checks, "state directory").as_ref().expect_err("somebody else's");
    assert!(error.contains("belongs to user 65534; remove it, or set LASTHOP_STATE_DIR"), "{error}");
}

#[test]
fn a_binary_that_cannot_check() {
    need_root!();
    let (_directory, mut places) = places();
    places.executable = PathBuf::from("/bin/false");
    let checks = checks::all(&places);
    assert!(outcome(&checks, "network objects").is_err());
    assert!(outcome(&checks, "user namespace").is_err());
}

/// Runs the checks of `behind` in a user namespace whose `limit` is set to 0.
fn under_limit(limit: &str) -> Vec<Check> {
    let caller = Caller::new();
    let script = format!("echo 0 >/proc/sys/user/{limit} && exec {} --check", ground::behind().display());
    let mut command = caller.command("unshare");
    command.args(["--user", "--map-root-user", "--net", "sh", "-c", &script]);
    let finished = Finished::of(command.spawn().expect("unshare"));
    let errors = finished.errors.clone();
    serde_json::from_str(&finished.succeeded()).unwrap_or_else(|error| panic!("{error}: {errors}"))
}

#[test]
fn namespaces_that_the_administrator_forbids() {
    need_root!();
    if Finished::of(std::process::Command::new("unshare").args(["--user", "true"]).spawn().expect("unshare"))
        .code()
        != 0
    {
        skip::skip!("no user namespaces here");
        return;
    }
    let checks = under_limit("max_user_namespaces");
    let error = outcome(&checks, "user namespace").as_ref().expect_err("forbidden");
    assert!(error.contains("user.max_user_namespaces"), "{error}");
    assert!(error.contains("as root: sysctl -w user.max_user_namespaces="), "{error}");

    let checks = under_limit("max_net_namespaces");
    let error = outcome(&checks, "network namespace").as_ref().expect_err("forbidden");
    assert!(error.contains("as root: sysctl -w user.max_net_namespaces="), "{error}");

    let checks = under_limit("max_mnt_namespaces");
    let error = outcome(&checks, "mount namespace").as_ref().expect_err("forbidden");
    assert!(error.contains("cannot create a mount namespace"), "{error}");
}
