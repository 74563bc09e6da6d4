//! The system calls that a server makes: those of its loop and its sockets, of its threads, of memory, and of the C library's resolver. All others fail with EPERM.
//!
//! What opens something says what: sockets are of the Internet's families, the resolver's netlink and its daemon's Unix sockets; prctl names threads and nothing
//! else. What is cloned is a thread, and in no namespace of its own: clone3, whose flags are behind a pointer where no filter sees them, is one that the kernel
//! does not have (ENOSYS), upon which the C library takes clone. Files are Landlock's affair.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use std::collections::BTreeMap;
use std::io;

/// Whatever their arguments.
const PLAIN: &[i64] = &[
    // The loop.
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime,
    libc::SYS_ppoll,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_restart_syscall,
    // Sockets and descriptors.
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_shutdown,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_sendto,
    libc::SYS_recvfrom,
    libc::SYS_sendmsg,
    libc::SYS_recvmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvmmsg,
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_fcntl,
    libc::SYS_ioctl,
    libc::SYS_dup,
    libc::SYS_getrandom,
    // Files, as far as Landlock lets.
    libc::SYS_openat,
    libc::SYS_unlinkat,
    libc::SYS_newfstatat,
    libc::SYS_fstat,
    libc::SYS_statx,
    libc::SYS_readlinkat,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_getdents64,
    libc::SYS_lseek,
    libc::SYS_pread64,
    libc::SYS_getcwd,
    // Memory.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    // Threads and the end.
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_tgkill,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // Who it is.
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_uname,
    libc::SYS_sysinfo,
];

/// Those that newer architectures have not any more.
#[cfg(target_arch = "x86_64")]
const OLD: &[i64] = &[
    libc::SYS_epoll_wait,
    libc::SYS_poll,
    libc::SYS_open,
    libc::SYS_unlink,
    libc::SYS_stat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[i64] = &[];

/// Families of sockets.
const FAMILIES: &[i32] = &[libc::AF_INET, libc::AF_INET6, libc::AF_UNIX];
/// Types of sockets: no raw ones.
const TYPES: &[i32] = &[libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_SEQPACKET];
/// Flags of clone(2) that make namespaces.
const NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;
/// The type without its flags.
const TYPE_MASK: u64 = 0xf;

/// How many there are.
pub(super) fn count() -> usize {
    PLAIN.len() + OLD.len() + 4
}

/// From now on this thread, and those that it makes, has no others. `fin_hold` is to go on by bpf(2).
pub(super) fn restrict(fin_hold: bool) -> io::Result<()> {
    // Both are asked, and the stricter one holds; with the second in force there would be no first.
    for program in [absent(), program(fin_hold)] {
        seccompiler::apply_filter(&program.map_err(io::Error::other)?).map_err(io::Error::other)?;
    }
    Ok(())
}

/// Calls that this kernel seems not to have: whoever makes them has another way, in which a filter sees more.
fn absent() -> Result<BpfProgram, seccompiler::BackendError> {
    let absent = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    let rules = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    SeccompFilter::new(rules, SeccompAction::Allow, absent, std::env::consts::ARCH.try_into()?)?.try_into()
}

fn program(fin_hold: bool) -> Result<BpfProgram, seccompiler::BackendError> {
    let is = |argument, value: i32| {
        SeccompCondition::new(
            argument,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::Eq,
            u64::from(value.cast_unsigned()),
        )
    };
    let is_type = |value: i32| {
        let op = SeccompCmpOp::MaskedEq(TYPE_MASK);
        SeccompCondition::new(1, SeccompCmpArgLen::Dword, op, u64::from(value.cast_unsigned()))
    };
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        PLAIN.iter().chain(OLD).map(|&call| (call, Vec::new())).collect();
    let mut sockets = Vec::new();
    for &family in FAMILIES {
        for &kind in TYPES {
            sockets.push(SeccompRule::new(vec![is(0, family)?, is_type(kind)?])?);
        }
    }
    // The resolver asks for this host's addresses, to sort those that it has found. Its socket is called raw.
    sockets.push(SeccompRule::new(vec![is(0, libc::AF_NETLINK)?, is(2, libc::NETLINK_ROUTE)?])?);
    rules.insert(libc::SYS_socket, sockets);
    rules.insert(libc::SYS_socketpair, vec![SeccompRule::new(vec![is(0, libc::AF_UNIX)?])?]);
    rules.insert(
        libc::SYS_prctl,
        vec![SeccompRule::new(vec![is(0, libc::PR_SET_NAME)?])?, SeccompRule::new(vec![is(0, PR_SET_VMA)?])?],
    );
    let is_thread = SeccompCmpOp::MaskedEq((NAMESPACES | libc::CLONE_THREAD).cast_unsigned().into());
    let thread = libc::CLONE_THREAD.cast_unsigned().into();
    let thread = SeccompCondition::new(0, SeccompCmpArgLen::Dword, is_thread, thread)?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![thread])?]);
    // The other filter's.
    rules.insert(libc::SYS_clone3, Vec::new());
    if fin_hold {
        let maps = MAP_COMMANDS.iter().map(|&command| SeccompRule::new(vec![is(0, command)?]));
        rules.insert(libc::SYS_bpf, maps.collect::<Result<_, _>>()?);
    }
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let arch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, refused, SeccompAction::Allow, arch)?.try_into()
}

/// Commands of bpf(2) that read and write maps which are there (`linux/bpf.h`): elements looked up, updated, deleted, gone through, taken; each alone or in batches.
const MAP_COMMANDS: &[i32] = &[1, 2, 3, 4, 21, 24, 25, 26, 27];

/// The C library names its memory by it (`linux/prctl.h`; not in the libc crate for every target).
const PR_SET_VMA: i32 = 0x5356_4d41;
