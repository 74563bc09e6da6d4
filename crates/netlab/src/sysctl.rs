//! Sysctls of a network namespace.
//!
//! `/proc/sys/net` shows the namespace of the thread that opens it, so everything here is done inside
//! [`Namespace::enter`].

use crate::errors::{Attempt, NetlabError};
use crate::namespace::Namespace;
use std::fs;

fn path(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

/// The value of `name`, as in `net.ipv4.ip_forward`. Interface names with a dot do not occur here.
pub fn get(namespace: &Namespace, name: &str) -> Result<String, NetlabError> {
    let path = path(name);
    namespace.enter(|| Ok(fs::read_to_string(&path).attempt(format!("read {name}"))?.trim().to_owned()))
}

/// Sets `name` to `value`.
pub fn set(namespace: &Namespace, name: &str, value: &str) -> Result<(), NetlabError> {
    let path = path(name);
    namespace.enter(|| fs::write(&path, value).attempt(format!("set {name} = {value}")))
}

/// Sets several; stops at the first that fails.
pub fn set_all(namespace: &Namespace, values: &[(&str, &str)]) -> Result<(), NetlabError> {
    namespace.enter(|| {
        for (name, value) in values {
            fs::write(path(name), value).attempt(format!("set {name} = {value}"))?;
        }
        Ok(())
    })
}

/// Congestion controls that a route in `namespace` can name.
pub fn congestion_controls(namespace: &Namespace) -> Result<Vec<String>, NetlabError> {
    let list = get(namespace, "net.ipv4.tcp_available_congestion_control")?;
    Ok(list.split_whitespace().map(str::to_owned).collect())
}

/// Largest socket buffers that a path with this many bytes in flight can use, as values of `tcp_rmem` and `tcp_wmem`.
///
/// Linux counts the memory of packets, not their payload, and gives the window half of it at first: four times the
/// bandwidth-delay product lets the window reach it with small segments too. Never less than Linux's own limits (6 MB to
/// receive, 4 MB to send).
#[must_use]
pub fn socket_buffers(bandwidth_delay_product: u64) -> (String, String) {
    let largest = bandwidth_delay_product.saturating_mul(4).min(1 << 30);
    let receive = format!("4096 131072 {}", largest.max(6 << 20));
    let send = format!("4096 16384 {}", largest.max(4 << 20));
    (receive, send)
}
