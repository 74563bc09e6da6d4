//! Addresses of this host. The kernel decides whether a socket can bind to an address. This covers
//! whole local networks (127.0.0.0/8, a route of type local) and stays correct when addresses are
//! added and removed.

use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Time for which an answer is valid.
const FRESH: Duration = Duration::from_secs(1);
/// Maximum answers kept.
const KEPT: usize = 4096;

/// Recent answers of the kernel; see the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Locals {
    answers: HashMap<IpAddr, (Duration, bool)>,
}

impl Locals {
    /// Whether an address is one of this host's. Returns true if that cannot be determined, so that
    /// no unknown address is reached.
    pub(crate) fn has(&mut self, address: IpAddr, now: Duration) -> bool {
        if let Some(&(when, answer)) = self.answers.get(&address)
            && now < when + FRESH
        {
            return answer;
        }
        if self.answers.len() >= KEPT {
            self.answers.clear();
        }
        let answer = is_local(address);
        self.answers.insert(address, (now, answer));
        answer
    }
}

fn is_local(address: IpAddr) -> bool {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let Ok(socket) = net::socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None) else {
        return true;
    };
    net::bind(&socket, &SocketAddr::new(address, 0)) != Err(rustix::io::Errno::ADDRNOTAVAIL)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole loopback network is local, addresses for documentation are not. An old answer is
    /// asked for again.
    #[test]
    fn the_loopback_is_local() {
        let mut locals = Locals::default();
        for (address, expected) in [
            ("127.0.0.1", true),
            ("127.3.2.1", true),
            ("::1", true),
            ("198.51.100.77", false),
            ("2001:db8::77", false),
        ] {
            assert_eq!(
                locals.has(address.parse().expect("an address"), Duration::ZERO),
                expected,
                "{address}"
            );
        }
        let elsewhere: IpAddr = [198, 51, 100, 77].into();
        locals.answers.insert(elsewhere, (Duration::ZERO, true));
        assert!(locals.has(elsewhere, FRESH / 2));
        assert!(!locals.has(elsewhere, FRESH));
    }
}
