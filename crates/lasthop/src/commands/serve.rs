//! `lasthop serve`: a page in the browser that shows and changes running links, and the HTTP
//! interface behind it.

mod api;
mod links;
mod openapi;

use crate::failure::Failure;
use api::{Api, Call, Reply};
use clap::Args;
use data_encoding::BASE64URL_NOPAD;
use links::HostLinks;
use netlab::Namespace;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use tiny_http::{Header, Request, Response, Server};

/// Number of requests that are answered at the same time.
const THREADS: usize = 4;
/// Largest body of a request in bytes: a list of parameters.
const LARGEST: u64 = 64 * 1024;

/// Arguments of `lasthop serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
The page shows rates, delays, the queue, losses by cause and flows of each running link, changes
parameters, switches profiles, takes a link down, and captures. The address that is printed contains
a token. Without it, nothing can be read or changed. The token is a new one each time, unless
LASTHOP_TOKEN has one.

The interface behind the page is for programs as well: GET /api/openapi.json describes it. It speaks
plain HTTP: listen on other addresses than loopback only in a network that you trust.

Examples:
  lasthop serve
  lasthop serve --listen 0.0.0.0:8181        (for a phone in the same network)")]
pub struct ServeArguments {
    /// Address and port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8181")]
    pub listen: SocketAddr,
    /// Directory for captures
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub captures: PathBuf,
}

/// Serves until it is ended by a signal.
pub fn run(arguments: &ServeArguments) -> Result<i32, Failure> {
    let folder = std::path::absolute(&arguments.captures)?;
    if !folder.is_dir() {
        return Err(format!("--captures {}: there is no such directory", arguments.captures.display()).into());
    }
    let server = Server::http(arguments.listen)
        .map_err(|error| format!("--listen {}: cannot listen: {error}", arguments.listen))?;
    let listening = server.server_addr().to_ip().unwrap_or(arguments.listen);
    let token = match std::env::var("LASTHOP_TOKEN") {
        Ok(token) if token.len() < 16 => {
            return Err("LASTHOP_TOKEN: a token needs at least 16 characters".into());
        }
        Ok(token) => token,
        Err(_) => BASE64URL_NOPAD.encode(&rand::random::<[u8; 16]>()),
    };
    let addresses = addresses(listening)?;
    let loopback: IpAddr =
        if listening.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
    let own = if listening.ip().is_unspecified() { loopback } else { listening.ip() };
    let own = SocketAddr::new(own, listening.port());
    anstream::println!("http://{own}/#token={token}");
    for address in &addresses {
        anstream::println!("{address}#token={token}");
    }
    let api = Arc::new(Api::new(HostLinks, token, addresses, folder));
    let server = Arc::new(server);
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let (server, api) = (Arc::clone(&server), Arc::clone(&api));
            thread::spawn(move || {
                while let Ok(request) = server.recv() {
                    answer(&api, request);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().map_err(|_| "a thread of the server has panicked")?;
    }
    Ok(0)
}

/// Returns the addresses under which other machines reach the server.
fn addresses(listening: SocketAddr) -> Result<Vec<String>, Failure> {
    let all = if listening.ip().is_unspecified() {
        let all = netlab::address::list(&Namespace::current()?)?.into_iter().map(|address| address.address);
        all.filter(|address| listening.is_ipv6() || address.is_ipv4()).collect()
    } else {
        vec![listening.ip()]
    };
    let is_reachable = |address: &IpAddr| match address {
        IpAddr::V4(address) => !address.is_loopback(),
        // A link-local address needs a zone, which browsers do not take.
        IpAddr::V6(address) => !address.is_loopback() && !address.is_unicast_link_local(),
    };
    let url = |address| format!("http://{}/", SocketAddr::new(address, listening.port()));
    Ok(all.into_iter().filter(is_reachable).map(url).collect())
}

fn answer(api: &Api<HostLinks>, mut request: Request) {
    let mut body = String::new();
    let read = request.as_reader().take(LARGEST).read_to_string(&mut body);
    let authorization = request
        .headers()
        .iter()
        .find(|header| header.field.equiv("Authorization"))
        .map(|header| header.value.as_str().to_owned());
    let reply = match read {
        Ok(_) => api.answer(&Call {
            method: request.method().as_str(),
            path: request.url(),
            authorization: authorization.as_deref(),
            body: &body,
        }),
        Err(error) => Reply::error(400, &format!("cannot read the request: {error}")),
    };
    let mut response = Response::from_data(reply.body).with_status_code(reply.status);
    for (name, value) in [
        ("Content-Type", reply.kind),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
    ] {
        response.add_header(Header::from_bytes(name, value).expect("a header of ASCII"));
    }
    // The client may have gone.
    drop(request.respond(response));
}
