//! The kernel's lists of congestion controls: the registered ones, those that every user may
//! choose, and a namespace's default.

use super::AlgorithmError;
use netlab::{Namespace, sysctl};

const AVAILABLE: &str = "net.ipv4.tcp_available_congestion_control";
const ALLOWED: &str = "net.ipv4.tcp_allowed_congestion_control";
const DEFAULT: &str = "net.ipv4.tcp_congestion_control";

/// Returns all registered congestion controls, the kernel's own and ours. Modules that are not
/// loaded are missing.
///
/// # Errors
/// If `/proc/sys` cannot be read.
pub fn available() -> Result<Vec<String>, AlgorithmError> {
    words(AVAILABLE)
}

/// Returns the congestion controls that every user may choose, without root.
///
/// # Errors
/// If `/proc/sys` cannot be read.
pub fn allowed() -> Result<Vec<String>, AlgorithmError> {
    words(ALLOWED)
}

/// Returns the default of connections in this thread's namespace.
///
/// # Errors
/// If `/proc/sys` cannot be read.
pub fn default_here() -> Result<String, AlgorithmError> {
    Ok(words(DEFAULT)?.concat())
}

/// Returns the default of connections in another namespace, which needs the rights to enter it.
///
/// # Errors
/// If the namespace cannot be entered or its setting cannot be read.
pub fn default_of(namespace: &Namespace) -> Result<String, AlgorithmError> {
    Ok(sysctl::read(namespace, DEFAULT)?)
}

/// Makes a congestion control the default of a namespace. Ours can be the default of any namespace.
/// Of the kernel's own, only those in `tcp_allowed_congestion_control` can (include/net/tcp.h:
/// `TCP_CONG_NON_RESTRICTED`).
///
/// # Errors
/// If it is not registered, or this user may not set it.
pub fn set_default(namespace: &Namespace, name: &str) -> Result<(), AlgorithmError> {
    Ok(sysctl::write(namespace, DEFAULT, name)?)
}

fn words(key: &str) -> Result<Vec<String>, AlgorithmError> {
    // `/proc/sys` shows this thread's namespace without entering it, so every user may read it.
    let path = format!("/proc/sys/{}", key.replace('.', "/"));
    let text = std::fs::read_to_string(&path).map_err(|error| AlgorithmError::Read { path, error })?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}
