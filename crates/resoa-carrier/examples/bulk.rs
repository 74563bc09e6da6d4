//! Measures the throughput of a carrier: the server sends as much as it can to every client, and
//! the client counts. `scripts/bench/carriers` runs both over an emulated hop.
//!
//! ```text
//! bulk serve PLACE              prints the place and the server's key, and sends for ever
//! bulk reach PLACE KEY SECONDS  prints Mbit/s of messages, after one second in which nothing counts
//! bulk raw-serve ADDRESS CONGESTION, bulk raw-reach ADDRESS SECONDS
//!                               the same by TCP alone, with a congestion control by its name
//! ```

use resoa_carrier::keys::{PublicKey, SecretKey};
use resoa_carrier::{Allowed, Carrier, CarrierAddress, wait_for};
use resoa_protocol::lhp::{Connection, Handed, Indication, LastHop, Provider, Service};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

type Outcome = Result<(), Box<dyn Error>>;

/// Bytes of a message: what a server reads from a far host at once.
const MESSAGE: usize = 16 << 10;
/// Number of sockets that the messages belong to.
const SOCKETS: u32 = 4;
const WARM_UP: Duration = Duration::from_secs(1);

fn wait(carrier: &impl Carrier) {
    wait_for(&[carrier], Duration::MAX);
}

/// Returns a data message.
fn message(number: u32) -> Vec<u8> {
    let mut message = vec![0x14, 3, 0];
    message.extend((1 + number % SOCKETS).to_be_bytes());
    message.resize(MESSAGE, 7);
    message
}

fn serve(place: &str) -> Outcome {
    let key = SecretKey::generate()?;
    let (mut carrier, place) = place.parse::<CarrierAddress>()?.serve(&key, &Allowed::anybody())?;
    println!("{place} {}", key.public());
    let mut clients: BTreeMap<Connection, u32> = BTreeMap::new();
    let fill = |carrier: &mut dyn Carrier<Error = std::io::Error>, client: Connection, number: &mut u32| loop {
        *number += 1;
        if carrier.send(client, &message(*number)) == Handed::TakenLast {
            return;
        }
    };
    loop {
        wait(&carrier);
        let mut happened = Vec::new();
        carrier.poll(&mut happened);
        for (client, told) in happened {
            match told {
                Indication::Connect { .. } => {
                    carrier.accept(client);
                    fill(&mut *carrier, client, clients.entry(client).or_default());
                }
                Indication::On => {
                    if let Some(number) = clients.get_mut(&client) {
                        fill(&mut *carrier, client, number);
                    }
                }
                Indication::Disconnected(_) => drop(clients.remove(&client)),
                _ => {}
            }
        }
    }
}

fn reach(place: &str, key: &str, seconds: &str) -> Outcome {
    let server: PublicKey = key.parse()?;
    let seconds = Duration::from_secs(seconds.parse()?);
    let (mut carrier, address) =
        place.parse::<CarrierAddress>()?.reach(&SecretKey::generate()?, Some(server))?;
    let link = carrier.register(Service::Reliable, Provider { id: 1, protocol: 0 })?;
    carrier.connect(link, &address);
    let (mut begin, mut octets) = (None::<Instant>, 0);
    let took = loop {
        wait(&carrier);
        let mut happened = Vec::new();
        carrier.poll(&mut happened);
        for (_, told) in happened {
            match told {
                Indication::Connected => begin = Some(Instant::now() + WARM_UP),
                Indication::Data(message) if begin.is_some_and(|begin| begin <= Instant::now()) => {
                    octets += message.len();
                }
                Indication::Disconnected(why) => {
                    return Err(format!("the connection has ended: {why:?}").into());
                }
                _ => {}
            }
        }
        // Messages of the last poll are counted, so its time must be, too.
        if let Some(took) = begin.map(|begin| begin.elapsed()).filter(|took| *took >= seconds) {
            break took;
        }
    };
    print(octets, took, carrier.statistics(link).round_trip);
    Ok(())
}

fn print(octets: usize, took: Duration, trip: Option<Duration>) {
    println!("{:.2} Mbit/s, round trip {trip:?}", octets as f64 * 8e-6 / took.as_secs_f64());
}

fn raw_serve(address: &str, congestion: &str) -> Outcome {
    let listener = TcpListener::bind(address.parse::<SocketAddr>()?)?;
    println!("{}", listener.local_addr()?);
    for stream in listener.incoming() {
        let mut stream = stream?;
        rustix::net::sockopt::set_tcp_congestion(&stream, congestion)?;
        thread::spawn(move || while stream.write_all(&[7; MESSAGE]).is_ok() {});
    }
    Ok(())
}

fn raw_reach(address: &str, seconds: &str) -> Outcome {
    let seconds = Duration::from_secs(seconds.parse()?);
    let mut stream = TcpStream::connect(address.parse::<SocketAddr>()?)?;
    let begin = Instant::now() + WARM_UP;
    let (mut octets, mut buffer) = (0, vec![0; 1 << 16]);
    while begin.elapsed() < seconds {
        let count = stream.read(&mut buffer)?;
        if begin <= Instant::now() {
            octets += count;
        }
    }
    print(octets, begin.elapsed(), None);
    Ok(())
}

fn main() -> Outcome {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["serve", place] => serve(place),
        ["reach", place, key, seconds] => reach(place, key, seconds),
        ["raw-serve", address, congestion] => raw_serve(address, congestion),
        ["raw-reach", address, seconds] => raw_reach(address, seconds),
        _ => Err("usage: bulk serve PLACE | reach PLACE KEY SECONDS | raw-serve ADDRESS CONGESTION | raw-reach ADDRESS SECONDS".into()),
    }
}
