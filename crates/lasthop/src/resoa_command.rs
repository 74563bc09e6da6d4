//! `lasthop resoa`: remote sockets. A file a subcommand.

mod agent;
mod agent_status;
pub mod arguments;
mod key;
mod run;
mod serve;

use crate::link_command::Failure;
use arguments::{ResoaArguments, ResoaVerb};

/// Does what is asked.
pub fn run(arguments: &ResoaArguments) -> Result<i32, Failure> {
    match &arguments.verb {
        ResoaVerb::Serve(arguments) => serve::run(arguments),
        ResoaVerb::Agent(arguments) => agent::run(arguments),
        ResoaVerb::Run(arguments) => run::run(arguments),
        ResoaVerb::Status(arguments) => agent_status::run(arguments),
        ResoaVerb::Key { file } => key::make(file),
    }
}
