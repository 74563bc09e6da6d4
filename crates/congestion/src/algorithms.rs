//! Congestion controls as eBPF: loaded into the running kernel until they are unloaded.
//!
//! [`load`] registers one of the [`CATALOGUE`] under a name, with parameters. From then on every
//! program of the machine can choose it (socket option `TCP_CONGESTION`), and so can a route
//! (`ip route ... congctl NAME`) or a network namespace ([`set_default`]). It is pinned in the BPF
//! file system, one folder for each name, so that it outlives this process. [`unload`] removes the
//! name; connections that use the algorithm keep it until they are closed.
//!
//! Information on a loaded algorithm comes from the kernel, so it is never out of date: the name of
//! its map identifies the algorithm, its read-only data hold the parameters, and its reference
//! count gives the number of users.
//!
//! This needs root, and a kernel with BTF (`/sys/kernel/btf/vmlinux`) and `struct_ops` (Linux 6.4
//! for algorithms that stay loaded).

mod catalogue;
mod error;
mod layout;
mod loading;
mod pinned;
mod system;

pub use catalogue::{Algorithm, CATALOGUE, Parameter, find};
pub use error::AlgorithmError;
pub use loading::{Setting, load};
pub use pinned::{Loaded, info, loaded, unload};
pub use system::{allowed, available, default_here, default_of, set_default};

/// Longest name of a congestion control in bytes, limited by the kernel.
pub const LONGEST_NAME: usize = 15;
