//! The server's end: sockets and signals around `link_probe::Server`.

use super::arguments::{PORT, RecordArguments};
use super::{keys, socket};
use crate::failure::Failure;
use crate::signals::SignalPipe;
use link_probe::Server;
use signal_hook::consts::{SIGINT, SIGTERM};
use socket::{Socket, now};
use std::net::{IpAddr, SocketAddr};

/// Serves clients until a signal arrives, or until as many as asked for have ended.
pub fn run(address: &str, arguments: &RecordArguments) -> Result<i32, Failure> {
    let address = listen(address)?;
    let (key, made) = keys::read_or_make(&arguments.key)?;
    let signals = SignalPipe::of(&[SIGINT, SIGTERM])?;
    let mut socket = Socket::bind(address).map_err(|error| format!("cannot serve at {address}: {error}"))?;
    if !arguments.quiet {
        let file = arguments.key.display();
        if made {
            anstream::eprintln!("lasthop: made key {file}: copy it to the client");
        }
        anstream::eprintln!("lasthop: serving at {} with key {file}", socket.address()?);
    }
    let mut server = Server::new(key, rand::random(), arguments.max_rate.as_bits_per_second());
    let mut client = None;
    loop {
        while let Some((to, datagram)) = server.send(now()) {
            // A client whose network is gone ends by its silence.
            let _ = socket.send(&datagram, to);
            drain(&mut socket, &mut server)?;
        }
        drain(&mut socket, &mut server)?;
        if client != server.client() {
            client = server.client();
            if !arguments.quiet {
                match client {
                    Some(client) => anstream::eprintln!("lasthop: measuring for {client}"),
                    None => anstream::eprintln!("lasthop: the measurement has ended"),
                }
            }
        }
        if signals.has_come()? || arguments.clients.is_some_and(|clients| server.ended() >= clients) {
            return Ok(0);
        }
        socket.wait(server.due(), Some(signals.descriptor()))?;
    }
}

fn drain(socket: &mut Socket, server: &mut Server) -> Result<(), Failure> {
    while let Some((datagram, from, at)) = socket.receive()? {
        server.receive(at, from, datagram);
    }
    Ok(())
}

/// Reads an address with or without a port.
fn listen(text: &str) -> Result<SocketAddr, Failure> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok((address, PORT).into());
    }
    let wanted = || {
        format!("cannot serve at {text:?}: expected an address of this host, such as 0.0.0.0 or [::]:{PORT}")
    };
    text.parse().map_err(|_| wanted().into())
}
