//! Congestion controls that are loaded into the running kernel, as eBPF, and stay there until they
//! are unloaded.
//!
//! [`load`] registers one of the [`CATALOGUE`] under a name, with parameters; from then on every
//! program of the machine can choose it (socket option `TCP_CONGESTION`), a route can
//! (`ip route ... congctl NAME`), and so can a network namespace ([`set_default`]). It is pinned in
//! the BPF file system, one folder for each name, so that it outlives this process. [`unload`]
//! takes the name back; connections that use it keep it until they are closed.
//!
//! What is known of a loaded one is asked of the kernel, so that nothing can be out of date: which
//! algorithm it is by the name of its map, the parameters from its read-only data, how many use it
//! from the count of references.
//!
//! It needs root, a kernel that describes itself (`/sys/kernel/btf/vmlinux`) and has `struct_ops`
//! (Linux 6.4 for those that stay).

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

/// The kernel has room for that many bytes of a name.
pub const LONGEST_NAME: usize = 15;
