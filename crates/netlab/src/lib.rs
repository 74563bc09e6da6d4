//! Namespaces, TUN and TAP ends, addresses, routes and NAT for a run, that leave nothing behind.
//!
//! What is made here falls into two classes. Namespaces and TUN devices have no owner but descriptors: when the process
//! that holds them is gone, by whatever means, so are they. What stays by itself (NAT rules, sysctls of the caller's
//! namespace, processes) is written down in a state directory *before* it is made ([`state`]), and is undone by the run
//! itself, by its keeper if the run is killed ([`keeper`]), or by the next run or `lasthop clean` if that is killed as
//! well ([`state::sweep`]).
//!
//! The order of calls for a link around a program:
//!
//! ```text
//! let claim = state::Claim::new()?;                    // a number nobody has; sweeps what others left
//! let host_link = HostLink::set_up(claim, &options)?;  // namespaces, TUN ends, addresses, routes, NAT
//! let keeper = Keeper::start(&host_link, &program)?;   // the program runs, behind ends that nobody serves yet
//! let (inside, outside) = host_link.take_ends();       // descriptors for the emulator
//! let status = keeper.wait()?;                         // how the program ended
//! host_link.tear_down()?;
//! ```
//!
//! No models here, and nothing about what happens to packets.

pub mod errors;
pub mod host_link;
pub mod keeper;
pub mod namespace;
pub mod nat;
pub mod netlink;
pub mod state;
pub mod sysctl;
pub mod tun;

pub use errors::{Attempt, NetlabError};
pub use host_link::{Addresses, End, HostLink, HostLinkOptions};
pub use keeper::{Keeper, Program, Status};
pub use namespace::Namespace;
