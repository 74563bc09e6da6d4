//! System calls that the kernel's process may not use on the host.
//!
//! Root in the guest may take that process over. So its file system ([`root`](crate::root)) and its
//! namespaces are not the only barrier. The filter refuses:
//!
//! * Sockets. The kernel has no network card and needs none. A UNIX socket at a path reaches the
//!   host's daemons, even on a read-only file system. Socket pairs remain, because the kernel uses
//!   them to talk to its own processes; but datagram pairs are refused, because their messages can
//!   be sent elsewhere. io_uring is refused, because it could create sockets past the filter.
//! * Keys of the user (keyrings(7)), which belong to no namespace.
//! * Setting set-user-ID and set-group-ID bits on files in the shared directory, which may be
//!   root's.

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use std::collections::BTreeMap;
use std::io;

/// System calls that are refused whatever their arguments. openat2 has its flags behind a pointer.
const REFUSED: &[i64] = &[
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_io_uring_setup,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_openat2,
];

/// Calls that set a file's mode, and the index of the mode argument.
const MODES: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
];

/// Calls that may create a file, and the indices of their flags and mode arguments.
const MAKING: &[(i64, u8, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
    (libc::SYS_openat, 2, 3),
];

/// From `asm-generic/unistd.h`; the same for every architecture.
const FCHMODAT2: i64 = 452;

/// Mode bits of programs that run with the rights of their owner or group.
const WITH_RIGHTS: [u32; 2] = [libc::S_ISUID, libc::S_ISGID];

/// Makes these calls fail with EPERM in this process and in those that it starts from now on.
///
/// # Errors
/// The kernel's error if it does not support system call filters.
pub(crate) fn enter() -> io::Result<()> {
    let program = program().map_err(io::Error::other)?;
    seccompiler::apply_filter(&program).map_err(io::Error::other)
}

fn program() -> Result<BpfProgram, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|&call| (call, Vec::new())).collect();
    let datagrams = has(1, libc::SOCK_DGRAM.cast_unsigned(), TYPE)?;
    rules.insert(libc::SYS_socketpair, vec![SeccompRule::new(vec![datagrams])?]);
    for &(call, mode) in MODES {
        rules.insert(call, with_rights(mode, &[])?);
    }
    let creates = libc::O_CREAT.cast_unsigned();
    for &(call, flags, mode) in MAKING {
        rules.insert(call, with_rights(mode, &[has(flags, creates, creates)?])?);
    }
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let arch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?.try_into()
}

/// Mask for the type of a socket without flags.
const TYPE: u32 = 0xf;

/// Returns rules for calls whose argument `mode` has one of [`WITH_RIGHTS`] and which meet the
/// conditions `and`.
fn with_rights(mode: u8, and: &[SeccompCondition]) -> Result<Vec<SeccompRule>, BackendError> {
    let rule = |bit| SeccompRule::new([and, &[has(mode, bit, bit)?]].concat());
    WITH_RIGHTS.into_iter().map(rule).collect()
}

fn has(argument: u8, value: u32, mask: u32) -> Result<SeccompCondition, BackendError> {
    let how = SeccompCmpOp::MaskedEq(mask.into());
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, how, value.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File, OpenOptions, Permissions};
    use std::io::ErrorKind::PermissionDenied;
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

    /// On a thread of its own: it cannot connect to the host's daemon and cannot set owner's rights
    /// on a file. Socket pairs and files still work.
    #[test]
    fn what_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let (daemon, file) = (folder.path().join("daemon"), folder.path().join("file"));
        let _listener = UnixListener::bind(&daemon).expect("room");
        UnixStream::connect(&daemon).expect("it listens");
        let confined = move || {
            enter().expect("the kernel has filters");
            let kind = |error: io::Error| error.kind();
            assert_eq!(UnixStream::connect(&daemon).map_err(kind).err(), Some(PermissionDenied));
            assert_eq!(UnixDatagram::pair().map_err(kind).err(), Some(PermissionDenied));
            UnixStream::pair().expect("the kernel's own");
            File::create(&file).expect("room");
            for mode in [0o4755, 0o2755] {
                let changed = fs::set_permissions(&file, Permissions::from_mode(mode));
                assert_eq!(changed.map_err(kind).err(), Some(PermissionDenied), "{mode:o}");
                let new = OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(mode)
                    .open(file.with_extension("new"));
                assert_eq!(new.map_err(kind).err(), Some(PermissionDenied), "{mode:o}");
            }
            fs::set_permissions(&file, Permissions::from_mode(0o755)).expect("as ever");
            File::open(&file).expect("as ever");
        };
        std::thread::spawn(confined).join().expect("what is left works");
    }
}
