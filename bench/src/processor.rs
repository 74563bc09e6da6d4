//! Processor time of a program with its children and threads, according to the scheduler.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Returns the processor time of the process tree of `root`, without the senders in it. It includes
/// kernel work in the context of these threads (system calls, most of packet reception), and
/// excludes kernel work elsewhere.
#[must_use]
pub fn used_by(root: u32) -> Duration {
    let children = children();
    let mut total = 0;
    let mut open = vec![root];
    while let Some(process) = open.pop() {
        open.extend(children.get(&process).into_iter().flatten());
        if !is_sender(process) {
            total += nanoseconds(process);
        }
    }
    Duration::from_nanos(total)
}

/// Returns the children of every process.
fn children() -> HashMap<u32, Vec<u32>> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        // A process that has just ended has no parent any more; its children do not count.
        if let Some(parent) = parent(process) {
            children.entry(parent).or_default().push(process);
        }
    }
    children
}

fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in brackets may contain anything; state and parent follow the last bracket.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Returns whether the process is the sender behind the link.
fn is_sender(process: u32) -> bool {
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let mut words = line.split(|&byte| byte == 0);
    let this = std::env::current_exe().ok();
    let first = words.next().map(|word| String::from_utf8_lossy(word).into_owned());
    first.is_some()
        && first == this.and_then(|path| path.to_str().map(str::to_owned))
        && words.next() == Some(b"send")
}

/// Returns the processor time of all threads of a process (the first number in schedstat).
fn nanoseconds(process: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    threads.filter_map(|thread| of_thread(&thread.path())).sum()
}

/// Returns the processor time of the thread with this directory in /proc.
fn of_thread(directory: &Path) -> Option<u64> {
    let line = fs::read_to_string(directory.join("schedstat")).ok()?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns the processor time of the calling thread.
#[must_use]
pub fn used_by_this_thread() -> Duration {
    Duration::from_nanos(of_thread(Path::new("/proc/thread-self")).unwrap_or(0))
}
