//! Creating the kernel objects of a run, and removing all of them again.
//!
//! The objects are network namespaces held by file descriptors, TUN and TAP devices, addresses,
//! routes, sysctls, control groups and NAT. Every route sets its congestion control.
//!
//! Objects that the kernel does not remove when a process dies are recorded before they are made
//! ([`state`]). A second process that outlives the first removes them ([`keeper`]). If both are
//! killed, the next start of lasthop does ([`state::Registry::sweep`]). This crate contains no link
//! model: it hands out file descriptors.
//!
//! # A program behind a link
//!
//! `lasthop link` calls, in this order:
//!
//! ```no_run
//! use netlab::{CommandLine, HostLink, HostLinkOptions, Registry, Rights, keeper, rights};
//!
//! # fn forward(_inside: std::os::fd::OwnedFd, _outside: std::os::fd::OwnedFd) {}
//! fn main() -> Result<std::process::ExitCode, netlab::Error> {
//!     // 1. First of all: the hidden subcommand `__keeper FD`, in which this binary is its own keeper. Before any argument
//!     //    parser sees the arguments and before any thread starts.
//!     if let Some(code) = keeper::entry() {
//!         return Ok(code);
//!     }
//!     // 2. What earlier runs left behind. `swept` holds one line for each thing undone, and for each that is not ours.
//!     let registry = Registry::open()?;
//!     let swept = registry.sweep()?;
//!     // 3. The run's directory, in which everything is written down before it is made. Root goes on as it is; an ordinary
//!     //    user enters a user namespace of its own. *Single-threaded*: the kernel refuses otherwise. From here on "the
//!     //    caller's namespace" is what `Namespace::current()` says. Keep `rights` as long as the link.
//!     let mut run = registry.begin()?;
//!     let rights = rights::acquire(&mut run, &rights::RightsOptions::default())?;
//!     // 4. Namespaces, TUN ends, addresses, routes, NAT, keeper. Still single-threaded: it ignores SIGINT and SIGQUIT and
//!     //    blocks SIGTERM and SIGHUP, and threads started later must inherit that. It may start a thread of its own
//!     //    (the DNS forwarder).
//!     let options = HostLinkOptions { mtu: 1500, publish: vec!["8000".parse()?], ..HostLinkOptions::default() };
//!     let mut link = HostLink::create(run, &rights, &options)?;
//!     // 5. Threads may start: the emulator takes two descriptors of its own (the devices live until all are closed). `inside` carries what the wireless host sends and
//!     //    receives, `outside` the same for the caller's network: packets read from `inside` go *up*, from `outside` *down*.
//!     let inside = link.inside().descriptor()?;
//!     let outside = link.outside().descriptor()?;
//!     let emulator = std::thread::spawn(move || forward(inside, outside));
//!     // 6. The program, with the caller's environment, descriptors and terminal. 126 and 127 come back as `Ended` with a
//!     //    message, as a shell has it.
//!     link.start(&CommandLine::new("curl", ["http://host.lasthop:8000/"]))?;
//!     // 7. Blocks; meanwhile SIGTERM and SIGHUP are passed on to the program. Descendants that the program left behind get
//!     //    SIGTERM, and SIGKILL 2 s later, before this returns, so that their last packets still find a link.
//!     let ended = link.wait()?;
//!     // 8. Stop the emulator, then take everything back. Dropping the link does the same, silently.
//!     # drop(emulator);
//!     let cleaned = link.end()?;
//!     Ok(ended.code())
//! }
//! ```
//!
//! Call [`HostLink::wait`] on the main thread and run the emulator on another. Callers also need:
//!
//! * [`HostLink::id`], for `lasthop link set ID`
//! * [`HostLink::directory`], the run's own directory: a control socket there is removed with the
//!   run
//! * [`HostLink::addresses`]
//! * [`HostLink::notes`]: what is not possible here, one line each
//! * [`tun::Tun::statistics`]: packets in `tx_dropped` were lost because the emulator read too
//!   slowly
//! * [`Registry::list`], for `lasthop link list`
//! * [`checks::all`], for `lasthop doctor`
//!
//! File descriptors are non-blocking. With [`HostLinkOptions::whole_segments`], each packet on both
//! file descriptors starts with the 10 bytes of `struct virtio_net_hdr`
//! ([`tun::VIRTIO_HEADER_LENGTH`]) and may be a TCP segment of up to 64 KiB with a partial
//! checksum. Without it, each read returns one bare IP packet of at most the MTU with complete
//! checksums.

pub mod address;
pub mod attachment;
pub mod borrowed;
pub mod bpf_files;
mod bridge;
pub mod bridged_link;
pub mod cgroup;
pub mod checks;
pub mod dns;
pub mod dnsmasq;
mod error;
pub mod host_link;
pub mod interface;
pub mod isolation;
pub mod keeper;
pub mod listening;
pub mod mesh;
mod names;
pub mod namespace;
pub mod nat;
pub mod neighbour;
mod netlink;
pub mod offload;
pub mod plan;
pub mod process;
pub mod rights;
pub mod route;
mod signals;
pub mod state;
pub mod sysctl;
pub mod tcp;
pub mod tun;
pub mod veth;

pub use attachment::{Attached, Attachment};
pub use borrowed::Borrowed;
pub use bridged_link::{BridgedLink, BridgedLinkOptions};
pub use error::{Error, Result};
pub use host_link::{CommandEnd, CommandLine, Entrance, HostLink, HostLinkOptions};
pub use namespace::Namespace;
pub use rights::Rights;
pub use state::{Registry, Run, Swept};
