//! `lasthop lite`: TCP Lite on this host.

pub mod arguments;
mod attaching;
mod running;
mod summary;

use crate::link_command::Failure;
use arguments::{LiteArguments, LiteVerb};

/// Does what is asked.
pub fn run(arguments: &LiteArguments) -> Result<i32, Failure> {
    match &arguments.verb {
        LiteVerb::Run(arguments) => running::run(arguments),
        LiteVerb::Attach(arguments) => attaching::attach(arguments),
        LiteVerb::Status { json } => attaching::status(*json),
        LiteVerb::Detach { name } => attaching::detach(name),
    }
}
