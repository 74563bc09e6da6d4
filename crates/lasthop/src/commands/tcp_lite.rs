//! `lasthop tcp-lite`: uses TCP Lite on this host.

pub mod arguments;
mod attaching;
mod running;
mod summary;

use crate::failure::Failure;
use arguments::{TcpLiteArguments, TcpLiteVerb};
use netlab::{Namespace, interface};

/// Runs the subcommand.
pub fn run(arguments: &TcpLiteArguments) -> Result<i32, Failure> {
    match &arguments.verb {
        TcpLiteVerb::Run(arguments) => running::run(arguments),
        TcpLiteVerb::Attach(arguments) => attaching::attach(arguments),
        TcpLiteVerb::Status { json } => attaching::status(*json),
        TcpLiteVerb::Detach { name } => attaching::detach(name),
    }
}

/// Rejects interfaces on which damage cannot be detected.
fn check_interfaces(names: &[String]) -> Result<(), Failure> {
    let all = interface::list(&Namespace::current()?)?;
    for name in names {
        let Some(found) = all.iter().find(|one| one.name == *name) else {
            let known: Vec<_> = all.iter().map(|one| one.name.as_str()).collect();
            return Err(
                format!("there is no interface `{name}`: the interfaces are {}", known.join(", ")).into()
            );
        };
        if found.loopback {
            return Err(format!(
                "`{name}` is the loopback interface: its packets never have complete checksums, so damage would not show; name the interface that receives packets of other hosts"
            )
            .into());
        }
    }
    Ok(())
}
