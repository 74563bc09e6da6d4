//! Tests of the library preloaded into a real process, with an agent without a server. Each test
//! runs itself again as such a process, which makes the checks.

#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "calls of the C library as programs make them, with places of these tests"
)]

mod agent;
mod datagrams;
mod ends;
mod names;
mod processes;
mod program;
mod streams;
