//! FINs of far hosts that are held until the client has all data before them: the segments on the
//! wire, and the view of far hosts' programs.
//!
//! The tests run as root in network namespaces of their own. Without these rights they print the
//! reason and pass. The client of these tests receives nothing while it is `stalled`, and no FIN
//! may be acknowledged during that time. The same setup tests keep-alive probes (`probes`), and
//! receivers and listeners without room (`receiving`).

#[path = "../sockets/carried.rs"]
mod carried;
mod ground;
#[path = "../sockets/guest.rs"]
mod guest;
mod hosts;
mod lossy;
mod ours;
mod probes;
mod receiving;
#[allow(dead_code, reason = "all test files use a part of it")]
#[path = "../sockets/rig.rs"]
mod rig;
mod wire;
mod written;
