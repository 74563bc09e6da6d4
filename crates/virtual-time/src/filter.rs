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

    /// Each call that is named is refused, whatever else is wrong with it.
    #[test]
    fn every_call_that_is_named_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = std::ffi::CString::new(folder.path().join("file").as_os_str().as_encoded_bytes());
        let path = path.expect("no zero");
        File::create(folder.path().join("file")).expect("room");
        let errno = |call: i64, arguments: [i64; 4]| {
            let [a, b, c, d] = arguments;
            // SAFETY: each call is refused, or fails for its other arguments, or changes the mode
            // of a file of this test; pointers are null or lead to a text that outlives the call.
            let result = unsafe { libc::syscall(call, a, b, c, d) };
            (result < 0).then(|| io::Error::last_os_error().raw_os_error().unwrap_or_default())
        };
        let confined = move || {
            enter().expect("the kernel has filters");
            let keys = [libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key];
            let others = [libc::SYS_socket, libc::SYS_connect, libc::SYS_io_uring_setup, libc::SYS_openat2];
            for call in keys.into_iter().chain(others) {
                assert_eq!(errno(call, [-1, 0, 0, 0]), Some(libc::EPERM), "{call}");
            }
            let name = path.as_ptr() as i64;
            let at = i64::from(libc::AT_FDCWD);
            for mode in [0o4700, 0o2700, 0o6700] {
                let flags = i64::from(libc::O_CREAT | libc::O_WRONLY);
                let mut calls = vec![
                    (libc::SYS_fchmod, [-1, mode, 0, 0]),
                    (libc::SYS_fchmodat, [at, name, mode, 0]),
                    (FCHMODAT2, [at, name, mode, 0]),
                    (libc::SYS_openat, [at, name, flags, mode]),
                ];
                #[cfg(target_arch = "x86_64")]
                calls.extend([
                    (libc::SYS_chmod, [name, mode, 0, 0]),
                    (libc::SYS_creat, [name, mode, 0, 0]),
                    (libc::SYS_open, [name, flags, mode, 0]),
                ]);
                for (call, arguments) in calls {
                    assert_eq!(errno(call, arguments), Some(libc::EPERM), "{call} {mode:o}");
                }
            }
            // Without O_CREAT the mode means nothing, and the sticky bit gives no rights.
            assert_eq!(errno(libc::SYS_openat, [at, name, i64::from(libc::O_RDONLY), 0o4700]), None);
            assert_eq!(errno(libc::SYS_fchmodat, [at, name, 0o1700, 0]), None);
            let pair = |kind: i32| errno(libc::SYS_socketpair, [1, i64::from(kind), 0, 0]);
            assert_eq!(pair(libc::SOCK_DGRAM | libc::SOCK_CLOEXEC), Some(libc::EPERM));
            assert_eq!(pair(libc::SOCK_SEQPACKET), Some(libc::EFAULT), "the kernel's own");
        };
        std::thread::spawn(confined).join().expect("what is left works");
    }
}
