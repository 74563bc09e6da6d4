//! Sysctls below `net.`, per namespace.
//!
//! `/proc/sys/net` shows the namespace of the thread that opens a file there. So a thread that has
//! entered the namespace reads and writes. CAP_NET_ADMIN over the namespace permits writing, with
//! or without root.

use crate::Namespace;
use crate::error::{Result, Trying};
use link::units::ByteCount;
use std::path::PathBuf;

/// Reads `key` ("net.ipv4.ip_forward") in `namespace` and returns its value without the newline.
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

/// Returns the path of `key`: dots separate, as in sysctl(8), and a slash stands for a dot within
/// an interface name.
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

/// Returns whether IPv6 is enabled in `namespace`.
#[must_use]
pub fn has_ipv6(namespace: &Namespace) -> bool {
    read(namespace, "net.ipv6.conf.all.disable_ipv6").is_ok_and(|value| value == "0")
}

/// Prepares a namespace for experiments.
///
/// It ignores router advertisements and skips duplicate address detection. No connection inherits
/// path metrics from a previous one, so that all start alike. Everyone may `ping`.
pub fn calm(namespace: &Namespace) -> Result<()> {
    write(namespace, "net.ipv4.tcp_no_metrics_save", "1")?;
    if has_ipv6(namespace) {
        for family in ["all", "default"] {
            write(namespace, &format!("net.ipv6.conf.{family}.accept_ra"), "0")?;
            write(namespace, &format!("net.ipv6.conf.{family}.accept_dad"), "0")?;
        }
    }
    // In a user namespace that maps only one group, the range can name only this group.
    let group = rustix::process::getegid().as_raw();
    write(namespace, "net.ipv4.ping_group_range", "0 2147483647")
        .or_else(|_| write(namespace, "net.ipv4.ping_group_range", &format!("{group} {group}")))
}

/// Enlarges socket buffers for paths with this bandwidth-delay product.
///
/// The largest receive and send buffers become four times as large as the product, and never
/// smaller than they were. Half of a receive buffer is the kernel's own overhead, and a window must
/// also hold what is in flight during a recovery round.
pub fn socket_buffers(namespace: &Namespace, bandwidth_delay_product: ByteCount) -> Result<()> {
    // The kernel stores them in an `int`.
    let wanted = bandwidth_delay_product.get().saturating_mul(4).min(i32::MAX as u64);
    for key in ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"] {
        let former = read(namespace, key)?;
        if let Some(value) = with_larger_maximum(&former, wanted) {
            write(namespace, key, &value)?;
        }
    }
    Ok(())
}

/// Returns `min default max` with max raised to `wanted`; `None` if max is at least that already.
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
