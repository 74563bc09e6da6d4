//! `lasthop kernel`: builds, shows and removes the virtual-time kernel of this machine.

pub mod arguments;
mod progress;

use crate::failure::Failure;
use arguments::{BuildArguments, KernelArguments, KernelVerb};
use progress::Lines;
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use virtual_time::kernel::{self, Ask, Cache, KernelError, Recipe, Record};

/// Exit status of `show` if there is no kernel.
const NOT_BUILT: i32 = 1;
/// Exit status of `build` if the archive cannot be reached, and only the network is missing for a
/// build.
const NO_NETWORK: i32 = 4;
/// Exit status after Ctrl-C, as in a shell.
const INTERRUPTED: i32 = 130;
const MEGA: f64 = 1e6;

/// Runs the subcommand.
pub fn run(arguments: &KernelArguments) -> Result<i32, Failure> {
    match &arguments.verb {
        KernelVerb::Build(arguments) => build(arguments, &cache(arguments.system)?),
        KernelVerb::Show { json } => show(&cache(false)?, *json),
        KernelVerb::Clean { system } => {
            let cache = cache(*system)?;
            let freed = cache.clean()? as f64 / MEGA;
            anstream::eprintln!("lasthop: {freed:.1} MB freed in {}", cache.folder().display());
            Ok(0)
        }
    }
}

/// Returns the cache of all users of this machine, or else the user's own.
fn cache(system: bool) -> Result<Cache, KernelError> {
    if system { Ok(Cache::of_machine()) } else { Cache::of_user() }
}

fn build(arguments: &BuildArguments, cache: &Cache) -> Result<i32, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    let ask = Ask { force: arguments.force, keep_source: arguments.keep_source };
    let mut lines = Lines::new();
    let built = kernel::build(cache, ask, &interrupted, &mut |progress| lines.tell(&progress));
    lines.finish();
    let kernel = match built {
        Err(error @ KernelError::Interrupted) => {
            anstream::eprintln!("lasthop: {error}");
            return Ok(INTERRUPTED);
        }
        Err(error @ KernelError::NoNetwork { .. }) => {
            anstream::eprintln!("lasthop: {error}");
            return Ok(NO_NETWORK);
        }
        other => other?,
    };
    anstream::println!("{}", kernel.path.display());
    let source = if kernel.fallback { "an unpinned source, " } else { "" };
    anstream::eprintln!(
        "lasthop: kernel {} built from {source}{} {}",
        kernel.release,
        kernel.package,
        kernel.version
    );
    Ok(0)
}

fn show(cache: &Cache, json: bool) -> Result<i32, Failure> {
    let recipe = Recipe::embedded()?;
    let record = kernel::find(cache)?.and_then(|kernel| cache.record(&kernel.key));
    if json {
        anstream::println!("{}", serde_json::to_string(&object(&recipe, record.as_ref(), cache))?);
    } else if let Some(record) = &record {
        print(record, &recipe);
    } else {
        anstream::println!("not built: `lasthop kernel build` builds it from {}", recipe.source.name());
        if let Some(key) = kernel::key(&recipe) {
            anstream::println!("it would be in {}", cache.place(&key).display());
        }
    }
    Ok(if record.is_some() { 0 } else { NOT_BUILT })
}

fn print(record: &Record, recipe: &Recipe) {
    let kernel = &record.kernel;
    let pinned =
        if kernel.fallback { format!(" instead of {}", recipe.source.version) } else { String::new() };
    anstream::println!("kernel   {}", kernel.release);
    anstream::println!("path     {}", kernel.path.display());
    anstream::println!("size     {:.1} MB", kernel::size(&kernel.path) as f64 / MEGA);
    anstream::println!("source   {} {}{pinned}", kernel.package, kernel.version);
    anstream::println!("compiler {}", kernel.compiler);
    anstream::println!("key      {}", kernel.key);
    anstream::println!("patches  {}", recipe.patches().collect::<Vec<_>>().join(" "));
    anstream::println!("options  {} on", record.config.len());
    anstream::println!("  congestion control  {}", enabled(record, "TCP_CONG_"));
    anstream::println!("  queues              {}", enabled(record, "NET_SCH_"));
    if !record.dropped.is_empty() {
        anstream::println!("  not as requested: {}", record.dropped.join(", "));
    }
    let total: f64 = record.seconds.values().sum();
    let mut steps: Vec<_> = record.seconds.iter().collect();
    steps.sort_by(|one, other| other.1.total_cmp(one.1));
    let steps: Vec<_> = steps.iter().map(|(step, seconds)| format!("{step} {seconds:.0} s")).collect();
    // A package does not say how long its kernel took to build.
    if !steps.is_empty() {
        anstream::println!("built in {total:.0} s: {}", steps.join(", "));
    }
}

/// Returns the enabled options with a prefix, without the prefix and in lower case.
fn enabled(record: &Record, prefix: &str) -> String {
    let names = record.config.keys().filter_map(|option| option.strip_prefix(prefix));
    names.filter(|name| *name != "ADVANCED").map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

fn object(recipe: &Recipe, record: Option<&Record>, cache: &Cache) -> serde_json::Value {
    json!({
        "built": record.is_some(),
        "key": kernel::key(recipe),
        "cache": cache.folder(),
        "pinned": recipe.source,
        "patches": recipe.patches().collect::<Vec<_>>(),
        "kernel": record.map(|record| &record.kernel),
        "size": record.map(|record| kernel::size(&record.kernel.path)),
        "seconds": record.map(|record| &record.seconds),
        "dropped": record.map(|record| &record.dropped),
        "config": record.map(|record| &record.config),
    })
}
