//! The first process of the guest: it sets up the system, runs the order and powers off.
//!
//! The root is an overlay: the host's files are the read-only lower layer, and what programs write
//! stays in the guest's memory. Only the shared directory is writable on the host.

use crate::order::{GuestEnded, Order, WORK, errors, output};
use netlab::{Namespace, interface};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::{chdir, pivot_root};
use rustix::system::{RebootCommand, reboot, sethostname};
use rustix::thread::set_current_timer_slack;
use std::ffi::CString;
use std::fs::{self, File};
use std::num::NonZeroU64;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

/// First argument of the guest's first process.
pub const SUBCOMMAND: &str = "__guest";

/// Does the guest's work and powers off if this process is the first of a guest.
///
/// Call it before anything else in `main`. Returns `None` at once in any other process.
#[must_use]
pub fn entry() -> Option<ExitCode> {
    if std::env::args().nth(1)? != SUBCOMMAND {
        return None;
    }
    if std::process::id() != 1 {
        eprintln!("lasthop: {SUBCOMMAND} is internal to guests and cannot be run by hand");
        return Some(ExitCode::FAILURE);
    }
    let started = Instant::now();
    let work = Path::new(WORK);
    let (status, message) = match run(work) {
        Ok(status) => (status.code(), by_signal(status)),
        Err(error) => (None, Some(error)),
    };
    let counters = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let ended =
        GuestEnded { status, message, at: now(started), killed_for_memory: killed_for_memory(&counters) };
    // If the file cannot be written, the console has the result.
    if let Err(error) = ended.write(work) {
        eprintln!("lasthop: cannot write how the guest ended: {error}; {ended:?}");
    }
    let _ = reboot(RebootCommand::PowerOff);
    Some(ExitCode::FAILURE)
}

/// Returns whether this process runs in User-Mode Linux, which only guests use.
#[must_use]
pub fn is_here() -> bool {
    fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.contains("User Mode Linux"))
}

/// Waits, in a guest, until a third of a millisecond after a whole hundredth of a second; on a
/// host, returns at once.
///
/// The time that setting up a link takes varies by some hundred nanoseconds with the files of the
/// host, because even failing system calls take virtual time. What follows this call still starts
/// at the same nanosecond. The third of a millisecond keeps it out of phase with the kernel's
/// timers, which expire at whole milliseconds: packets of a regular flow would wait for those of
/// neighbour discovery.
pub fn align() {
    const STEP: u64 = 10_000_000;
    const PHASE: u64 = 333_333;
    if is_here() {
        let now = UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos() as u64;
        thread::sleep(Duration::from_nanos(STEP - (now - PHASE) % STEP));
    }
}

/// Makes a guest's timers end at multiples of `tick`, at most 4 s, and packets leave there
/// (ltcp-newzag 1.8.1). Without a call, each timer ends at its own nanosecond.
///
/// # Errors
/// On a host, whose timers have no such tick.
pub fn set_tick(tick: Duration) -> Result<(), String> {
    fs::write("/sys/module/time_travel/parameters/tick_ns", tick.as_nanos().to_string())
        .map_err(|error| format!("cannot set the tick of the clock to {tick:?}: {error}"))
}

/// Returns virtual nanoseconds since `started`.
fn now(started: Instant) -> u64 {
    started.elapsed().as_nanos() as u64
}

/// Returns the number of programs killed for lack of memory, from `/proc/vmstat`.
fn killed_for_memory(counters: &str) -> u64 {
    let killed = counters.lines().find_map(|line| line.strip_prefix("oom_kill "));
    killed.and_then(|count| count.parse().ok()).unwrap_or(0)
}

fn by_signal(status: ExitStatus) -> Option<String> {
    status.signal().map(|signal| format!("the guest's program was killed by signal {signal}"))
}

fn run(work: &Path) -> Result<ExitStatus, String> {
    take_the_root()?;
    let order = Order::read(work).map_err(|error| format!("cannot read the order: {error}"))?;
    settle(&order)?;
    exact_timers()?;
    let create = |path: &Path| {
        File::create(path).map_err(|error| format!("cannot create {}: {error}", path.display()))
    };
    let (program, arguments) = order.command.split_first().ok_or("the order has no program")?;
    thread::sleep(FINE_TIMERS);
    let status = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(order.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(&order.directory)
        .stdin(Stdio::null())
        .stdout(create(&output(work))?)
        .stderr(create(&errors(work))?)
        .status()
        .map_err(|error| format!("cannot start {program}: {error}"))?;
    for (file, name) in order.bring.iter().filter(|(file, _)| file.exists()) {
        fs::copy(file, work.join(name))
            .map_err(|error| format!("cannot copy {} out of the guest: {error}", file.display()))?;
    }
    Ok(status)
}

/// Makes an overlay over the host's files the root, with the shared directory mounted in it.
fn take_the_root() -> Result<(), String> {
    mounted("tmpfs", "/lasthop/overlay", None)?;
    for folder in ["/lasthop/overlay/upper", "/lasthop/overlay/work"] {
        fs::create_dir(folder).map_err(|error| format!("cannot create {folder}: {error}"))?;
    }
    let layers = c"lowerdir=/,upperdir=/lasthop/overlay/upper,workdir=/lasthop/overlay/work,xino=off";
    mount("overlay", "/lasthop/root", "overlay", MountFlags::empty(), Some(layers))
        .map_err(|error| format!("cannot mount the overlay: {error}"))?;
    let shared = CString::new(WORK).map_err(|error| error.to_string())?;
    mount("none", "/lasthop/root/lasthop/work", "hostfs", MountFlags::empty(), Some(shared.as_c_str()))
        .map_err(|error| format!("cannot mount the shared directory: {error}"))?;
    let changed = chdir("/lasthop/root")
        .and_then(|()| pivot_root(".", "lasthop/old"))
        .and_then(|()| unmount("lasthop/old", UnmountFlags::DETACH))
        .and_then(|()| chdir("/"));
    changed.map_err(|error| format!("cannot change the root: {error}"))
}

/// Mounts the kernel's file systems, and sets the host name and the loopback device up.
fn settle(order: &Order) -> Result<(), String> {
    for folder in ["/proc", "/sys", "/dev", "/run", "/tmp", "/root"] {
        // A dangling symbolic link counts as existing.
        if Path::new(folder).symlink_metadata().is_err() {
            fs::create_dir(folder).map_err(|error| format!("cannot create {folder}: {error}"))?;
        }
    }
    mounted("proc", "/proc", None)?;
    mounted("sysfs", "/sys", None)?;
    mounted("devtmpfs", "/dev", None)?;
    mounted("tmpfs", "/run", Some("mode=755"))?;
    mounted("cgroup2", "/sys/fs/cgroup", None)?;
    // A kernel of another configuration may lack these, and only some programs need them.
    for (kind, folder) in [
        ("devpts", "/dev/pts"),
        ("tmpfs", "/dev/shm"),
        ("bpf", "/sys/fs/bpf"),
        ("tracefs", "/sys/kernel/tracing"),
    ] {
        let _ = fs::create_dir(folder);
        let _ = mounted(kind, folder, None);
    }
    for folder in order.in_memory.iter().map(PathBuf::as_path).chain([Path::new(JAVA_FOLDER)]) {
        fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
        mounted("tmpfs", folder, Some("mode=755"))?;
    }
    // Hosts have a memory each, but all nodes share that of the guest. So TCP's limits (three
    // thresholds, in pages of 4 KiB) must not be a share of the guest's memory. Otherwise the
    // receiver on a path with a large bandwidth-delay product would discard out-of-order data that
    // it has already acknowledged.
    fs::write("/proc/sys/net/ipv4/tcp_mem", TCP_PAGES)
        .map_err(|error| format!("cannot set the memory limit of TCP: {error}"))?;
    sethostname(b"lasthop").map_err(|error| format!("cannot set the host name: {error}"))?;
    Namespace::current().and_then(|own| interface::loopback_up(&own)).map_err(|error| error.to_string())
}

/// Makes waits end on time.
///
/// By default Linux may end them 50 us late to save power, and nothing else here takes that long.
/// Child processes inherit the setting.
fn exact_timers() -> Result<(), String> {
    set_current_timer_slack(NonZeroU64::new(1))
        .map_err(|error| format!("cannot set the timer slack: {error}"))
}

fn mounted(kind: &str, folder: impl AsRef<Path>, options: Option<&str>) -> Result<(), String> {
    let folder = folder.as_ref();
    let path = CString::new(folder.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    let options = options.map(CString::new).transpose().map_err(|error| error.to_string())?;
    mount(kind, path.as_c_str(), kind, MountFlags::empty(), options.as_deref())
        .map_err(|error| format!("cannot mount {kind} on {}: {error}", folder.display()))
}

/// Directory in which each Java machine of root has a file.
///
/// A new one first looks through all of them. If the host's files were visible, the same program
/// would make a different number of system calls, and all its times would differ.
const JAVA_FOLDER: &str = "/tmp/hsperfdata_root";

/// 16 GiB: the guest's memory itself is the limit, and a guest that runs out of it reports so.
const TCP_PAGES: &str = "4194304 4194304 4194304";

/// Time after boot in which the kernel's timers have a resolution of one millisecond.
const FINE_TIMERS: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_were_killed_for_memory() {
        assert_eq!(killed_for_memory("nr_free_pages 5\noom_kill 2\noom_kill_other 9\n"), 2);
        assert_eq!(killed_for_memory(""), 0);
    }

    #[test]
    fn how_a_program_of_the_guest_ended() {
        assert_eq!(by_signal(ExitStatus::from_raw(3 << 8)), None);
        assert_eq!(
            by_signal(ExitStatus::from_raw(9)).as_deref(),
            Some("the guest's program was killed by signal 9")
        );
    }

    /// On a host nothing is waited for, and the hidden subcommand is of no use.
    #[test]
    fn a_host_is_no_guest() {
        assert!(!is_here() && entry().is_none());
        align();
    }
}
