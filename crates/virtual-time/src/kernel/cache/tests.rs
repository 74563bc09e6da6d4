use super::*;

const KEY: &str = "0f";

/// Makes a cache that contains one kernel.
fn with_a_kernel(folder: &Path) -> Cache {
    let cache = Cache::at(folder);
    let workshop = cache.workshop(KEY);
    fs::create_dir_all(&workshop).expect("a folder");
    fs::write(workshop.join(KERNEL), "kernel").expect("written");
    let kernel = Kernel {
        path: "/elsewhere/linux".into(),
        release: "7.2.12-lasthop".to_owned(),
        package: "linux-source-7.2".to_owned(),
        version: "7.2.12-1".to_owned(),
        key: KEY.to_owned(),
        compiler: "gcc 12".to_owned(),
        fallback: false,
    };
    let record = Record { kernel, seconds: BTreeMap::new(), dropped: Vec::new(), config: Options::new() };
    Cache::write_record(&workshop, &record).expect("written");
    cache.put(&workshop, KEY).expect("put");
    cache
}

#[test]
fn the_environment_says_where() {
    let of = |variables: &[(&str, &str)]| {
        let variables: BTreeMap<_, _> = variables.iter().copied().collect();
        Cache::by_environment(&|name| variables.get(name).map(OsString::from))
            .map(|cache| cache.folder.display().to_string())
            .map_err(|error| error.to_string())
    };
    let all = [("LASTHOP_CACHE", "/a"), ("XDG_CACHE_HOME", "/b"), ("HOME", "/c")];
    assert_eq!(of(&all).as_deref(), Ok("/a/kernel"));
    assert_eq!(of(&all[1..]).as_deref(), Ok("/b/lasthop/kernel"));
    assert_eq!(of(&all[2..]).as_deref(), Ok("/c/.cache/lasthop/kernel"));
    // The XDG specification says that a relative path must be ignored.
    assert_eq!(of(&[("XDG_CACHE_HOME", "b"), ("HOME", "/c")]).as_deref(), Ok("/c/.cache/lasthop/kernel"));
    let shared = |variables: &[(&str, &str)]| {
        let variables: BTreeMap<_, _> = variables.iter().copied().collect();
        let cache = Cache::by_environment(&|name| variables.get(name).map(OsString::from));
        cache.expect("a cache").shared.into_iter().map(|folder| folder.display().to_string()).collect()
    };
    let none: [String; 0] = [];
    assert_eq!(shared(&all), none, "the given directory is the only one");
    let found: Vec<String> = shared(&all[2..]);
    assert_eq!(found, ["/var/cache/lasthop/kernel", "/usr/lib/lasthop/kernel"]);
    let error = of(&[]).expect_err("nothing is set");
    assert!(error.contains("set LASTHOP_CACHE, XDG_CACHE_HOME or HOME"), "{error}");
}

#[test]
fn what_was_put_is_found_where_it_is_now() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = with_a_kernel(folder.path());
    let record = cache.record(KEY).expect("a kernel");
    assert_eq!(record.kernel.path, cache.place(KEY).join("linux"));
    assert_eq!(cache.records(), [record]);
    assert_eq!(cache.record("10"), None);
}

/// A package and root's build serve all users; a user's own kernel comes first.
#[test]
fn shared_kernels_are_searched_after_the_users_own() {
    let (own, package) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let shared = with_a_kernel(package.path());
    let cache = Cache { shared: vec![shared.folder().to_owned()], ..Cache::at(own.path()) };
    let path_of = || cache.record(KEY).map(|record| record.kernel.path);
    assert_eq!(path_of(), Some(shared.place(KEY).join(KERNEL)));
    assert_eq!(cache.clean().expect("cleaned"), 0, "only the user's own are removed");
    with_a_kernel(own.path());
    assert_eq!(path_of(), Some(cache.place(KEY).join(KERNEL)));
    let folders: Vec<_> = cache.records().into_iter().map(|record| record.kernel.path).collect();
    assert_eq!(folders, [cache.place(KEY).join(KERNEL), shared.place(KEY).join(KERNEL)]);
}

#[test]
fn a_kernel_that_is_not_whole_is_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = with_a_kernel(folder.path());
    fs::remove_file(cache.place(KEY).join(KERNEL)).expect("removed");
    assert_eq!(cache.record(KEY), None);
    fs::rename(cache.place(KEY), cache.place("10")).expect("renamed");
    assert_eq!(cache.record("10"), None, "the record is of another key");
}

/// Foreign files in the directory stay.
#[test]
fn cleaning_leaves_files_of_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = with_a_kernel(folder.path());
    // Names that could be keys, of directories that are not kernels.
    for other in ["linux", "cafe", "0f.old", "notes.txt"] {
        fs::create_dir(cache.folder().join(other)).expect("made");
        fs::write(cache.folder().join(other).join("Makefile"), "all:").expect("written");
    }
    fs::write(cache.folder().join("linux-source-7.2_7.2.12-1_all.deb"), "source").expect("written");
    fs::write(cache.failed_log(), "no").expect("written");
    assert!(cache.clean().expect("cleaned") > 0);
    let mut left: Vec<_> = names(cache.folder()).collect();
    left.sort();
    assert_eq!(left, ["0f.old", "cafe", "linux", "notes.txt"]);
    assert!(cache.folder().join("linux/Makefile").exists());
}

/// A kernel that another user can change is not run, and no other kernel is built beside it.
#[test]
fn a_cache_that_others_can_write() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let cache = with_a_kernel(folder.path());
    let kernel = cache.record(KEY).expect("a kernel").kernel;
    Cache::check(&kernel).expect("our own");
    fs::set_permissions(cache.folder(), fs::Permissions::from_mode(0o777)).expect("ours");
    let untrusted = |outcome: Result<(), KernelError>| matches!(outcome, Err(KernelError::Untrusted { .. }));
    assert!(untrusted(Cache::check(&kernel)));
    assert!(untrusted(cache.clean().map(drop)));
    assert!(untrusted(cache.lock(KEY, &mut || Ok(())).map(drop)));
    assert!(cache.record(KEY).is_some(), "it is still there");
}

#[test]
fn a_second_build_waits_for_the_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Cache::at(folder.path());
    let mut first = Some(cache.lock(KEY, &mut || panic!("nobody else is there")).expect("the lock"));
    let mut waited = 0;
    let second = cache.lock(KEY, &mut || {
        waited += 1;
        if waited == 3 {
            drop(first.take());
        }
        Ok(())
    });
    // A process that was just started may hold a copy of the file descriptor for a moment.
    assert!(second.is_ok() && waited >= 3, "waited {waited} times");
    let gave_up = cache.lock(KEY, &mut || Err(KernelError::Interrupted));
    assert!(matches!(gave_up, Err(KernelError::Interrupted)), "{gave_up:?}");
    assert!(cache.lock("other", &mut || panic!("another key")).is_ok());
}

#[test]
fn cleaning_frees_all_but_what_is_being_built() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = with_a_kernel(folder.path());
    let workshop = cache.workshop("10");
    fs::create_dir_all(workshop.join("tree")).expect("a folder");
    fs::write(workshop.join("tree/file"), "text").expect("written");
    let lock = cache.lock("10", &mut || panic!("nobody else is there")).expect("the lock");
    let kept = size(&cache.place(KEY));
    assert!(kept > 6);
    assert_eq!(cache.clean().expect("cleaned"), kept);
    assert_eq!(cache.record(KEY), None);
    assert!(workshop.join("tree/file").exists(), "somebody builds there");
    drop(lock);
    while cache.clean().expect("cleaned") == 0 {
        // As above: the lock is released with the last copy of its file descriptor.
    }
    assert!(!workshop.exists());
}
