//! End-to-end tests of programs' sockets. An agent and a server run in threads of the test,
//! connected in memory; far hosts are sockets of the standard library. The tests act as programs,
//! by requests of `resoa-calls` and by system calls on the resulting descriptors.
//!
//! No test measures time. A test fails after [`rig::PATIENCE`] if something does not happen.

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
