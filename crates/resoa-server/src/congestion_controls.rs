//! Congestion controls that a program may choose without privileges, according to this kernel.

use resoa_protocol::Errno;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

/// Maximum length of a list in bytes: 128 names of 16 (`TCP_CA_BUF_MAX`).
const LONGEST: usize = 2048;

const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// The kernel's lists, kept open because a confined server cannot open files.
static KEPT: OnceLock<[Option<File>; 2]> = OnceLock::new();

/// Opens the lists of congestion controls that the kernel keeps in `/proc`.
///
/// [`KernelTcp::new`](crate::KernelTcp::new) calls it. A process that is confined before it starts
/// a server calls it first, since no file can be opened later. The lists are read anew for each
/// check.
pub fn keep_kernel_lists() {
    KEPT.get_or_init(|| [ALLOWED, AVAILABLE].map(|path| File::open(path).ok()));
}

/// Checks whether a program may choose this congestion control. The name ends at a zero byte or at
/// the end of the value.
///
/// # Errors
/// EPERM if choosing it needs a privilege, ENOENT if there is none of that name.
pub(crate) fn may_be_chosen(value: &[u8]) -> Result<(), Errno> {
    let name = value.split(|octet| *octet == 0).next().unwrap_or_default();
    let [allowed, available] = KEPT.get().map_or([None, None], |kept| kept.each_ref().map(Option::as_ref));
    if has(ALLOWED, allowed, name) {
        Ok(())
    } else if has(AVAILABLE, available, name) {
        Err(Errno::EPERM)
    } else {
        Err(Errno::ENOENT)
    }
}

/// Returns whether a list contains the name. The file that was kept open is read only if the list
/// cannot be opened, because the kept one disappears with the network namespace that it was opened
/// in.
fn has(path: &str, kept: Option<&File>, name: &[u8]) -> bool {
    let mut text = [0; LONGEST];
    let length = match File::open(path) {
        Ok(list) => list.read_at(&mut text, 0).ok(),
        Err(_) => kept.and_then(|list| list.read_at(&mut text, 0).ok()),
    };
    text[..length.unwrap_or_default()]
        .split(u8::is_ascii_whitespace)
        .any(|listed| !listed.is_empty() && listed == name)
}
