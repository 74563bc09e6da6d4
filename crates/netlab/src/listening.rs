//! What listens in a namespace, by the kernel's lists in `/proc/net`.

use crate::Namespace;
use crate::error::{Result, Trying};
use std::collections::BTreeSet;
use std::fs;

/// A socket that waits for others: TCP in state LISTEN, or UDP that is not connected.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listener {
    /// The kernel's list that it is in: `tcp`, `tcp6`, `udp` or `udp6`.
    pub list: &'static str,
    /// Its address as the kernel writes it, in hexadecimal digits.
    pub address: String,
    /// Its port.
    pub port: u16,
}

/// State TCP_LISTEN, and the state TCP_CLOSE that UDP sockets have which are not connected (`include/net/tcp_states.h`).
const LISTS: [(&str, &str); 4] = [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")];

/// All that listen in `namespace`.
///
/// # Errors
/// If the namespace cannot be entered, or its list of TCP sockets not be read.
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

/// A list of the calling thread's namespace; empty where the kernel has none of that kind (IPv6).
pub(crate) fn read(list: &str) -> Result<String> {
    let text = fs::read_to_string(format!("/proc/thread-self/net/{list}"));
    match text {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && list.ends_with('6') => {
            Ok(String::new())
        }
        other => other.trying(|| format!("list {list} sockets")),
    }
}

/// A line of a list.
pub(crate) struct Row<'a> {
    /// Address and port, `0100007F:1F90`.
    local: &'a str,
    /// Two hexadecimal digits.
    pub state: &'a str,
}

/// The lines of a list: behind a number the local address, the remote one, and the state (proc_net_tcp in the kernel's
/// documentation).
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
