//! Programs' sockets from end to end: an agent and a server in threads of the test, over memory,
//! and far hosts of the standard library beside them. Programs are played by requests of
//! `resoa-calls` and by system calls on the descriptors that they bring. Nothing is measured in
//! time; what never comes ends a test after [`rig::PATIENCE`].

mod binding;
mod closing;
mod connecting;
mod datagrams;
mod listening;
mod local;
mod measured;
mod order;
mod rig;
mod transfer;
mod window;
