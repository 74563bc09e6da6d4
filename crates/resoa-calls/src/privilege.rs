//! Privileged ports of this host. Only the program's own process knows whether it has the privilege
//! (3.2 of the specification).

use std::fs::read_to_string;

/// The file with this host's first unprivileged port (ip(7)).
const FIRST: &str = "/proc/sys/net/ipv4/ip_unprivileged_port_start";
/// The default of that setting, and the limit up to which it is read: higher ports are bound all
/// the time.
const USUAL: u16 = 1024;
/// Returns whether `bind` to this port requires CAP_NET_BIND_SERVICE.
#[must_use]
pub fn is_privileged(port: u16) -> bool {
    let first = || read_to_string(FIRST).ok()?.trim().parse().ok();
    port != 0 && port < USUAL && port < first().unwrap_or(USUAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C31: ports that the kernel chooses, and those of ordinary programs, need no privilege.
    #[test]
    fn ports_of_everybody() {
        assert!(!is_privileged(0) && !is_privileged(USUAL) && !is_privileged(u16::MAX));
    }
}
