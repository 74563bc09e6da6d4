//! Listening sockets of a namespace, from the kernel's lists in `/proc/net`.

use crate::Namespace;
use crate::error::{Error, Result, Trying};
use crate::nat::Publish;
use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// A socket that accepts peers: TCP in state LISTEN, or an unconnected UDP socket.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listener {
    /// The kernel's list that contains it: `tcp`, `tcp6`, `udp` or `udp6`.
    pub list: &'static str,
    /// Its address as the kernel writes it, in hexadecimal digits.
    pub address: String,
    /// Its port.
    pub port: u16,
}

impl Listener {
    /// Returns address and port; `None` if the kernel's format is unknown.
    #[must_use]
    pub fn socket_address(&self) -> Option<SocketAddr> {
        // Words of four bytes, each printed as a number in this machine's byte order.
        let word = |place: usize| {
            let digits = self.address.get(8 * place..8 * place + 8)?;
            Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
        };
        let address = match self.address.len() {
            8 => IpAddr::from(word(0)?),
            32 => {
                let words = [word(0)?, word(1)?, word(2)?, word(3)?];
                IpAddr::from(<[u8; 16]>::try_from(words.concat()).ok()?)
            }
            _ => return None,
        };
        Some(SocketAddr::new(address, self.port))
    }
}

/// Refuses to publish a port on which a server in `namespace` listens.
///
/// That server's clients would reach the server behind the link instead. A server at `::1` alone is
/// no obstacle, since that address is not published.
///
/// # Errors
/// If a port is taken: the error names the port and its listener. Others as [`listeners`].
pub fn check_free(namespace: &Namespace, publish: &[Publish]) -> Result<()> {
    if publish.is_empty() {
        return Ok(());
    }
    let others = listeners(namespace)?;
    for Publish { outside, inside } in publish {
        let hit = |one: &&Listener| {
            let address = one.socket_address();
            one.port == outside.get() && address.is_none_or(|its| its.ip() != IpAddr::V6(Ipv6Addr::LOCALHOST))
        };
        if let Some(one) = others.iter().find(hit) {
            let protocol = one.list.trim_end_matches('6');
            let at = one.socket_address().map_or_else(|| one.address.clone(), |its| its.to_string());
            return Err(Error::missing(
                format!("cannot publish port {outside}: a server of this host uses it ({protocol} {at})"),
                format!("stop that server, or publish another port with --publish OTHER:{inside}"),
            ));
        }
    }
    Ok(())
}

/// Each list with the state of listening sockets: TCP_LISTEN, or TCP_CLOSE for unconnected UDP
/// sockets (`include/net/tcp_states.h`).
const LISTS: [(&str, &str); 4] = [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")];

/// Returns all listening sockets of `namespace`.
///
/// # Errors
/// If the namespace cannot be entered, or a list cannot be read.
pub fn listeners(namespace: &Namespace) -> Result<BTreeSet<Listener>> {
    namespace.enter(|| {
        let mut all = BTreeSet::new();
        for (list, state) in LISTS {
            let text = read(list)?;
            all.extend(rows(&text).filter(|row| row.state == state).filter_map(|row| row.listener(list)));
        }
        Ok(all)
    })
}

/// Reads a list of the calling thread's namespace; empty if the kernel has no such list (IPv6).
pub(crate) fn read(list: &str) -> Result<String> {
    let text = fs::read_to_string(format!("/proc/thread-self/net/{list}"));
    match text {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && list.ends_with('6') => {
            Ok(String::new())
        }
        other => other.trying(|| format!("list {list} sockets")),
    }
}

/// One line of a list.
pub(crate) struct Row<'a> {
    /// Address and port, `0100007F:1F90`.
    local: &'a str,
    /// Two hexadecimal digits.
    pub state: &'a str,
}

/// Returns the lines of a list.
///
/// Each has a number, the local address, the remote address and the state (proc_net_tcp in the
/// kernel's documentation).
pub(crate) fn rows(list: &str) -> impl Iterator<Item = Row<'_>> {
    list.lines().skip(1).filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        Some(Row { local: words.next()?, state: words.nth(1)? })
    })
}

impl Row<'_> {
    fn listener(&self, list: &'static str) -> Option<Listener> {
        let (address, port) = self.local.split_once(':')?;
        Some(Listener { list, address: address.to_owned(), port: u16::from_str_radix(port, 16).ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel() {
        let list = "  sl  local_address rem_address   st\n   \
                    0: 00000000:0015 00000000:0000 0A 00000000:00000000\n   \
                    1: 0100007F:1F90 0100007F:0016 01 00000000:00000000\n";
        let listening: Vec<_> =
            rows(list).filter(|row| row.state == "0A").filter_map(|row| row.listener("tcp")).collect();
        assert_eq!(listening, [Listener { list: "tcp", address: "00000000".into(), port: 21 }]);
        assert_eq!(rows(list).map(|row| row.state).collect::<Vec<_>>(), ["0A", "01"]);
    }

    #[test]
    fn addresses_as_the_kernel_writes_them() {
        let shown = |address: &str| {
            let one = Listener { list: "tcp", address: address.to_owned(), port: 80 };
            one.socket_address().map(|its| its.to_string())
        };
        assert_eq!(shown("0100007F").as_deref(), Some("127.0.0.1:80"));
        assert_eq!(shown(&"0".repeat(32)).as_deref(), Some("[::]:80"));
        assert_eq!(shown("00000000000000000000000001000000").as_deref(), Some("[::1]:80"));
        assert_eq!(shown("0100"), None);
    }

    /// A server of the host keeps its port, whatever the protocol and the address.
    #[test]
    fn a_port_with_a_server_is_not_published() {
        let own = Namespace::current().expect("a namespace");
        let published = |port: u16| check_free(&own, &[format!("{port}:80").parse().expect("ports")]);
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let udp = std::net::UdpSocket::bind("[::]:0").or_else(|_| std::net::UdpSocket::bind("0.0.0.0:0"));
        let udp = udp.expect("a port");
        for (protocol, address) in [("tcp", tcp.local_addr()), ("udp", udp.local_addr())]
            .map(|(name, its)| (name, its.expect("bound")))
        {
            let port = address.port();
            let error = published(port).expect_err("taken").to_string();
            let expected = format!(
                "cannot publish port {port}: a server of this host uses it ({protocol} {address}); \
                 stop that server, or publish another port with --publish OTHER:80"
            );
            assert_eq!(error, expected);
        }
        // This address is not published, so its server is no obstacle.
        if let Ok(local) = std::net::TcpListener::bind("[::1]:0") {
            published(local.local_addr().expect("bound").port()).expect("it is not in the way");
        }
    }

    #[test]
    fn a_listener_is_seen_while_it_is_there() {
        let own = Namespace::current().expect("a namespace");
        let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = socket.local_addr().expect("an address").port();
        let seen = || listeners(&own).expect("lists").iter().any(|one| one.list == "tcp" && one.port == port);
        assert!(seen());
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
        let port = udp.local_addr().expect("an address").port();
        assert!(listeners(&own).expect("lists").iter().any(|one| one.list == "udp" && one.port == port));
    }
}
