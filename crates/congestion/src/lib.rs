//! Congestion control: algorithms as eBPF, and the recorder of what TCP senders do at every
//! acknowledgement, for every algorithm.
//!
//! [`algorithms`] are loaded into a running kernel (their sources are in `algorithms/`, and can be
//! built into a kernel too); [`recorder`] says what it records and where it gets it from (its eBPF
//! program is in `bpf/`).

pub mod algorithms;
pub mod recorder;
