//! FINs of far hosts that are held until the client has everything before them: what is on the
//! wire, and what far hosts' programs see.
//!
//! In network namespaces of the tests' own, as root; without these rights nothing is tested, and it
//! is said why. The client of these tests hears nothing while it is `stalled`: so long no FIN may
//! be acknowledged. Keep-alive probes are looked at in the same way (`probes`), and what receivers
//! and listeners say that have no room (`receiving`).

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
