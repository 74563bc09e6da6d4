//! The client's end: a socket around `link_probe::Client`, and the files.

use super::arguments::{PORT, RecordArguments};
use super::{keys, socket};
use crate::failure::Failure;
use experiment::campaign::utc;
use link::units::{BitRate, ByteCount};
use link_probe::fit::{Fitted, fit};
use link_probe::{Client, Phase, Plan, Progress, Recording, files};
use socket::{Socket, headers, now};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

/// Measures the link to `host` and writes the files.
pub fn run(host: &str, arguments: &RecordArguments) -> Result<i32, Failure> {
    let Some(out) = &arguments.out else { return Err("name the directory to write: -o OUT".into()) };
    if out.exists() {
        return Err(format!("{}: exists already: name a new directory", out.display()).into());
    }
    let key = keys::read(&arguments.key)?;
    let server = resolve(host)?;
    let plan = plan(arguments, server)?;
    let client = Client::new(key, plan, rand::random())?;
    if !arguments.quiet {
        let most = ByteCount::new(plan.most_bytes());
        let phases = plan.phases();
        let seconds: u64 = phases.iter().map(|phase| plan.length(*phase) / 1_000_000_000).sum();
        anstream::eprintln!(
            "lasthop: measuring the link to {server} for {seconds} s and more, with at most {most} each way"
        );
    }
    // Made first, so that a recording is not lost to a directory that cannot be written.
    fs::create_dir(out)
        .map_err(|error| format!("cannot make directory {:?}: {error}", out.display().to_string()))?;
    let written = measure(client, server, arguments).and_then(|recording| {
        let fitted = fit(&recording)?;
        let source = format!("lasthop record: {} to {server}", utc(now() / 1_000_000_000));
        for (name, text) in files::files(&recording, &fitted, &source) {
            fs::write(out.join(name), text)?;
        }
        Ok(fitted)
    });
    match written {
        Ok(fitted) => {
            print(&fitted);
            Ok(0)
        }
        Err(error) => {
            // Only if it is empty.
            let _ = fs::remove_dir(out);
            Err(error)
        }
    }
}

/// Carries out the measurement.
fn measure(
    mut client: Client,
    server: SocketAddr,
    arguments: &RecordArguments,
) -> Result<Recording, Failure> {
    let here = match server {
        SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    };
    let mut socket = Socket::bind((here, 0).into())?;
    let mut told = None;
    loop {
        while let Some(datagram) = client.send(now()) {
            socket.send(&datagram, server).map_err(|error| format!("cannot send to {server}: {error}"))?;
            drain(&mut socket, &mut client, server)?;
        }
        drain(&mut socket, &mut client, server)?;
        if client.is_done() {
            return Ok(client.into_recording().map_err(|error| format!("{server}: {error}"))?);
        }
        if told != Some(client.progress()) {
            told = Some(client.progress());
            if let (Progress::Measuring(phase), false) = (client.progress(), arguments.quiet) {
                anstream::eprintln!("lasthop: {}", words(phase));
            }
        }
        socket.wait(client.due(), None)?;
    }
}

fn drain(socket: &mut Socket, client: &mut Client, server: SocketAddr) -> Result<(), Failure> {
    while let Some((datagram, from, at)) = socket.receive()? {
        if from == server {
            client.receive(at, datagram);
        }
    }
    Ok(())
}

fn words(phase: Phase) -> &'static str {
    match phase {
        Phase::Light => "trains on the idle link",
        Phase::Heavy { up: true, down: true } => "saturating both directions",
        Phase::Heavy { up: true, down: false } => "saturating the uplink",
        Phase::Heavy { .. } => "saturating the downlink",
    }
}

/// Prints the fitted parameters.
fn print(fitted: &Fitted) {
    for (name, way) in ["up  ", "down"].into_iter().zip(&fitted.ways) {
        let bound = if way.saturated { "" } else { "at least " };
        let queue = way.queue.map_or("never full".to_owned(), |packets| format!("{packets} packets"));
        let (counts, rate) = (way.losses.counts, BitRate::to_string(&way.rate));
        let bursts = match way.losses.two_state {
            Some((good, bad)) => format!(", in bursts: good {good}, bad {bad} on average"),
            None => String::new(),
        };
        anstream::println!(
            "{name} {bound}{rate}, queue {queue}, {} of {} packets lost on the idle link{bursts}",
            counts.lost,
            counts.sent
        );
    }
    let delay = &fitted.delay;
    let at = |wanted: u8| {
        delay
            .percentiles
            .iter()
            .find(|(percent, _)| *percent == wanted)
            .map_or(String::new(), |(_, time)| time.to_string())
    };
    anstream::println!(
        "round trip without transmission: least {}, median {}, 95 % within {}",
        at(0),
        at(50),
        at(95)
    );
}

/// Returns the plan of a measurement of the link to `server`.
fn plan(arguments: &RecordArguments, server: SocketAddr) -> Result<Plan, Failure> {
    let overhead = headers(server.ip());
    let size =
        arguments.size.checked_sub(overhead.into()).filter(|&size| size >= link_probe::message::LEAST_DATA);
    let least = link_probe::message::LEAST_DATA + u16::from(overhead);
    let size = size.ok_or_else(|| format!("--size {}: must be at least {least} bytes", arguments.size))?;
    Ok(Plan {
        size,
        overhead,
        train: arguments.train,
        interval: arguments.interval.as_nanos(),
        light: arguments.light.as_nanos(),
        heavy: arguments.heavy.as_nanos(),
        max_rate: arguments.max_rate.as_bits_per_second(),
        together: arguments.together,
    })
}

/// Returns the address of a host with or without a port.
fn resolve(host: &str) -> Result<SocketAddr, Failure> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok((address, PORT).into());
    }
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let with_port = if has_port { host.to_owned() } else { format!("{host}:{PORT}") };
    let mut addresses =
        with_port.to_socket_addrs().map_err(|error| format!("cannot find host {host:?}: {error}"))?;
    addresses.next().ok_or_else(|| format!("cannot find host {host:?}: it has no address").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_the_usual_port_unless_it_names_another() {
        assert_eq!(resolve("192.0.2.1").expect("an address").to_string(), "192.0.2.1:7130");
        assert_eq!(resolve("192.0.2.1:9").expect("an address").to_string(), "192.0.2.1:9");
        assert_eq!(resolve("2001:db8::1").expect("an address").to_string(), "[2001:db8::1]:7130");
        assert_eq!(resolve("[2001:db8::1]:9").expect("an address").to_string(), "[2001:db8::1]:9");
    }
}
