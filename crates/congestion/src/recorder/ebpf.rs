//! Reads states with an eBPF program at the tracepoint `tcp_probe` (`bpf/sender_state.bpf.c`).

mod state;

use super::source::{self, Source};
use super::{Node, RecorderError};
use capture::senders::SenderState;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{ErrorKind, Link, MapCore, MapFlags, OpenObject, RingBuffer, RingBufferBuilder};
use nix::time::{ClockId, clock_getres};
use rustix::event::Timespec;
use state::Raw;
use std::cell::RefCell;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;
use std::rc::Rc;

#[allow(
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    reason = "written by libbpf-cargo"
)]
#[allow(clippy::undocumented_unsafe_blocks, reason = "written by libbpf-cargo")]
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/sender_state.skel.rs"));
}

use skeleton::{SenderStateSkel, SenderStateSkelBuilder};

/// The kernel's BTF, which the program needs.
const DESCRIPTION: &str = "/sys/kernel/btf/vmlinux";

/// How often to read the ring buffer. Its 43 000 states last this long at 4 million segments per
/// second.
const PERIOD: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// Returns whether this kernel has what the program needs; the user's rights are not checked.
pub(super) fn may_work() -> bool {
    Path::new(DESCRIPTION).exists()
}

/// The attached program.
pub(super) struct Probe<'o> {
    skeleton: SenderStateSkel<'o>,
    ring: RingBuffer<'static>,
    link: Option<Link>,
    come: Rc<RefCell<Vec<Raw>>>,
    /// Length of a jiffy in nanoseconds: the kernel's unit of the retransmission timeout.
    jiffy: u64,
}

impl<'o> Probe<'o> {
    /// Loads the program into `object` and attaches it, for the namespaces of `nodes`.
    pub(super) fn attach(
        object: &'o mut MaybeUninit<OpenObject>,
        nodes: &[Node],
    ) -> Result<Self, RecorderError> {
        // libbpf's messages are contained in its errors.
        libbpf_rs::set_print(None);
        Self::try_attach(object, nodes).map_err(|error| {
            RecorderError::Unavailable(match error.kind() {
                ErrorKind::PermissionDenied => format!(
                    "this user may not load eBPF programs ({error}): run as root, or with CAP_BPF and CAP_PERFMON"
                ),
                _ => format!("cannot load the eBPF program for the tracepoint tcp_probe: {error:#}"),
            })
        })
    }

    fn try_attach(object: &'o mut MaybeUninit<OpenObject>, nodes: &[Node]) -> libbpf_rs::Result<Self> {
        let skeleton = SenderStateSkelBuilder::default().open(object)?.load()?;
        for (number, node) in (0_u32..).zip(nodes) {
            skeleton.maps.nodes.update(&node.cookie.to_ne_bytes(), &number.to_ne_bytes(), MapFlags::ANY)?;
        }
        let come = Rc::new(RefCell::new(Vec::new()));
        let mut ring = RingBufferBuilder::new();
        let coming = Rc::clone(&come);
        ring.add(&skeleton.maps.states, move |bytes| {
            coming.borrow_mut().extend(Raw::read(bytes));
            0
        })?;
        let ring = ring.build()?;
        let link = Some(skeleton.progs.sender_state.attach_trace()?);
        Ok(Self { skeleton, ring, link, come, jiffy: jiffy()? })
    }
}

impl Source for Probe<'_> {
    fn name(&self) -> &'static str {
        "ebpf tp_btf/tcp_probe"
    }

    fn wait(&mut self, stop: BorrowedFd<'_>) -> io::Result<bool> {
        // The program never wakes the reader: that would cost thirty times as much as the program
        // itself.
        source::wait(stop, &[], Some(PERIOD))
    }

    fn collect(&mut self, states: &mut Vec<SenderState>) -> io::Result<()> {
        self.ring.consume().map_err(|error| io::Error::other(error.to_string()))?;
        let mut come = self.come.borrow_mut();
        // A processor takes its time stamp before its place in the ring, so states can be out of
        // order.
        come.sort_by_key(|raw| raw.time_ns);
        states.extend(come.drain(..).map(|raw| raw.state(self.jiffy)));
        Ok(())
    }

    fn finish(&mut self, states: &mut Vec<SenderState>) -> io::Result<u64> {
        self.link = None;
        self.collect(states)?;
        let without_room = self.skeleton.maps.bss_data.as_ref().map_or(0, |data| data.lost);
        Ok(without_room + not_run(self.skeleton.progs.sender_state.as_fd())?)
    }
}

/// Returns how often the kernel skipped the program because it was already running on that
/// processor: a segment arrives in an interrupt while another one is examined. The kernel does not
/// tell these apart by namespace, so those of other namespaces count too.
fn not_run(program: BorrowedFd<'_>) -> io::Result<u64> {
    let described = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", program.as_raw_fd()))?;
    missed(&described)
        .ok_or_else(|| io::Error::other("the kernel does not report how often it skipped the program"))
}

/// Returns this number from the kernel's description of a program's file descriptor
/// (`bpf_prog_show_fdinfo`, since Linux 5.12).
fn missed(described: &str) -> Option<u64> {
    described.lines().find_map(|line| line.strip_prefix("recursion_misses:"))?.trim().parse().ok()
}

/// Returns the length of a jiffy in nanoseconds: the resolution of the coarse clock, which is the
/// kernel's tick.
fn jiffy() -> libbpf_rs::Result<u64> {
    let tick = clock_getres(ClockId::CLOCK_MONOTONIC_COARSE).map_err(std::io::Error::from)?;
    Ok(tick.tv_sec() as u64 * 1_000_000_000 + tick.tv_nsec() as u64)
}

#[cfg(test)]
mod tests {
    use super::missed;

    #[test]
    fn what_the_kernel_says_of_a_program() {
        let described = "pos:\t0\nflags:\t02000002\nprog_type:\t26\nrun_cnt:\t7\nrecursion_misses:\t3\nverified_insns:\t120\n";
        assert_eq!(missed(described), Some(3));
        assert_eq!(missed("prog_type:\t26\n"), None);
    }
}
