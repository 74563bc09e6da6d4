//! Several clients at one server, with policies: the addresses that each may reach and bind, their
//! number and amounts of data, and their effects on each other.
//!
//! Clients run in the test's thread with the server, connected over memory. Far hosts are sockets
//! of the standard library on the loopback interface, or behind a cable where addresses matter.

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
