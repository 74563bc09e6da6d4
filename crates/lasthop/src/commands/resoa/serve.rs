//! `lasthop resoa serve`: runs the server of remote sockets until a signal ends it.

mod questions;

use super::arguments::ServeArguments;
use crate::failure::Failure;
use crate::signals::SignalPipe;
use confinement::{Confinement, Needs, raise_descriptor_limit};
use questions::Questions;
use resoa_carrier::keys::SecretKey;
use resoa_carrier::{Allowed, AnyCarrier, CarrierAddress};
use resoa_policy::{Client, Policy};
use resoa_protocol::ServerSettings;
use resoa_protocol::server::Addresses;
use resoa_server::{FinHold, Host};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Serves until Ctrl-C or SIGTERM.
pub fn run(arguments: &ServeArguments) -> Result<i32, Failure> {
    if arguments.check {
        return check(arguments);
    }
    let Some(listen) = &arguments.listen else {
        return Err("--listen is missing: give the address to listen on".into());
    };
    Confinement::check(arguments.user.as_deref())?;
    raise_descriptor_limit()?;
    let (stop, reload) = (SignalPipe::of(&[SIGINT, SIGTERM])?, SignalPipe::of(&[SIGHUP])?);
    let key = match &arguments.key {
        Some(file) => SecretKey::read(file)?,
        None => SecretKey::generate()?,
    };
    let policy = Arc::new(policy(arguments, listen)?);
    let current = Arc::new(Mutex::new(Arc::clone(&policy)));
    let (carrier, place) = open(listen, &key, &current)?;
    let mut host =
        Host::with_policy(ServerSettings::new(Addresses::default()), carrier, Arc::clone(&policy))?;
    if let Some(hold) = hold(arguments)? {
        host = host.with_fin_hold(hold);
    }
    if !host.capabilities().host_ports {
        anstream::eprintln!(
            "lasthop: this kernel does not report the ports of the host's processes (CONFIG_INET_TCP_DIAG, CONFIG_INET_UDP_DIAG): sockets of clients cannot share a port, even with SO_REUSEADDR or SO_REUSEPORT"
        );
    }
    let mut questions = Questions::open(arguments)?;
    for descriptor in [stop.descriptor(), reload.descriptor(), questions.descriptor()] {
        host.wait_for(descriptor)?;
    }
    if policy.is_open() {
        anstream::eprintln!("lasthop: {place} is not authenticated: anyone who can reach it is a client");
    }
    let needs = needs(arguments, &policy, &questions, host.capabilities().fin_hold);
    let confinement = Confinement::enter(arguments.user.as_deref(), !arguments.no_sandbox, &needs)?;
    anstream::eprintln!("lasthop: {confinement}");
    say_if_unreadable(arguments, &confinement);
    questions.answer()?;
    anstream::eprintln!("lasthop: listening at {place}, key {}", key.public());
    loop {
        // Most turns concern only sockets and need no other checks.
        if !host.turn(None)? {
            continue;
        }
        if stop.has_come()? {
            break;
        }
        if reload.has_come()? {
            reload_policy(arguments, listen, &confinement, &mut host, &current);
        }
        questions.hear(|| host.report());
    }
    host.stop();
    anstream::eprintln!("lasthop: all sockets are reset");
    Ok(0)
}

/// Attaches the programs that hold back the FIN of a remote host until the client has received all
/// data before it. They are optional unless `--interface` asks for them.
fn hold(arguments: &ServeArguments) -> Result<Option<FinHold>, Failure> {
    if !arguments.interface.is_empty() {
        let hold = FinHold::attach(&arguments.interface);
        return hold.map(Some).map_err(|error| format!("--interface: {error}").into());
    }
    let attached = FinHold::interfaces().and_then(|names| {
        let hold = FinHold::attach(&names)?;
        anstream::eprintln!("lasthop: the FIN of remote hosts is held back on {}", names.join(" "));
        Ok(hold)
    });
    Ok(attached
        .inspect_err(|error| {
            anstream::eprintln!("lasthop: the FIN of remote hosts is acknowledged on arrival, before the client has all data: {error}");
        })
        .ok())
}

/// Warns at startup if SIGHUP will not be able to read the policy.
fn say_if_unreadable(arguments: &ServeArguments, confinement: &Confinement) {
    if let Some(file) = &arguments.policy
        && let Err(error) = std::fs::File::open(file)
    {
        anstream::eprintln!(
            "lasthop: SIGHUP cannot change the policy: {}: {error}; let user {} read it, or restart to change it",
            file.display(),
            confinement.user()
        );
    }
}

/// Returns what the confinement must leave to the server.
fn needs(arguments: &ServeArguments, policy: &Policy, questions: &Questions, fin_hold: bool) -> Needs {
    // An editor that saves the policy creates another file in the same directory.
    let folder = |path: &Path| path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_path_buf));
    Needs {
        low_ports: policy.needs_low_ports(),
        foreign_addresses: policy.needs_foreign_addresses(),
        fin_hold,
        readable: arguments.policy.as_deref().and_then(folder).into_iter().collect(),
        // A directory given on the command line may contain other files. There the socket stays,
        // and the next start replaces it.
        removable_from: questions.own_path().and_then(folder).into_iter().collect(),
        sockets: Vec::new(),
    }
}

/// Runs `--check`: reads the policy and prints its clients.
fn check(arguments: &ServeArguments) -> Result<i32, Failure> {
    let file = arguments.policy.as_deref().unwrap_or(Path::new(""));
    let policy = Policy::read(file)?;
    let clients = policy.clients().len();
    let are = if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") };
    anstream::println!("{}: valid policy with {are}", file.display());
    for (key, client) in policy.clients() {
        let addresses = &client.grant.addresses;
        let own: Vec<_> = addresses.pool.iter().chain(&addresses.brought).map(ToString::to_string).collect();
        let at = if own.is_empty() { "the shared address".to_owned() } else { own.join(" ") };
        anstream::println!("  {:<16} {key}  {at}, {} sockets", client.name, client.grant.sockets);
    }
    Ok(0)
}

/// Returns the policy: the clients that may connect, and what each may do.
fn policy(arguments: &ServeArguments, listen: &CarrierAddress) -> Result<Policy, Failure> {
    let is_near = matches!(listen, CarrierAddress::Plain(address) if address.ip().is_loopback());
    if !listen.is_secure() && !is_near && !arguments.insecure {
        return Err(format!(
            "--listen {listen}: this carrier is not authenticated, so anyone who can reach it is a client; use tcp:, or --insecure if only trusted hosts can"
        )
        .into());
    }
    let policy = match &arguments.policy {
        Some(file) if listen.is_secure() => Policy::read(file)?,
        // On such a carrier keys are claimed but not proven: an entry is as good as the claim, and
        // without an entry the defaults apply.
        Some(file) => Policy::read(file)?.open(),
        None if listen.is_secure() => {
            return Err(format!(
                "--listen {listen}: --policy is missing, which lists the clients that may connect; begin one with `lasthop resoa pair --policy FILE`"
            )
            .into());
        }
        None if is_near => Policy::anybody(Client::local("anybody")),
        None => Policy::anybody(Client::named("anybody")),
    };
    Ok(match arguments.address {
        Some(address) => policy.sharing(address),
        None => policy,
    })
}

/// Starts the carrier. It accepts the clients that the policy has at the time when they connect.
fn open(
    listen: &CarrierAddress,
    key: &SecretKey,
    current: &Arc<Mutex<Arc<Policy>>>,
) -> Result<(AnyCarrier, CarrierAddress), Failure> {
    let allowed = if listen.is_secure() {
        let current = Arc::clone(current);
        Allowed::by(move |key| current.lock().unwrap_or_else(PoisonError::into_inner).has(key))
    } else {
        Allowed::anybody()
    };
    listen.serve(key, &allowed).map_err(|error| format!("--listen {listen}: {error}").into())
}

/// Reads the policy again. If it has an error, the old policy stays in force.
fn reload_policy(
    arguments: &ServeArguments,
    listen: &CarrierAddress,
    confinement: &Confinement,
    host: &mut Host<AnyCarrier>,
    current: &Mutex<Arc<Policy>>,
) {
    match policy(arguments, listen) {
        Ok(policy) => {
            let policy = Arc::new(policy);
            *current.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&policy);
            host.reload(policy);
            anstream::eprintln!("lasthop: the policy was read again");
        }
        Err(error) => {
            let reader = confinement.user();
            anstream::eprintln!("lasthop: {error} (read as {reader})\nlasthop: the policy is unchanged");
        }
    }
}
