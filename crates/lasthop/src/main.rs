//! The `lasthop` command.
#![forbid(unsafe_code)]

mod arguments;

fn main() {}
