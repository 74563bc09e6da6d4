//! Building a kernel step by step, in a directory that is removed unless every step succeeds.

mod fetch;

use super::cache::{Cache, Lock, Record};
use super::child::{Outcome, Programs, Sign};
use super::config;
use super::error::KernelError;
use super::recipe::{Recipe, SCRIPT};
use super::tools::{self, Tools};
use super::{Kernel, find};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Free space that a build needs, in megabytes: source package, tree and objects.
const ROOM: u64 = 2500;
/// Interval at which a waiting build checks whether the other one is done.
const WAIT: Duration = Duration::from_millis(300);
const MEGA: u64 = 1_000_000;

/// A step of the build, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Fetch the archive's package lists.
    Lists,
    /// Fetch programs that this machine lacks.
    Tools,
    /// Download the source package.
    Download,
    /// Unpack the source package.
    Unpack,
    /// Apply our patches.
    Patch,
    /// Configure the kernel.
    Configure,
    /// Compile the kernel.
    Compile,
    /// Check that the result starts.
    Check,
}

impl Step {
    /// Returns a description of the step for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lists => "asking the archive",
            Self::Tools => "fetching tools",
            Self::Download => "downloading the source",
            Self::Unpack => "unpacking",
            Self::Patch => "patching",
            Self::Configure => "configuring",
            Self::Compile => "compiling",
            Self::Check => "checking the kernel",
        }
    }
}

/// Progress of a build.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// A notice: another build is being waited for, or another source than the pinned one is used.
    Note(String),
    /// A step starts.
    Began(Step),
    /// Fraction of the step that is done, 0 to 1.
    At(Step, f64),
    /// A step has ended, after this time.
    Ended(Step, Duration),
}

/// Options of a build.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ask {
    /// Build even if the kernel is in the cache.
    pub force: bool,
    /// Keep the source package in the cache.
    pub keep_source: bool,
}

/// Builds the kernel of the embedded recipe, unless it is in the cache; stops when `interrupted`.
///
/// # Errors
/// See [`KernelError`]. Nothing is left behind but the log of a failed build.
pub fn build(
    cache: &Cache,
    ask: Ask,
    interrupted: &AtomicBool,
    tell: &mut dyn FnMut(Progress),
) -> Result<Kernel, KernelError> {
    if let Some(kernel) = find(cache)?.filter(|_| !ask.force) {
        return Ok(kernel);
    }
    build_of(Recipe::embedded()?, cache, ask, interrupted, tell)
}

/// Does the same as [`build`] for any recipe.
fn build_of(
    recipe: Recipe,
    cache: &Cache,
    ask: Ask,
    interrupted: &AtomicBool,
    tell: &mut dyn FnMut(Progress),
) -> Result<Kernel, KernelError> {
    tools::require()?;
    let compiler =
        tools::compiler().ok_or(KernelError::NoProgram { program: "gcc", package: "build-essential" })?;
    let key = recipe.key(&compiler);
    let (lock, waited) = lock(cache, &key, interrupted, tell)?;
    // The build that was waited for may have made it.
    if let Some(record) = cache.record(&key).filter(|_| waited) {
        return Ok(record.kernel);
    }
    let workshop = cache.workshop(&key);
    clear(&workshop)?;
    require_room(cache.folder())?;
    fs::create_dir_all(&workshop).map_err(KernelError::file("create", &workshop))?;
    let log = workshop.join("build.log");
    let file = File::create(&log).map_err(KernelError::file("write", &log))?;
    let programs = Programs::new(file, interrupted);
    let site = Site { cache, recipe, compiler, key, workshop, programs };
    let mut building = Building { site, tell, seconds: BTreeMap::new() };
    let result = building.all(ask);
    let workshop = building.site.workshop;
    if let Err(error) = &result {
        if !matches!(error, KernelError::Interrupted) {
            let _ = fs::rename(&log, cache.failed_log());
        }
        clear(&workshop)?;
    }
    drop(lock);
    result
}

/// Takes the lock; returns it, and whether another build had to be waited for.
fn lock(
    cache: &Cache,
    key: &str,
    interrupted: &AtomicBool,
    tell: &mut dyn FnMut(Progress),
) -> Result<(Lock, bool), KernelError> {
    let mut waited = false;
    let lock = cache.lock(key, &mut || {
        if !waited {
            tell(Progress::Note("another lasthop is building this kernel: waiting for it".to_owned()));
            waited = true;
        }
        thread::sleep(WAIT);
        if interrupted.load(Ordering::Relaxed) { Err(KernelError::Interrupted) } else { Ok(()) }
    })?;
    Ok((lock, waited))
}

/// Removes a directory if it exists.
fn clear(folder: &Path) -> Result<(), KernelError> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(KernelError::file("remove", folder))
    } else {
        Ok(())
    }
}

fn require_room(folder: &Path) -> Result<(), KernelError> {
    let about = rustix::fs::statvfs(folder).map_err(|error| KernelError::File {
        doing: "inspect",
        path: folder.to_owned(),
        source: error.into(),
    })?;
    let free = about.f_bavail * about.f_frsize / MEGA;
    if free < ROOM {
        return Err(KernelError::NoRoom { path: folder.to_owned(), needed: ROOM, free });
    }
    Ok(())
}

/// Inputs and directories of a build.
struct Site<'a> {
    cache: &'a Cache,
    recipe: Recipe,
    compiler: String,
    key: String,
    workshop: PathBuf,
    programs: Programs<'a>,
}

impl Site<'_> {
    fn tree(&self) -> PathBuf {
        self.workshop.join("tree")
    }

    /// Runs a step of the build script.
    fn script(
        &mut self,
        step: &str,
        tools: &Tools,
        watch: &mut dyn FnMut(Sign<'_>),
    ) -> Result<Outcome, KernelError> {
        let mut command = Command::new("sh");
        command.arg(self.workshop.join("recipe").join(SCRIPT)).arg(step).arg(self.tree());
        command.arg(thread::available_parallelism().map_or(1, usize::from).to_string());
        tools.lend(&mut command);
        self.programs.run(&mut command, watch)
    }

    fn failed(&self, step: Step, said: String) -> KernelError {
        KernelError::Failed { step: step.name(), said, log: self.cache.failed_log() }
    }
}

/// A build in progress.
struct Building<'a> {
    site: Site<'a>,
    tell: &'a mut dyn FnMut(Progress),
    seconds: BTreeMap<String, f64>,
}

impl Building<'_> {
    fn all(&mut self, ask: Ask) -> Result<Kernel, KernelError> {
        let recipe = self.site.workshop.join("recipe");
        self.site.recipe.write(&recipe)?;
        let wanted = tools::to_fetch();
        let (archive, candidates) = self.step(Step::Lists, |it| it.ask_archive(!wanted.is_empty()))?;
        let tools = self.step(Step::Tools, |it| it.fetch_tools(&wanted, &archive))?;
        let source = self.source(&archive, &tools, &candidates, ask)?;
        let fallback = source.version != self.site.recipe.source.version;
        let (options, dropped) = self.step(Step::Configure, |it| it.configure(&tools, fallback))?;
        self.step(Step::Compile, |it| it.compile(&tools))?;
        let release = self.step(Step::Check, Self::check)?;
        let kernel = Kernel {
            path: self.site.cache.place(&self.site.key).join("linux"),
            release,
            package: source.package,
            version: source.version,
            key: self.site.key.clone(),
            compiler: self.site.compiler.clone(),
            fallback,
        };
        let record = Record {
            kernel: kernel.clone(),
            seconds: std::mem::take(&mut self.seconds),
            dropped: dropped.iter().map(ToString::to_string).collect(),
            config: options,
        };
        self.put(&record)?;
        Ok(kernel)
    }

    /// Performs a step, reports its start and end, and records its duration.
    fn step<T>(
        &mut self,
        step: Step,
        work: impl FnOnce(&mut Self) -> Result<T, KernelError>,
    ) -> Result<T, KernelError> {
        (self.tell)(Progress::Began(step));
        let began = Instant::now();
        let result = work(self)?;
        let took = began.elapsed();
        // If the pinned source is gone, some steps run once for each source that is tried.
        *self.seconds.entry(step.name().to_owned()).or_default() += took.as_secs_f64();
        (self.tell)(Progress::Ended(step, took));
        Ok(result)
    }

    fn configure(
        &mut self,
        tools: &Tools,
        fallback: bool,
    ) -> Result<(config::Options, Vec<config::Dropped>), KernelError> {
        let site = &mut self.site;
        let outcome = site.script("configure", tools, &mut |_| {})?;
        if !outcome.success {
            return Err(site.failed(Step::Configure, outcome.tail()));
        }
        let path = site.tree().join(".config");
        let text = fs::read_to_string(&path).map_err(KernelError::file("read", &path))?;
        let options = config::parse(&text);
        let dropped = config::dropped(&site.recipe.config(), &options);
        if dropped.is_empty() || fallback {
            Ok((options, dropped))
        } else {
            Err(KernelError::Dropped(dropped))
        }
    }

    fn compile(&mut self, tools: &Tools) -> Result<(), KernelError> {
        let (site, tell) = (&mut self.site, &mut self.tell);
        let expected = site.recipe.source.compile_lines.max(1) as f64;
        let mut lines = 0.0;
        let outcome = site.script("compile", tools, &mut |sign| {
            if matches!(sign, Sign::Line(line) if line.starts_with("  ")) {
                lines += 1.0;
                tell(Progress::At(Step::Compile, f64::min(lines / expected, 1.0)));
            }
        })?;
        if outcome.success { Ok(()) } else { Err(site.failed(Step::Compile, outcome.tail())) }
    }

    /// Starts the kernel only to print its release, and returns that.
    fn check(&mut self) -> Result<String, KernelError> {
        let site = &mut self.site;
        let mut command = Command::new(site.tree().join("linux.stripped"));
        let outcome = site.programs.run(command.arg("--version"), &mut |_| {})?;
        let release = outcome.lines.last().filter(|_| outcome.success).cloned();
        release.ok_or_else(|| site.failed(Step::Check, outcome.tail()))
    }

    /// Puts the kernel, its record and the log into the cache.
    fn put(&mut self, record: &Record) -> Result<(), KernelError> {
        let site = &self.site;
        let finished = site.workshop.join("finished");
        fs::create_dir_all(&finished).map_err(KernelError::file("create", &finished))?;
        let built = site.tree().join("linux.stripped");
        fs::rename(&built, finished.join("linux")).map_err(KernelError::file("move", &built))?;
        let log = site.workshop.join("build.log");
        fs::rename(&log, finished.join("build.log")).map_err(KernelError::file("move", &log))?;
        Cache::write_record(&finished, record)?;
        site.cache.put(&finished, &site.key)?;
        clear(&site.workshop)
    }
}

#[cfg(test)]
mod tests {
    use super::super::archive::Archive;
    use super::*;

    /// Builds `recipe` until it is patched; returns the result and the notices.
    fn until_patched(recipe: Recipe) -> (Result<Kernel, KernelError>, Vec<String>) {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(folder.path());
        let interrupted = AtomicBool::new(false);
        let mut said = Vec::new();
        let result = build_of(recipe, &cache, Ask::default(), &interrupted, &mut |progress| match progress {
            Progress::Note(words) => said.push(words),
            Progress::Began(Step::Configure) => interrupted.store(true, Ordering::Relaxed),
            _ => {}
        });
        let left = fs::read_dir(cache.folder()).expect("the cache").flatten();
        let left: Vec<_> =
            left.filter(|entry| entry.path().extension().is_none_or(|end| end != "lock")).collect();
        assert!(
            left.len() <= usize::from(!matches!(result, Err(KernelError::Interrupted))),
            "left: {left:?}"
        );
        (result, said)
    }

    #[test]
    #[ignore = "downloads 165 MB or more: cargo test -p virtual-time -- --ignored"]
    fn a_source_that_is_gone_is_replaced_by_one_on_which_the_patches_apply() {
        let mut recipe = Recipe::embedded().expect("a recipe");
        recipe.source.version = "7.2.0-0".to_owned();
        let (result, said) = until_patched(recipe);
        assert!(matches!(result, Err(KernelError::Interrupted)), "{result:?}");
        let first = said.first().expect("it is said");
        assert!(first.starts_with("the archive no longer has linux-source-7.2 7.2.0-0; trying "), "{first}");
    }

    #[test]
    #[ignore = "downloads 165 MB: cargo test -p virtual-time -- --ignored"]
    fn a_source_with_another_check_sum_is_refused() {
        let mut recipe = Recipe::embedded().expect("a recipe");
        recipe.source.sha256 = "00".repeat(32);
        let (result, _) = until_patched(recipe);
        assert!(matches!(result, Err(KernelError::Checksum { .. })), "{result:?}");
    }

    /// A recipe whose build script is this one.
    fn recipe(script: &str) -> Recipe {
        let source = "package = 'linux-source-7.2'\nversion = '7.2.1-1'\nsuite = 's'\nsize = 1\nsha256 = '00'\ncompile_lines = 4";
        let config = "CONFIG_NET=y\n# CONFIG_SMP is not set\n";
        let files = [("source.toml", source), ("config", config), ("build", script)];
        Recipe::of(files.map(|(name, text)| (name.to_owned(), text.into())).into()).expect("a recipe")
    }

    /// Does `work` on a build in a cache below `folder`; returns its result and what was told.
    fn on_site<T>(
        folder: &Path,
        script: &str,
        work: impl FnOnce(&mut Building<'_>, &Tools) -> Result<T, KernelError>,
    ) -> (Result<T, KernelError>, Vec<Progress>) {
        let (cache, go_on) = (Cache::at(folder), AtomicBool::new(false));
        let workshop = cache.workshop("0f");
        let recipe = recipe(script);
        recipe.write(&workshop.join("recipe")).expect("written");
        fs::create_dir_all(workshop.join("tree")).expect("made");
        let log = File::create(workshop.join("build.log")).expect("a log");
        let (key, compiler) = ("0f".to_owned(), "gcc 12".to_owned());
        let programs = Programs::new(log, &go_on);
        let site = Site { cache: &cache, recipe, compiler, key, workshop, programs };
        let mut told = Vec::new();
        let mut tell = |progress| told.push(progress);
        let mut building = Building { site, tell: &mut tell, seconds: BTreeMap::new() };
        let tools = building.site.workshop.join("tools");
        let archive = Archive::for_tests(&tools);
        let tools = Tools::fetch(&tools, &[], &archive, &mut building.site.programs);
        let tools = tools.expect("no error").expect("none are needed");
        (work(&mut building, &tools), told)
    }

    fn said<T: std::fmt::Debug>(result: Result<T, KernelError>) -> String {
        result.expect_err("an error").to_string()
    }

    #[test]
    fn the_script_gets_step_tree_and_processors() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = "echo \"$#\" \"$1\" \"$2\"; [ \"$3\" -ge 1 ]";
        let (outcome, _) =
            on_site(folder.path(), script, |it, tools| it.site.script("patch", tools, &mut |_| {}));
        let outcome = outcome.expect("it ran");
        let tree = folder.path().join("kernel/0f.building/tree");
        assert!(outcome.success);
        assert_eq!(outcome.lines, [format!("3 patch {}", tree.display())]);
    }

    /// Of a fallback kernel they are only noted: plans that need none of them run on it.
    #[test]
    fn options_that_were_dropped_are_an_error_unless_the_source_is_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let configured = |script: &str, fallback| {
            on_site(folder.path(), script, |it, tools| it.configure(tools, fallback)).0
        };
        let right = "echo CONFIG_NET=y >\"$2/.config\"";
        let (options, dropped) = configured(right, false).expect("configured");
        assert_eq!((options.get("NET").map(String::as_str), dropped.len()), (Some("y"), 0));
        let wrong = "echo CONFIG_SMP=y >\"$2/.config\"";
        let text = said(configured(wrong, false));
        assert!(text.ends_with(": NET is n instead of y, SMP is y instead of n"), "{text}");
        let (_, dropped) = configured(wrong, true).expect("configured");
        assert_eq!(dropped.len(), 2);
        let text = said(configured("echo 'no such target'; exit 2", true));
        let log = folder.path().join("kernel/failed.log");
        assert_eq!(
            text,
            format!("configuring failed: no such target\nThe complete output is in {}", log.display())
        );
    }

    /// The compiler's lines are indented; what it says besides is no progress.
    #[test]
    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method is not general enough")]
    fn the_progress_of_compiling() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = "echo warning; for each in 1 2 3 4 5; do echo '  CC x.o'; done; echo ' LD y'";
        let (result, told) = on_site(folder.path(), script, |it, tools| it.compile(tools));
        result.expect("compiled");
        assert_eq!(told, [0.25, 0.5, 0.75, 1.0, 1.0].map(|share| Progress::At(Step::Compile, share)));
        let (result, _) = on_site(folder.path(), "echo broken; exit 1", |it, tools| it.compile(tools));
        assert!(said(result).starts_with("compiling failed: broken\n"));
    }

    #[test]
    fn steps_are_told_and_their_times_added_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let (seconds, told) = on_site(folder.path(), "", |it, _| {
            it.step(Step::Patch, |_| Ok(()))?;
            it.step(Step::Patch, |_| Ok(()))?;
            let failed: Result<(), _> = it.step(Step::Check, |_| Err(KernelError::Interrupted));
            assert!(failed.is_err());
            Ok(it.seconds.keys().cloned().collect::<Vec<_>>())
        });
        assert_eq!(seconds.expect("no error"), ["patching"], "a step that failed has no time");
        let kinds: Vec<_> = told
            .iter()
            .map(|progress| match progress {
                Progress::Began(step) => ("began", *step),
                Progress::Ended(step, _) => ("ended", *step),
                other => panic!("{other:?}"),
            })
            .collect();
        let twice = [("began", Step::Patch), ("ended", Step::Patch)];
        assert_eq!(kinds, [&twice[..], &twice, &[("began", Step::Check)]].concat());
    }

    /// What is built gets into the cache in one step, and nothing of the work stays.
    #[test]
    fn a_kernel_is_checked_and_put_into_the_cache() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = "printf '#!/bin/sh\\necho Linux; echo 7.2.1-lasthop' >\"$2/linux.stripped\"; chmod +x \"$2/linux.stripped\"";
        let (result, _) = on_site(folder.path(), script, |it, tools| {
            it.compile(tools)?;
            let kernel = Kernel {
                path: it.site.cache.place("0f").join("linux"),
                release: it.check()?,
                package: "linux-source-7.2".to_owned(),
                version: "7.2.1-1".to_owned(),
                key: "0f".to_owned(),
                compiler: "gcc 12".to_owned(),
                fallback: false,
            };
            let (seconds, config) = (BTreeMap::new(), config::Options::new());
            let record = Record { kernel, seconds, dropped: Vec::new(), config };
            it.put(&record)?;
            Ok(record)
        });
        let record = result.expect("built");
        assert_eq!(record.kernel.release, "7.2.1-lasthop", "the last line");
        let cache = Cache::at(folder.path());
        assert_eq!(cache.record("0f"), Some(record));
        assert!(cache.place("0f").join("build.log").is_file() && !cache.workshop("0f").exists());
        let script = "printf '#!/bin/sh\\nexit 3' >\"$2/linux.stripped\"; chmod +x \"$2/linux.stripped\"";
        let (result, _) = on_site(folder.path(), script, |it, tools| {
            it.compile(tools)?;
            it.check()
        });
        assert!(said(result).starts_with("checking the kernel failed: "));
    }

    #[test]
    fn another_build_is_waited_for_and_told_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(folder.path());
        let (mut told, go_on) = (Vec::new(), AtomicBool::new(false));
        let (first, waited) = lock(&cache, "0f", &go_on, &mut |_| panic!("nobody builds")).expect("a lock");
        assert!(!waited);
        let stop = AtomicBool::new(true);
        let gave_up = lock(&cache, "0f", &stop, &mut |progress| told.push(progress)).map(drop);
        assert!(matches!(gave_up, Err(KernelError::Interrupted)), "{gave_up:?}");
        assert!(matches!(&told[..], [Progress::Note(words)] if words.contains("waiting for it")), "{told:?}");
        drop(first);
    }
}
