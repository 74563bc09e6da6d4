//! `lasthop resoa`: remote sockets, with a module for each subcommand.

mod agent;
mod agent_status;
pub mod arguments;
pub mod config;
mod key;
mod pair;
mod run;
mod serve;
mod server_status;
mod status;

use crate::failure::Failure;
use arguments::{ResoaArguments, ResoaVerb};

/// Runs the subcommand.
pub fn run(arguments: &ResoaArguments) -> Result<i32, Failure> {
    match &arguments.verb {
        ResoaVerb::Serve(arguments) => serve::run(arguments),
        ResoaVerb::Agent(arguments) => agent::run(arguments),
        ResoaVerb::Run(arguments) => run::run(arguments),
        ResoaVerb::Key { file } => key::make(file),
        ResoaVerb::Pair(arguments) => pair::run(arguments),
        ResoaVerb::Status(arguments) => status::run(arguments),
    }
}
