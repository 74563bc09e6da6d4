//! Foreign files stay: directories and files of others, links, and states with a wrong id.

use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};

/// Id of another user.
const STRANGER: u32 = 65_534;

/// Returns what a sweep left alone, without the path of the state directory.
fn left(registry: &Registry) -> Vec<String> {
    let swept = registry.sweep().expect("swept");
    assert!(swept.undone.is_empty(), "{swept:?}");
    let prefix = format!("{}/", registry.path().display());
    swept.left.iter().map(|line| line.strip_prefix(&prefix).expect("a path").to_owned()).collect()
}

/// Creates a directory with a document beside the state directory.
fn document(guard: &tempfile::TempDir) -> PathBuf {
    let folder = guard.path().join("documents");
    fs::create_dir(&folder).expect("made");
    fs::write(folder.join("letter"), "dear").expect("written");
    folder
}

/// Returns whether files can be given to another user here.
fn can_give_away(path: &Path) -> bool {
    let given = folder::own_user() == 0 && chown(path, Some(STRANGER), None).is_ok();
    if !given {
        skip::skip!("only root gives files to another user");
    }
    given
}

/// Returns the state file of a dead run.
fn state_of_a_dead_run(registry: &Registry) -> (String, serde_json::Value) {
    let id = abandoned(registry, Vec::new());
    let text = fs::read(registry.path().join(&id).join("state.json")).expect("a file");
    (id, serde_json::from_slice(&text).expect("JSON"))
}

#[test]
fn a_folder_of_documents_is_no_state_directory() {
    let guard = tempfile::tempdir().expect("a directory");
    let documents = document(&guard);
    fs::create_dir(documents.join("2024")).expect("made");
    let error = Registry::at(documents.clone()).expect_err("refused").to_string();
    let expected = format!(
        "the state directory {} contains other files, such as \"2024\"; set LASTHOP_STATE_DIR to an empty directory",
        documents.display()
    );
    assert_eq!(error, expected);
    assert!(documents.join("letter").exists() && documents.join("2024").exists());
    assert!(!documents.join(LOCK).exists());
}

/// Other files that appear in a state directory of ours stay there.
#[test]
fn other_files_in_a_state_directory_stay() {
    let (_guard, registry) = registry();
    drop(registry.lock().expect("locked"));
    for folder in ["letters", "3", "04", "0", "4294967297", "+5"] {
        let folder = registry.path().join(folder);
        fs::create_dir(&folder).expect("made");
        fs::write(folder.join("letter"), "dear").expect("written");
    }
    fs::write(registry.path().join("notes"), "mine").expect("written");
    let named = "the name is not a run number";
    let expected = [
        format!("+5: {named}"),
        format!("0: {named}"),
        format!("04: {named}"),
        "3: state.json: No such file or directory (os error 2)".to_owned(),
        format!("4294967297: {named}"),
        format!("letters: {named}"),
        format!("notes: {named}"),
    ];
    assert_eq!(left(&registry), expected);
    assert!(registry.path().join("3/letter").exists() && registry.path().join("letters/letter").exists());
}

/// A state whose id leads out of the state directory is not taken for a run's.
#[test]
fn a_state_whose_id_is_not_its_folders_name() {
    let (guard, registry) = registry();
    let documents = document(&guard);
    let (id, mut state) = state_of_a_dead_run(&registry);
    for other in ["../documents", "/tmp", ".", "2"] {
        state["id"] = other.into();
        let file = registry.path().join(&id).join("state.json");
        fs::write(&file, state.to_string()).expect("written");
        let expected = format!("{id}: state.json: the id {other:?} differs from the directory's name");
        assert_eq!(left(&registry), [expected]);
        assert!(documents.join("letter").exists() && file.exists());
        assert_eq!(registry.undo(&id, &[]).expect("nothing to do"), [""; 0]);
        assert!(registry.list().expect("a list").is_empty());
    }
}

#[test]
fn a_state_without_our_marker_or_unreadable() {
    let (_guard, registry) = registry();
    let (id, mut state) = state_of_a_dead_run(&registry);
    let file = registry.path().join(&id).join("state.json");
    state["lasthop"] = "something else".into();
    fs::write(&file, state.to_string()).expect("written");
    assert_eq!(left(&registry), [format!("{id}: state.json: not the state of a run")]);
    state.as_object_mut().expect("an object").remove("lasthop");
    fs::write(&file, state.to_string()).expect("written");
    assert!(left(&registry)[0].contains("missing field `lasthop`"));
    fs::write(&file, "{").expect("written");
    assert!(left(&registry)[0].starts_with(&format!("{id}: state.json: EOF")));
    assert!(file.exists());
}

#[test]
fn links_are_not_followed() {
    let (guard, registry) = registry();
    let documents = document(&guard);
    let (id, state) = state_of_a_dead_run(&registry);
    // A link with a name like a run's, to a directory that even contains a state with that id.
    let mut other = state.clone();
    other["id"] = "9".into();
    fs::write(documents.join("state.json"), other.to_string()).expect("written");
    symlink(&documents, registry.path().join("9")).expect("a link");
    // A link in place of a state file.
    let folder = registry.path().join(&id);
    fs::rename(folder.join("state.json"), guard.path().join("elsewhere")).expect("moved");
    symlink(guard.path().join("elsewhere"), folder.join("state.json")).expect("a link");
    let left = left(&registry);
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left[0].starts_with(&format!("{id}: state.json: Too many levels")), "{left:?}");
    assert_eq!(left[1], "9: not a directory");
    assert!(documents.join("letter").exists());
    // A link in the directory of a run that is removed.
    let (id, _) = state_of_a_dead_run(&registry);
    symlink(&documents, registry.path().join(&id).join("hosts")).expect("a link");
    assert_eq!(registry.sweep().expect("swept").undone.len(), 1);
    assert!(!registry.path().join(&id).exists() && documents.join("letter").exists());
    // A link in place of the state directory itself.
    let link = guard.path().join("link");
    symlink(registry.path(), &link).expect("a link");
    let error = Registry::at(link).expect_err("refused").to_string();
    assert!(error.contains("is not a directory; remove it, or set LASTHOP_STATE_DIR"), "{error}");
}

/// A link in the place where a state is written is replaced, not written through.
#[test]
fn a_planted_link_is_not_written_through() {
    let (guard, registry) = registry();
    let documents = document(&guard);
    let mut run = registry.begin().expect("a run");
    let file = run.directory().join("state.json");
    for name in ["state.json", "state.json.new"] {
        let _ = fs::remove_file(run.directory().join(name));
        symlink(documents.join("letter"), run.directory().join(name)).expect("a link");
    }
    run.update(|state| state.command = vec!["true".into()]).expect("written");
    assert!(fs::symlink_metadata(&file).expect("there").is_file());
    assert_eq!(fs::read_to_string(documents.join("letter")).expect("a letter"), "dear");
}

#[test]
fn what_belongs_to_others_or_can_be_written_by_them() {
    let (_guard, registry) = registry();
    let (id, _) = state_of_a_dead_run(&registry);
    let folder = registry.path().join(&id);
    let file = folder.join("state.json");
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
    };
    mode(&folder, 0o777);
    assert_eq!(left(&registry), [format!("{id}: writable by other users (mode 777)")]);
    mode(&folder, 0o700);
    mode(&file, 0o666);
    assert_eq!(left(&registry), [format!("{id}: state.json: writable by other users (mode 666)")]);
    mode(&file, 0o600);
    mode(registry.path(), 0o1777);
    let error = Registry::at(registry.path().to_owned()).expect_err("refused").to_string();
    assert!(error.contains("(mode 1777); chmod go-w"), "{error}");
    assert!(registry.sweep().is_err() && registry.begin().is_err());
    mode(registry.path(), 0o700);
    if !can_give_away(&file) {
        return;
    }
    assert_eq!(left(&registry), [format!("{id}: state.json: belongs to user {STRANGER}")]);
    assert!(can_give_away(&folder));
    assert_eq!(left(&registry), [format!("{id}: belongs to user {STRANGER}")]);
    assert!(can_give_away(registry.path()));
    let error = Registry::at(registry.path().to_owned()).expect_err("refused").to_string();
    assert!(error.contains(&format!("belongs to user {STRANGER}; remove it, or set")), "{error}");
    assert!(registry.begin().is_err() && file.exists());
}

/// Objects that a state lists but that no run makes are left to whoever wrote it.
#[test]
fn a_state_that_lists_what_no_run_makes() {
    let (guard, registry) = registry();
    let group = guard.path().join("lasthop-1-1-1");
    fs::create_dir(&group).expect("made");
    let table = Made::Table { name: "filter".into() };
    let sysctl = Made::Sysctl { key: "kernel.core_pattern".into(), former: "|/bin/sh".into() };
    abandoned(&registry, vec![table, sysctl, Made::Cgroup { path: group.clone() }]);
    let undone = registry.sweep().expect("swept").undone;
    let refused = undone.iter().filter(|line| line.contains("which lasthop never creates")).count();
    assert_eq!((refused, undone.len()), (3, 4), "{undone:?}");
    assert!(group.exists());
}

/// The state directory is in /run, or in /tmp for a user without a runtime directory.
#[test]
fn where_the_state_is() {
    assert_eq!(Registry::usual(0, Some("/run/user/0".into())), Path::new("/run/lasthop"));
    assert_eq!(Registry::usual(9, Some("/run/user/9".into())), Path::new("/run/user/9/lasthop"));
    assert_eq!(Registry::usual(987_654_321, None), Path::new("/tmp/lasthop-987654321"));
}
