//! Several clients at one server, with policies: what each may reach and bind, how many and how
//! much, and what one can do to the others.
//!
//! Clients are in the test's thread with the server, over memory; far hosts are sockets of the
//! standard library on loopback, or behind a cable where addresses matter.

mod both;
mod cable;
mod dual;
mod foreign;
#[path = "../sockets/guest.rs"]
mod guest;
mod host_ports;
mod hostile;
mod incoming;
mod names;
mod policies;
mod shortage;
mod site;
mod wire;
