//! Tests with two state machines and a simulated link between them, in virtual time: nothing waits,
//! and the same seed gives the same run.

mod datagrams;
mod ends;
mod exhaustive;
mod goodput;
mod link;
mod messages;
