//! Congestion controls as eBPF, and a recorder of TCP senders' state at every acknowledgement.
//!
//! [`algorithms`] are loaded into a running kernel. Their sources are in `algorithms/`, and can be
//! built into a kernel too. [`recorder`] works with every congestion control, and documents what it
//! records and from which source. Its eBPF program is in `bpf/`.

pub mod algorithms;
pub mod recorder;
