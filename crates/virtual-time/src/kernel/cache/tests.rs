use super::*;

const KEY: &str = "0f";

/// A cache with one kernel in it.
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
    // The standard says that a relative one is to be ignored.
    assert_eq!(of(&[("XDG_CACHE_HOME", "b"), ("HOME", "/c")]).as_deref(), Ok("/c/.cache/lasthop/kernel"));
    let error = of(&[]).expect_err("nothing is set");
    assert!(error.contains("Set LASTHOP_CACHE, XDG_CACHE_HOME or HOME"), "{error}");
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

#[test]
fn a_kernel_that_is_not_whole_is_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = with_a_kernel(folder.path());
    fs::remove_file(cache.place(KEY).join(KERNEL)).expect("removed");
    assert_eq!(cache.record(KEY), None);
    fs::rename(cache.place(KEY), cache.place("10")).expect("renamed");
    assert_eq!(cache.record("10"), None, "the record is of another key");
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
    // Another process that was just started may hold a copy of the descriptor for a moment.
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
        // As above: the lock is let go when the last copy of its descriptor is.
    }
    assert!(!workshop.exists());
}
