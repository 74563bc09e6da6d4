//! Two machines and a link between them, in a time of their own: nothing here waits, and what a
//! seed brings about it brings about again.

mod datagrams;
mod ends;
mod exhaustive;
mod goodput;
mod link;
mod messages;
