//! States as they arrive, for live views: no log, no file.

use super::source::Source;
use super::{Node, RecorderError, Way, ebpf, tracefs};
use capture::senders::SenderState;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

/// Passes the states of the senders of `nodes` to `see`, in batches and in order, until `stop` is
/// readable or `see` fails. Returns how many states were lost because they were not read in time.
/// With eBPF, `see` is called a hundred times per second, also without new states, so that it can
/// draw. Times are those of CLOCK_MONOTONIC.
///
/// # Errors
/// [`RecorderError::Unavailable`] if this kernel does not show the states, or not to this user;
/// `RecorderError::Source` with the error of `see` or of the kernel.
pub fn watch(
    nodes: &[Node],
    stop: BorrowedFd<'_>,
    mut see: impl FnMut(&[SenderState]) -> io::Result<()>,
) -> Result<u64, RecorderError> {
    let mut object = MaybeUninit::uninit();
    let mut source: Box<dyn Source + '_> = match Way::here() {
        Way::Ebpf => Box::new(ebpf::Probe::attach(&mut object, nodes)?),
        Way::Tracefs => Box::new(tracefs::Trace::open(nodes)?),
    };
    let mut states = Vec::new();
    let mut over = false;
    while !over {
        over = source.wait(stop).map_err(RecorderError::Source)?;
        source.collect(&mut states).map_err(RecorderError::Source)?;
        see(&states).map_err(RecorderError::Source)?;
        states.clear();
    }
    source.finish(&mut states).map_err(RecorderError::Source)
}
