//! Host name look-ups, executed by the server (C49). Numeric addresses and `localhost` need no
//! look-up and are decided here. So are services, which are the host's own (`/etc/services`).

mod addresses;
mod hosts;
mod numbers;

use crate::agent;
use resoa_calls::{Request, Response};
use resoa_protocol::message::{Family, Query};
use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns the addresses of a host, in the order in which the server would try them. `family` is
/// AF_UNSPEC, AF_INET or AF_INET6.
///
/// # Errors
/// `EAI_…`
fn addresses(host: &str, family: i32) -> Result<Vec<IpAddr>, i32> {
    let family = match family {
        libc::AF_INET => Some(Family::V4),
        libc::AF_INET6 => Some(Family::V6),
        _ => None,
    };
    let of_family =
        |address: &IpAddr| family.is_none_or(|family| address.is_ipv4() == (family == Family::V4));
    let mut found: Vec<IpAddr> = if is_localhost(host) {
        vec![Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()]
    } else {
        let query = Query::Host { host: host.to_owned(), service: String::new(), family };
        match agent::ask_at_length(&Request::Resolve(query)) {
            Ok(Response::Hosts(found)) => found.iter().map(std::net::SocketAddr::ip).collect(),
            Ok(Response::Unresolved(error)) => return Err(error),
            // The agent has no server at the moment, or there is no agent.
            _ => return Err(libc::EAI_AGAIN),
        }
    };
    found.retain(of_family);
    let mut known = Vec::new();
    found.retain(|address| {
        !known.contains(address) && {
            known.push(*address);
            true
        }
    });
    if found.is_empty() { Err(libc::EAI_NONAME) } else { Ok(found) }
}

/// Returns whether RFC 6761 reserves the name for this host.
fn is_localhost(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    let last = host.rsplit('.').next().unwrap_or(host);
    last.eq_ignore_ascii_case("localhost")
}

/// Returns whether this is a numeric address, by the C library's rules.
fn is_number(host: &CStr) -> bool {
    unsafe extern "C" {
        fn inet_aton(text: *const libc::c_char, address: *mut libc::in_addr) -> libc::c_int;
    }
    let mut address = libc::in_addr { s_addr: 0 };
    // SAFETY: the text ends with zero, and there is room for the address.
    if unsafe { inet_aton(host.as_ptr(), &raw mut address) } != 0 {
        return true;
    }
    let text = host.to_str().unwrap_or_default();
    text.split('%').next().is_some_and(|address| address.parse::<Ipv6Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of this host, and every notation of numeric addresses that the C library reads.
    #[test]
    fn names_and_numbers() {
        for (host, is) in [("localhost", true), ("A.LocalHost.", true), ("localhost.org", false), ("", false)]
        {
            assert_eq!(is_localhost(host), is, "{host}");
        }
        for (host, is) in [
            (c"192.0.2.1", true),
            (c"127.1", true),
            (c"0x7f000001", true),
            (c"2001:db8::1", true),
            (c"fe80::1%lo", true),
            (c"ffff.example", false),
            (c"dead", false),
            (c"", false),
        ] {
            assert_eq!(is_number(host), is, "{host:?}");
        }
    }
}
