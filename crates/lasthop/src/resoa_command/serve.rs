//! `lasthop resoa serve`: the server of remote sockets, until a signal ends it.

use super::arguments::ServeArguments;
use crate::link_command::Failure;
use resoa_carrier::keys::SecretKey;
use resoa_protocol::ServerSettings;
use resoa_protocol::server::Addresses;
use resoa_server::Host;
use rustix::fd::AsFd;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::pipe;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::net::UnixStream;

/// Serves until Ctrl-C or SIGTERM.
pub fn run(arguments: &ServeArguments) -> Result<i32, Failure> {
    let (mut stop, signalled) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM] {
        pipe::register(signal, signalled.try_clone()?)?;
    }
    stop.set_nonblocking(true)?;
    let key = match &arguments.key {
        Some(file) => SecretKey::read(file)?,
        None => SecretKey::generate()?,
    };
    let listen = &arguments.listen;
    let (carrier, place) = listen
        .serve(&key, &resoa_carrier::Allowed::anybody())
        .map_err(|error| format!("--listen {listen}: {error}"))?;
    let address = arguments.address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let mut host = Host::new(ServerSettings::new(Addresses::shared(address)), carrier)?;
    host.wait_for(stop.as_fd())?;
    anstream::eprintln!("lasthop: listening at {place}, key {}", key.public());
    while !was_signalled(&mut stop)? {
        host.turn(None)?;
    }
    host.stop();
    anstream::eprintln!("lasthop: every socket is reset");
    Ok(0)
}

/// Whether a signal has come since this was last asked.
fn was_signalled(stop: &mut UnixStream) -> io::Result<bool> {
    match stop.read(&mut [0; 16]) {
        Ok(count) => Ok(count > 0),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}
