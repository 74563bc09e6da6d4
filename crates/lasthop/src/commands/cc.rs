//! `lasthop cc`: congestion controls of this machine's kernel.

pub mod arguments;
mod listing;
mod watch;

use crate::failure::Failure;
use arguments::{CcArguments, CcVerb, LoadArguments};
use congestion::algorithms;
use netlab::Namespace;

/// Runs the subcommand.
pub fn run(arguments: &CcArguments) -> Result<i32, Failure> {
    match &arguments.verb {
        CcVerb::List { json } => listing::list(*json),
        CcVerb::Load(arguments) => load(arguments),
        CcVerb::Unload { name } => unload(name),
        CcVerb::Watch(arguments) => watch::watch(arguments),
        CcVerb::Info { name, json } => listing::info(name, *json),
    }
}

fn load(arguments: &LoadArguments) -> Result<i32, Failure> {
    // Opened before anything is loaded, because the namespace may not exist.
    let namespace = arguments.namespace.as_deref().map(namespace).transpose()?;
    let LoadArguments { algorithm, settings, .. } = arguments;
    let name = arguments.name.as_deref().unwrap_or(algorithm);
    algorithms::load(algorithm, Some(name), settings)?;
    if arguments.default {
        let namespace = namespace.map_or_else(Namespace::current, Ok)?;
        algorithms::set_default(&namespace, name).inspect_err(|_| {
            // The request failed as a whole, so nothing stays loaded.
            let _ = algorithms::unload(name);
        })?;
    }
    let set: Vec<_> = settings.iter().map(|setting| format!("{}={}", setting.name, setting.value)).collect();
    let with = if set.is_empty() { String::new() } else { format!(" with {}", set.join(" ")) };
    let origin = if name == algorithm { String::new() } else { format!(" ({algorithm})") };
    anstream::eprintln!(
        "lasthop: `{name}`{origin} is loaded{with} until `lasthop cc unload {name}` or the next boot"
    );
    if arguments.default {
        let whose = arguments
            .namespace
            .as_ref()
            .map_or("this namespace".to_owned(), |of| format!("the namespace {of}"));
        anstream::eprintln!(
            "lasthop: new connections of {whose} use it, except on routes that name another one"
        );
    }
    Ok(0)
}

fn unload(name: &str) -> Result<i32, Failure> {
    let users = algorithms::unload(name)?;
    anstream::eprintln!("lasthop: `{name}` is unloaded");
    if users > 0 {
        let have = if users == 1 {
            "connection or namespace still uses"
        } else {
            "connections or namespaces still use"
        };
        anstream::eprintln!(
            "lasthop: {users} {have} it: a connection until it closes, a namespace until its default changes"
        );
    }
    if algorithms::default_here().is_ok_and(|default| default == name) {
        anstream::eprintln!(
            "lasthop: it is still the default here; change that with sysctl -w net.ipv4.tcp_congestion_control=cubic"
        );
    }
    Ok(0)
}

/// Opens a namespace by path, by a name of ip-netns(8), or by the PID of a process in it.
fn namespace(text: &str) -> Result<Namespace, Failure> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let path = if is_number {
        format!("/proc/{text}/ns/net")
    } else if text.contains('/') {
        text.to_owned()
    } else {
        format!("/run/netns/{text}")
    };
    Namespace::at(&path).map_err(|error| {
        format!("--namespace {text}: {error}; give a path (/run/netns/NAME), a name of `ip netns`, or the PID of a process").into()
    })
}
