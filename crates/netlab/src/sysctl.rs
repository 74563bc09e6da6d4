//! Sysctls below `net.`, per namespace.
//!
//! `/proc/sys/net` shows the namespace of the thread that opens a file there, so reading and
//! writing happens on a thread that has entered it. Who holds CAP_NET_ADMIN over the namespace may
//! write, root or not.

use crate::Namespace;
use crate::error::{Result, Trying};
use link::units::ByteCount;
use std::path::PathBuf;

/// Reads `key` ("net.ipv4.ip_forward") in `namespace`, without the newline.
pub fn read(namespace: &Namespace, key: &str) -> Result<String> {
    let path = path(key);
    namespace.enter(|| {
        Ok(std::fs::read_to_string(&path).trying(|| format!("read {}", path.display()))?.trim().into())
    })
}

/// Writes `key` in `namespace`.
pub fn write(namespace: &Namespace, key: &str, value: &str) -> Result<()> {
    let path = path(key);
    namespace
        .enter(|| std::fs::write(&path, value).trying(|| format!("write {value:?} to {}", path.display())))
}

/// Dots separate, as in sysctl(8); a dot within an interface name is written as a slash.
fn path(key: &str) -> PathBuf {
    let swapped: String = key
        .chars()
        .map(|c| match c {
            '.' => '/',
            '/' => '.',
            other => other,
        })
        .collect();
    PathBuf::from("/proc/sys").join(swapped)
}

/// Whether `namespace` has IPv6 at all.
#[must_use]
pub fn has_ipv6(namespace: &Namespace) -> bool {
    read(namespace, "net.ipv6.conf.all.disable_ipv6").is_ok_and(|value| value == "0")
}

/// What a namespace of an experiment should be: no router advertisement listened to, no duplicate
/// address detection, no path metrics carried over from one connection to the next (each starts
/// alike), `ping` for everyone.
pub fn calm(namespace: &Namespace) -> Result<()> {
    write(namespace, "net.ipv4.tcp_no_metrics_save", "1")?;
    if has_ipv6(namespace) {
        for family in ["all", "default"] {
            write(namespace, &format!("net.ipv6.conf.{family}.accept_ra"), "0")?;
            write(namespace, &format!("net.ipv6.conf.{family}.accept_dad"), "0")?;
        }
    }
    // In a user namespace that maps one group only that one can be named.
    let group = rustix::process::getegid().as_raw();
    write(namespace, "net.ipv4.ping_group_range", "0 2147483647")
        .or_else(|_| write(namespace, "net.ipv4.ping_group_range", &format!("{group} {group}")))
}

/// Socket buffers for paths with this bandwidth-delay product: the largest receive and send buffer
/// become four times as large (half of a receive buffer is the kernel's own overhead, and a window
/// must hold what is in flight during a recovery round besides), and never less than they were.
pub fn socket_buffers(namespace: &Namespace, bandwidth_delay_product: ByteCount) -> Result<()> {
    // The kernel keeps them in an `int`.
    let wanted = bandwidth_delay_product.get().saturating_mul(4).min(i32::MAX as u64);
    for key in ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"] {
        let former = read(namespace, key)?;
        if let Some(value) = with_larger_maximum(&former, wanted) {
            write(namespace, key, &value)?;
        }
    }
    Ok(())
}

/// `min default max` with at least `wanted` as max; `None` if it is already.
fn with_larger_maximum(triple: &str, wanted: u64) -> Option<String> {
    let mut values = triple.split_whitespace();
    let (least, initial) = (values.next()?, values.next()?);
    let most: u64 = values.next()?.parse().ok()?;
    (wanted > most).then(|| format!("{least} {initial} {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dot_in_an_interface_name_is_a_slash() {
        assert_eq!(
            path("net.ipv4.conf.eth0/7.forwarding"),
            PathBuf::from("/proc/sys/net/ipv4/conf/eth0.7/forwarding")
        );
    }

    #[test]
    fn buffers_never_shrink() {
        assert_eq!(
            with_larger_maximum("4096\t131072\t6291456", 30_000_000).as_deref(),
            Some("4096 131072 30000000")
        );
        assert_eq!(with_larger_maximum("4096\t131072\t6291456", 6_291_456), None);
    }
}
