//! Reads states from the kernel's own events, where the kernel cannot run our program: User-Mode
//! Linux.
//!
//! tracefs is mounted for this process alone, at no path. Our own trace instance is made in it, so
//! that other users' tracing is undisturbed. Its buffer is read when it is half full and at the
//! end, in large pieces, because a system call costs more there than a hundred events. In between,
//! no thread wakes up, so that virtual time can jump.

mod events;
mod format;
mod page;

use super::source::{self, Source};
use super::{Node, RecorderError};
use capture::senders::SenderState;
use events::{EVENTS, Events, Formats};
use page::Page;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Buffer size per processor, for about 43 000 of our events.
const BUFFER_KB: &str = "8192";

/// Bytes of the buffer that one read returns (Linux 6.8; a page before that).
const PIECE_KB: &str = "64";

/// How full the buffer is when it wakes the reader.
const PERCENT: &str = "50";

/// Most trace instances of ours in one kernel.
const MOST: u32 = 64;

/// A trace instance of ours.
pub(super) struct Trace {
    events: Events,
    /// `trace_pipe_raw` of each processor.
    pipes: Vec<OwnedFd>,
    piece: Vec<u8>,
    /// Records of all processors, in order of time.
    records: Vec<(u64, Vec<u8>)>,
    /// The last field, so that it is dropped after the pipes: an instance with an open pipe cannot
    /// be removed.
    directory: Directory,
}

/// The folder of an instance in tracefs, which is removed on drop.
struct Directory {
    tracefs: OwnedFd,
    name: String,
}

impl Trace {
    /// Makes an instance with all our events enabled.
    pub(super) fn open(nodes: &[Node]) -> Result<Self, RecorderError> {
        Self::try_open(nodes).map_err(RecorderError::Unavailable)
    }

    fn try_open(nodes: &[Node]) -> Result<Self, String> {
        if cfg!(target_endian = "big") {
            return Err("trace buffers can be read on little-endian machines only".to_owned());
        }
        let tracefs = mount().map_err(|error| {
            format!(
                "this kernel has neither BTF for eBPF (/sys/kernel/btf/vmlinux) nor a tracefs that \
                 this user may mount ({error}): run as root, or use a kernel with CONFIG_DEBUG_INFO_BTF or \
                 CONFIG_ENABLE_DEFAULT_TRACERS"
            )
        })?;
        let formats = Formats::read(|event| {
            let name = format!("events/tcp/{event}/format");
            let path = format!("/proc/self/fd/{}/{name}", tracefs.as_raw_fd());
            fs::read_to_string(path)
                .map_err(|error| format!("this kernel has no event tcp/{event} ({error})"))
        })?;
        let directory = Directory::make(tracefs)?;
        directory.set("trace_clock", "mono")?;
        directory.set("options/overwrite", "0")?;
        // Before Linux 6.8 this file does not exist, and a piece is a page.
        let _ = directory.set("buffer_subbuf_size_kb", PIECE_KB);
        directory.set("buffer_size_kb", BUFFER_KB)?;
        directory.set("buffer_percent", PERCENT)?;
        let pipes = directory.pipes()?;
        for event in EVENTS {
            directory.set(&format!("events/tcp/{event}/enable"), "1")?;
        }
        let piece = directory.piece();
        Ok(Self {
            events: Events::new(formats, nodes),
            pipes,
            piece: vec![0; piece],
            records: Vec::new(),
            directory,
        })
    }
}

impl Source for Trace {
    fn name(&self) -> &'static str {
        "tracefs tcp/tcp_probe"
    }

    fn wait(&mut self, stop: BorrowedFd<'_>) -> io::Result<bool> {
        let pipes: Vec<_> = self.pipes.iter().map(AsFd::as_fd).collect();
        source::wait(stop, &pipes, None)
    }

    fn collect(&mut self, states: &mut Vec<SenderState>) -> io::Result<()> {
        for pipe in &self.pipes {
            loop {
                match rustix::io::read(pipe, &mut *self.piece) {
                    Ok(0) | Err(rustix::io::Errno::AGAIN) => break,
                    Ok(length) => {
                        let page = Page::new(&self.piece[..length]);
                        self.records.extend(page.map(|(time, record)| (time, record.to_vec())));
                    }
                    Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        self.records.sort_by_key(|(time, _)| *time);
        for (time, record) in self.records.drain(..) {
            states.extend(self.events.take(time, &record));
        }
        Ok(())
    }

    fn finish(&mut self, states: &mut Vec<SenderState>) -> io::Result<u64> {
        for event in EVENTS {
            self.directory.set(&format!("events/tcp/{event}/enable"), "0").map_err(io::Error::other)?;
        }
        self.collect(states)?;
        self.directory.lost()
    }
}

impl Directory {
    /// Makes an instance under a free name.
    fn make(tracefs: OwnedFd) -> Result<Self, String> {
        for number in 0..MOST {
            let name = format!("instances/lasthop-{number}");
            match rustix::fs::mkdirat(&tracefs, &name, Mode::RWXU) {
                Ok(()) => return Ok(Self { tracefs, name }),
                Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(format!("cannot create the trace instance {name}: {error}")),
            }
        }
        Err(format!(
            "{MOST} trace instances of lasthop exist already: remove those left by killed runs (instances/lasthop-* in tracefs)"
        ))
    }

    fn path(&self, file: &str) -> String {
        format!("/proc/self/fd/{}/{}/{file}", self.tracefs.as_raw_fd(), self.name)
    }

    fn set(&self, file: &str, value: &str) -> Result<(), String> {
        fs::write(self.path(file), value)
            .map_err(|error| format!("cannot write {value} to tracefs {file}: {error}"))
    }

    /// Returns the names of the processors' folders.
    fn processors(&self) -> io::Result<Vec<String>> {
        let names = fs::read_dir(self.path("per_cpu"))?;
        let mut names: Vec<_> =
            names.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        Ok(names)
    }

    fn pipes(&self) -> Result<Vec<OwnedFd>, String> {
        let open = |name: String| {
            let path = self.path(&format!("per_cpu/{name}/trace_pipe_raw"));
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
            rustix::fs::open(path, flags, Mode::empty())
                .map_err(|error| format!("cannot open trace_pipe_raw of {name}: {error}"))
        };
        let processors =
            self.processors().map_err(|error| format!("cannot list the processors in tracefs: {error}"))?;
        processors.into_iter().map(open).collect()
    }

    /// Returns the number of bytes per read: a whole piece, because otherwise the kernel keeps the
    /// rest for the next read.
    fn piece(&self) -> usize {
        let text = fs::read_to_string(self.path("buffer_subbuf_size_kb")).unwrap_or_default();
        text.trim().parse::<usize>().map_or_else(|_| rustix::param::page_size(), |kilobytes| kilobytes * 1024)
    }

    /// Returns the number of events that did not fit, on all processors.
    fn lost(&self) -> io::Result<u64> {
        let mut lost = 0;
        for processor in self.processors()? {
            lost += lost_events(&fs::read_to_string(self.path(&format!("per_cpu/{processor}/stats")))?);
        }
        Ok(lost)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // An instance that somebody else has open cannot be removed.
        let _ = rustix::fs::unlinkat(&self.tracefs, &self.name, AtFlags::REMOVEDIR);
    }
}

/// Returns the number of lost events in a processor's `stats`.
fn lost_events(stats: &str) -> u64 {
    let counters = stats.lines().filter_map(|line| line.split_once(':'));
    let of_lost =
        counters.filter(|(name, _)| matches!(*name, "overrun" | "commit overrun" | "dropped events"));
    of_lost.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum()
}

/// Mounts tracefs at no path.
fn mount() -> io::Result<OwnedFd> {
    let context = rustix::mount::fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(context.as_fd())?;
    Ok(rustix::mount::fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?)
}

#[cfg(test)]
mod tests;
