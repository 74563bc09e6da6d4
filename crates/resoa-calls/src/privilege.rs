//! Ports that take a privilege on this host: nobody but the program itself knows whether it has it
//! (3.2 of the specification).

use std::fs::read_to_string;

/// Where this host says which port is the first that takes none (ip(7)).
const FIRST: &str = "/proc/sys/net/ipv4/ip_unprivileged_port_start";
/// The same where nobody has said anything, and the last one that is looked at: higher ones are
/// bound all the time.
const USUAL: u16 = 1024;
/// Whether `bind` to this port takes CAP_NET_BIND_SERVICE.
#[must_use]
pub fn is_privileged(port: u16) -> bool {
    let first = || read_to_string(FIRST).ok()?.trim().parse().ok();
    port != 0 && port < USUAL && port < first().unwrap_or(USUAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C31: a port that the kernel chooses takes none, and neither do those of ordinary programs.
    #[test]
    fn ports_of_everybody() {
        assert!(!is_privileged(0) && !is_privileged(USUAL) && !is_privileged(u16::MAX));
    }
}
