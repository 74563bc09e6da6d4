//! Congestion control: the recorder of what TCP senders do at every acknowledgement, for every algorithm.
//!
//! [`recorder`] says what it records and where it gets it from. The eBPF program is in `bpf/`.

pub mod recorder;
