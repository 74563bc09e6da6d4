//! `lasthop tcp-lite`: TCP Lite on this host.

pub mod arguments;
mod attaching;
mod running;
mod summary;

use crate::failure::Failure;
use arguments::{TcpLiteArguments, TcpLiteVerb};
use netlab::{Namespace, interface};

/// Does what is asked.
pub fn run(arguments: &TcpLiteArguments) -> Result<i32, Failure> {
    match &arguments.verb {
        TcpLiteVerb::Run(arguments) => running::run(arguments),
        TcpLiteVerb::Attach(arguments) => attaching::attach(arguments),
        TcpLiteVerb::Status { json } => attaching::status(*json),
        TcpLiteVerb::Detach { name } => attaching::detach(name),
    }
}

/// Refuses interfaces over which damage cannot show.
fn check_interfaces(names: &[String]) -> Result<(), Failure> {
    let all = interface::list(&Namespace::current()?)?;
    for name in names {
        let Some(found) = all.iter().find(|one| one.name == *name) else {
            let known: Vec<_> = all.iter().map(|one| one.name.as_str()).collect();
            return Err(format!("there is no interface `{name}`: there are {}", known.join(", ")).into());
        };
        if found.loopback {
            return Err(format!(
                "`{name}` is the loopback: its packets never have complete checksums, so that damage would not show; name the interface that \
                 packets of other hosts come in by"
            )
            .into());
        }
    }
    Ok(())
}
