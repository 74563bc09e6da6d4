//! What the kernel says of congestion controls: those registered, those for everyone, and a
//! namespace's default.

use super::AlgorithmError;
use netlab::{Namespace, sysctl};

const AVAILABLE: &str = "net.ipv4.tcp_available_congestion_control";
const ALLOWED: &str = "net.ipv4.tcp_allowed_congestion_control";
const DEFAULT: &str = "net.ipv4.tcp_congestion_control";

/// All that are registered, the kernel's own and ours. Modules that are not loaded are not among
/// them.
///
/// # Errors
/// If `/proc/sys` cannot be read.
pub fn available() -> Result<Vec<String>, AlgorithmError> {
    words(AVAILABLE)
}

/// Those that every user may choose, without root.
///
/// # Errors
/// If `/proc/sys` cannot be read.
pub fn allowed() -> Result<Vec<String>, AlgorithmError> {
    words(ALLOWED)
}

/// The one that connections of this thread's namespace have if they choose none.
///
/// # Errors
/// If `/proc/sys` cannot be read.
pub fn default_here() -> Result<String, AlgorithmError> {
    Ok(words(DEFAULT)?.concat())
}

/// The same of another namespace, which needs the rights to enter it.
///
/// # Errors
/// If it cannot be entered.
pub fn default_of(namespace: &Namespace) -> Result<String, AlgorithmError> {
    Ok(sysctl::read(namespace, DEFAULT)?)
}

/// Makes one the default of a namespace. All of ours can be that in every namespace; of the
/// kernel's own only those in `tcp_allowed_congestion_control` (include/net/tcp.h:
/// `TCP_CONG_NON_RESTRICTED`).
///
/// # Errors
/// If it is not registered, or this user may not.
pub fn set_default(namespace: &Namespace, name: &str) -> Result<(), AlgorithmError> {
    Ok(sysctl::write(namespace, DEFAULT, name)?)
}

fn words(key: &str) -> Result<Vec<String>, AlgorithmError> {
    // Of this thread's namespace, without entering it: every user may.
    let path = format!("/proc/sys/{}", key.replace('.', "/"));
    let text = std::fs::read_to_string(&path).map_err(|error| AlgorithmError::Read { path, error })?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}
