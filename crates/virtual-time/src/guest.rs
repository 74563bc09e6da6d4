//! The first process of the guest: makes it a system, runs the order, powers off.
//!
//! The root is an overlay: what the host has is below, read-only, and what programs write is in the
//! guest's memory. Only the folder that is shared with the host is the host's own.

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

/// First argument.
pub const SUBCOMMAND: &str = "__guest";

/// Call this in `main` first of all: if this process is a guest's first, it does its work and
/// powers off.
#[must_use]
pub fn entry() -> Option<ExitCode> {
    if std::env::args().nth(1)? != SUBCOMMAND {
        return None;
    }
    if std::process::id() != 1 {
        eprintln!("lasthop: {SUBCOMMAND} is for the first process of a guest");
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
    // The console has what cannot be written.
    if let Err(error) = ended.write(work) {
        eprintln!("lasthop: write how the guest ended: {error}; {ended:?}");
    }
    let _ = reboot(RebootCommand::PowerOff);
    Some(ExitCode::FAILURE)
}

/// Whether this process runs in User-Mode Linux, which has no other use here than to be a guest.
#[must_use]
pub fn is_here() -> bool {
    fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.contains("User Mode Linux"))
}

/// In a guest, waits until its clock shows a whole tenth of a second. On a host, returns at once.
///
/// Setting a link up takes some hundred nanoseconds more or less, by which files the host has: a
/// call that fails has a price. What comes after this begins at the same nanosecond nevertheless.
pub fn align() {
    const STEP: u64 = 100_000_000;
    if is_here() {
        let now = UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos() as u64;
        thread::sleep(Duration::from_nanos(STEP - now % STEP));
    }
}

/// Virtual nanoseconds.
fn now(started: Instant) -> u64 {
    started.elapsed().as_nanos() as u64
}

/// From `/proc/vmstat`.
fn killed_for_memory(counters: &str) -> u64 {
    let killed = counters.lines().find_map(|line| line.strip_prefix("oom_kill "));
    killed.and_then(|count| count.parse().ok()).unwrap_or(0)
}

fn by_signal(status: ExitStatus) -> Option<String> {
    status.signal().map(|signal| format!("signal {signal} ended it"))
}

fn run(work: &Path) -> Result<ExitStatus, String> {
    take_the_root()?;
    let order = Order::read(work).map_err(|error| format!("read the order: {error}"))?;
    settle(&order)?;
    exact_timers()?;
    let create =
        |path: &Path| File::create(path).map_err(|error| format!("create {}: {error}", path.display()));
    let (program, arguments) = order.command.split_first().ok_or("an order without a program")?;
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
        .map_err(|error| format!("start {program}: {error}"))?;
    for (file, name) in order.bring.iter().filter(|(file, _)| file.exists()) {
        fs::copy(file, work.join(name)).map_err(|error| format!("bring out {}: {error}", file.display()))?;
    }
    Ok(status)
}

/// Overlay over what the host shows, and the shared folder in it.
fn take_the_root() -> Result<(), String> {
    mounted("tmpfs", "/lasthop/overlay", None)?;
    for folder in ["/lasthop/overlay/upper", "/lasthop/overlay/work"] {
        fs::create_dir(folder).map_err(|error| format!("create {folder}: {error}"))?;
    }
    let layers = c"lowerdir=/,upperdir=/lasthop/overlay/upper,workdir=/lasthop/overlay/work,xino=off";
    mount("overlay", "/lasthop/root", "overlay", MountFlags::empty(), Some(layers))
        .map_err(|error| format!("mount the overlay: {error}"))?;
    let shared = CString::new(WORK).map_err(|error| error.to_string())?;
    mount("none", "/lasthop/root/lasthop/work", "hostfs", MountFlags::empty(), Some(shared.as_c_str()))
        .map_err(|error| format!("mount the shared folder: {error}"))?;
    let changed = chdir("/lasthop/root")
        .and_then(|()| pivot_root(".", "lasthop/old"))
        .and_then(|()| unmount("lasthop/old", UnmountFlags::DETACH))
        .and_then(|()| chdir("/"));
    changed.map_err(|error| format!("change the root: {error}"))
}

/// File systems of the kernel, a name, a loopback device.
fn settle(order: &Order) -> Result<(), String> {
    for folder in ["/proc", "/sys", "/dev", "/run", "/tmp", "/root"] {
        // A link that leads nowhere is there as well.
        if Path::new(folder).symlink_metadata().is_err() {
            fs::create_dir(folder).map_err(|error| format!("create {folder}: {error}"))?;
        }
    }
    mounted("proc", "/proc", None)?;
    mounted("sysfs", "/sys", None)?;
    mounted("devtmpfs", "/dev", None)?;
    mounted("tmpfs", "/run", Some("mode=755"))?;
    mounted("cgroup2", "/sys/fs/cgroup", None)?;
    // What a kernel of another configuration may lack, and only some programs want.
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
        fs::create_dir_all(folder).map_err(|error| format!("create {}: {error}", folder.display()))?;
        mounted("tmpfs", folder, Some("mode=755"))?;
    }
    // All nodes share the memory of one guest, where hosts have one each: what TCP may use of it
    // (three thresholds, in pages of 4 KiB) must not be a share of that. Else the receiver of a
    // long fat path throws out-of-order data away again, which it had acknowledged.
    fs::write("/proc/sys/net/ipv4/tcp_mem", TCP_PAGES)
        .map_err(|error| format!("set how much memory TCP may use: {error}"))?;
    sethostname(b"lasthop").map_err(|error| format!("set the host name: {error}"))?;
    Namespace::current().and_then(|own| interface::loopback_up(&own)).map_err(|error| error.to_string())
}

/// Lets a wait end when its time has come. By Linux's default it may end 50 us later, to save the
/// processor's power, and nothing here takes that long otherwise. Programs inherit it.
fn exact_timers() -> Result<(), String> {
    set_current_timer_slack(NonZeroU64::new(1)).map_err(|error| format!("set the timer slack: {error}"))
}

fn mounted(kind: &str, folder: impl AsRef<Path>, options: Option<&str>) -> Result<(), String> {
    let folder = folder.as_ref();
    let path = CString::new(folder.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    let options = options.map(CString::new).transpose().map_err(|error| error.to_string())?;
    mount(kind, path.as_c_str(), kind, MountFlags::empty(), options.as_deref())
        .map_err(|error| format!("mount {kind} on {}: {error}", folder.display()))
}

/// Each Java machine of this user has a file in it, and a new one looks through all of them first:
/// with the host's in it the same program made another number of system calls, and so differed in
/// every time.
const JAVA_FOLDER: &str = "/tmp/hsperfdata_root";

/// 16 GiB: the guest's memory itself is the limit, and a guest without any left says so.
const TCP_PAGES: &str = "4194304 4194304 4194304";

/// Until then after boot the kernel's timers go by ticks of a millisecond.
const FINE_TIMERS: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_were_killed_for_memory() {
        assert_eq!(killed_for_memory("nr_free_pages 5\noom_kill 2\noom_kill_other 9\n"), 2);
        assert_eq!(killed_for_memory(""), 0);
    }
}
