//! `LASTHOP_RESOA=SOCKET run COMMAND ARGUMENTS…`: runs a command with its sockets at the agent, as
//! `lasthop resoa run --seccomp` does, without that command's checks.

use resoa_calls::Agent;
use std::process::Command;

fn main() {
    let mut words = std::env::args_os().skip(1);
    let (Some(agent), Some(program)) = (Agent::of_environment(), words.next()) else {
        eprintln!("usage: {}=SOCKET run COMMAND ARGUMENTS...", resoa_calls::AGENT);
        std::process::exit(2)
    };
    match resoa_notify::run(agent, Command::new(program).args(words), resoa_notify::Closing::Passes) {
        Ok(status) => resoa_notify::end_as(status),
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(127)
        }
    }
}
