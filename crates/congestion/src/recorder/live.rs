//! States as they come, for whoever looks on: no log, no file.

use super::source::Source;
use super::{Node, RecorderError, Way, ebpf, tracefs};
use capture::senders::SenderState;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

/// Shows the states of the senders of `nodes` to `see`, some at a time and in their order, until
/// `stop` can be read or `see` fails; says how many were lost because nobody looked in time. `see`
/// is called a hundred times a second, with nothing as well, so that it can draw. Their times are
/// those of CLOCK_MONOTONIC.
///
/// # Errors
/// [`RecorderError::Unavailable`] where this kernel does not show them, or not to this user; that
/// of `see`; what the kernel answers.
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
