//! Checks of what works on this machine: each performs the operation that it reports on, then
//! undoes it.
//!
//! They are for `lasthop doctor`, which only prints the outcomes. The files and programs involved
//! are arguments ([`Places`]), so that a test can break each check. Operations that change the
//! calling process happen in a separate process: this binary again, as `__check` (see
//! [`keeper::entry`](crate::keeper::entry)).

mod objects;

use crate::cgroup::Cgroup;
use crate::error::{Error, Result, Trying};
use crate::route::Metrics;
use crate::state::Registry;
use crate::{nat, rights, tun};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// First argument of a checking process.
pub(crate) const SUBCOMMAND: &str = "__check";

/// Files and programs that the checks use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    /// The device file that opens TUN devices.
    pub tun: PathBuf,
    /// The program nft, if installed.
    pub nft: Option<PathBuf>,
    /// The program pasta, if installed.
    pub pasta: Option<PathBuf>,
    /// The congestion control that the checked route requires.
    pub congestion_control: String,
    /// The /proc directory of the process whose control group is checked.
    pub process: PathBuf,
    /// A binary that calls [`keeper::entry`](crate::keeper::entry) before anything else.
    pub executable: PathBuf,
    /// The state directory; `None` for the default.
    pub state: Option<PathBuf>,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            tun: PathBuf::from(tun::DEVICE),
            nft: nat::program("nft"),
            pasta: nat::program("pasta"),
            congestion_control: Metrics::default().congestion_control,
            process: PathBuf::from("/proc/self"),
            executable: PathBuf::from("/proc/self/exe"),
            state: None,
        }
    }
}

/// The outcome of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What was tried, in a few words.
    pub name: String,
    /// Whether links need it; the other checks are of optional features.
    pub essential: bool,
    /// What was found, or what is missing and how to get it.
    pub outcome: std::result::Result<String, String>,
}

impl Check {
    fn new(name: &str, essential: bool, outcome: Result<String>) -> Self {
        Self { name: name.into(), essential, outcome: outcome.map_err(|error| error.to_string()) }
    }
}

/// Where a checking process performs its checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Where {
    /// With the rights that it has.
    Here,
    /// In a user namespace that it creates.
    UserNamespace,
    /// In a user namespace that it creates, without any further check.
    UserNamespaceAlone,
}

/// Performs all checks and returns them, essential ones first.
#[must_use]
pub fn all(places: &Places) -> Vec<Check> {
    let root = rights::suffice().unwrap_or(false);
    let mut checks = vec![Check::new("state directory", true, state_directory(places))];
    let user_namespace = in_own_process(places, Where::UserNamespaceAlone).map(|_| {
        if root {
            "works for ordinary users (not needed by root)"
        } else {
            "grants rights over a private network"
        }
        .to_owned()
    });
    let user_namespace_works = user_namespace.is_ok();
    checks.push(Check::new("user namespace", !root, user_namespace));
    let place = if root { Where::Here } else { Where::UserNamespace };
    if root || user_namespace_works {
        match in_own_process(places, place) {
            Ok(more) => checks.extend(more),
            Err(error) => checks.push(Check::new("network objects", true, Err(error))),
        }
    }
    checks.push(Check::new("control group", false, control_group(places)));
    checks.push(Check::new("pasta", false, pasta(places, root)));
    checks.sort_by_key(|check| !check.essential);
    checks
}

fn state_directory(places: &Places) -> Result<String> {
    let registry = match &places.state {
        Some(path) => Registry::at(path.clone())?,
        None => Registry::open()?,
    };
    let run = registry.begin()?;
    drop(run);
    Ok(format!("{} can be written", registry.path().display()))
}

fn control_group(places: &Places) -> Result<String> {
    // Several threads may check at once.
    static CHECKS: AtomicU32 = AtomicU32::new(0);
    let name = format!("lasthop-check-{}-{}", std::process::id(), CHECKS.fetch_add(1, Ordering::Relaxed));
    let path = Cgroup::planned_for(&places.process, &name)?;
    let group = Cgroup::create(path)?;
    let shown = group.path().parent().map(|path| path.display().to_string()).unwrap_or_default();
    group.remove()?;
    Ok(format!("can be created below {shown}"))
}

fn pasta(places: &Places, root: bool) -> Result<String> {
    let way_out = "apt-get install passt; without pasta, an ordinary user's link reaches no other network";
    let pasta =
        places.pasta.as_ref().ok_or_else(|| Error::missing("the program pasta is not installed", way_out))?;
    let output = Command::new(pasta)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::missing(format!("cannot run {}: {error}", pasta.display()), way_out))?;
    let text = String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned();
    if !output.status.success() {
        return Err(Error::missing(format!("{} --version: {}", pasta.display(), output.status), way_out));
    }
    Ok(if root { format!("{text} (not needed by root)") } else { text })
}

/// Performs the checks of `place` in a separate process.
fn in_own_process(places: &Places, place: Where) -> Result<Vec<Check>> {
    let request =
        serde_json::to_string(&(place, places)).map_err(|error| Error::Keeper(error.to_string()))?;
    let output = Command::new(&places.executable)
        .args([SUBCOMMAND, &request])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .trying(|| format!("run {} {SUBCOMMAND}", places.executable.display()))?;
    let answer: std::result::Result<Vec<Check>, String> =
        serde_json::from_slice(&output.stdout).map_err(|error| Error::Program {
            program: format!("{} {SUBCOMMAND}", places.executable.display()),
            message: format!("invalid answer: {error} ({})", output.status),
        })?;
    answer.map_err(|message| Error::Program { program: "check".into(), message })
}

/// Serves one request: the main function of the checking process.
pub(crate) fn serve(request: &str) -> ExitCode {
    let Ok((place, places)) = serde_json::from_str::<(Where, Places)>(request) else {
        eprintln!("lasthop: {SUBCOMMAND} is internal to lasthop doctor and cannot be run by hand");
        return ExitCode::from(2);
    };
    let entered = if place == Where::Here { Ok(()) } else { rights::enter_user_namespace() };
    let answer = entered
        .map_err(|error| error.to_string())
        .map(|()| if place == Where::UserNamespaceAlone { Vec::new() } else { objects::all(&places) });
    println!("{}", serde_json::to_string(&answer).unwrap_or_default());
    ExitCode::SUCCESS
}
