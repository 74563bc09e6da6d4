//! System calls that a confined process may make: those of its loop, sockets, threads and memory,
//! and of the C library's resolver. All others fail with EPERM.
//!
//! Where a permitted call could do more than the process needs, the filter restricts its arguments.
//! It can only check numbers, because it sees no memory.
//!
//! | call | permitted | refused, for example |
//! |---|---|---|
//! | `socket` | TCP, UDP and UDP-Lite; the kernel's routes (netlink), which the resolver asks for; UNIX sockets for the agent | connect to the host's daemons, load rare protocols |
//! | `ioctl` | [`REQUESTS`] | type into a terminal (TIOCSTI, TIOCLINUX), have signals sent (FIOSETOWN) |
//! | `fcntl` | copies and flags of descriptors | have signals sent to any process of the user (F_SETOWN) |
//! | `tgkill` | this process | kill any process of the user |
//! | `open`, `openat` | reading | write files, where there is no Landlock |
//! | `setsockopt` | options of sockets and of the protocols above, except those that load a program or a protocol | load programs (SO_ATTACH_FILTER), firewall rules (IPT_SO_SET_REPLACE), TLS into the kernel |
//! | `clone` | threads | processes, namespaces |
//! | `prctl` | names of threads and of memory | |
//!
//! clone3 has its flags behind a pointer, so it fails as if the kernel did not have it (ENOSYS).
//! The C library then uses clone. The filter does not check where a socket connects or which port
//! it binds: an attacker who takes over the process reaches everything that its clients reach,
//! including destinations that the policy refuses them.

use super::Needs;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use std::collections::BTreeMap;
use std::io;

/// Allowed with any arguments.
const PLAIN: &[i64] = &[
    // The loop.
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2,
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
    libc::SYS_dup,
    libc::SYS_getrandom,
    // Files, as far as they are shown and Landlock permits.
    libc::SYS_newfstatat,
    libc::SYS_fstat,
    libc::SYS_statx,
    libc::SYS_readlinkat,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
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
    // Threads, and ending.
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // User and system information.
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_uname,
    libc::SYS_sysinfo,
];

/// Calls that newer architectures no longer have.
#[cfg(target_arch = "x86_64")]
const OLD: &[i64] = &[
    libc::SYS_epoll_wait,
    libc::SYS_poll,
    libc::SYS_stat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[i64] = &[];

/// Calls that open a file, and the index of the argument with the flags.
const OPENING: &[(i64, u8)] = &[
    (libc::SYS_openat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
];

/// Calls that remove a file.
const REMOVING: &[i64] = &[
    libc::SYS_unlinkat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
];

/// Socket types, each with its permitted protocols.
const SOCKETS: &[(i32, &[i32])] = &[
    (libc::SOCK_STREAM, &[0, libc::IPPROTO_TCP]),
    (libc::SOCK_DGRAM, &[0, libc::IPPROTO_UDP, libc::IPPROTO_UDPLITE]),
];
/// Mask of a socket's type without its flags.
const TYPE: u64 = 0xf;

/// Permitted requests of `ioctl`: bytes waiting in a socket, non-blocking mode, whether a file
/// descriptor is a terminal (for coloured output), and numbers and names of interfaces (for
/// addresses with a scope).
const REQUESTS: &[libc::Ioctl] = &[
    libc::FIONREAD,
    libc::TIOCOUTQ,
    libc::FIONBIO,
    libc::TCGETS,
    // Of another type than the others with musl.
    libc::SIOCGIFINDEX as libc::Ioctl,
    libc::SIOCGIFNAME as libc::Ioctl,
];

/// Permitted commands of `fcntl`.
const COMMANDS: &[i32] =
    &[libc::F_DUPFD, libc::F_DUPFD_CLOEXEC, libc::F_GETFD, libc::F_SETFD, libc::F_GETFL, libc::F_SETFL];

/// Forbidden options, by level. Those of SOL_SOCKET attach a program or lock one. Those of the
/// protocols add a protocol above (TCP_ULP) or a tunnel (UDP_ENCAP). Of IP and IPv6, options from
/// 64 on configure the firewall and multicast routes (`linux/netfilter_ipv4/ip_tables.h`,
/// `linux/mroute.h`).
const OPTIONS_BUT: &[(i32, &[i32])] = &[
    (
        libc::SOL_SOCKET,
        &[
            libc::SO_ATTACH_FILTER,
            libc::SO_LOCK_FILTER,
            libc::SO_ATTACH_BPF,
            libc::SO_ATTACH_REUSEPORT_CBPF,
            libc::SO_ATTACH_REUSEPORT_EBPF,
        ],
    ),
    (libc::IPPROTO_TCP, &[libc::TCP_ULP]),
    (libc::IPPROTO_UDP, &[UDP_ENCAP]),
    (libc::IPPROTO_UDPLITE, &[UDP_ENCAP]),
];
/// Last option of IP that does not belong to the firewall.
const LAST_OF_IP: i32 = 63;
/// Last permitted option of IPv6. IPv6 has options of its own above those of the firewall, 64 and
/// 65 (`linux/in6.h`).
const LAST_OF_IPV6: i32 = 127;
const FIREWALL_OF_IPV6: &[i32] = &[64, 65];
/// From `linux/udp.h`.
const UDP_ENCAP: i32 = 100;

/// Flags of clone(2) that make namespaces.
const NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// Commands of bpf(2) that read and write existing maps (`linux/bpf.h`): look up, update, delete,
/// iterate, and take elements; each singly or in batches.
const MAP_COMMANDS: &[i32] = &[1, 2, 3, 4, 21, 24, 25, 26, 27];

/// The C library names its memory with this prctl (`linux/prctl.h`; not in the libc crate for every
/// target).
const PR_SET_VMA: i32 = 0x5356_4d41;

/// Restricts this thread, and threads that it starts, to these calls. Returns the number of
/// permitted calls.
pub(super) fn restrict(needs: &Needs) -> io::Result<usize> {
    let rules = rules(needs).map_err(io::Error::other)?;
    // clone3 is in the list, but the other filter makes it fail.
    let count = rules.len() - 1;
    // The kernel evaluates both filters, and the stricter result applies. Once the second one is in
    // force, the first could not be installed, so the order matters.
    for program in [absent(), program(rules)] {
        seccompiler::apply_filter(&program.map_err(io::Error::other)?).map_err(io::Error::other)?;
    }
    Ok(count)
}

/// Filter for calls that this kernel shall seem to lack (ENOSYS). Callers then use an older call,
/// whose arguments the filter can see.
fn absent() -> Result<BpfProgram, BackendError> {
    let absent = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    let rules = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    SeccompFilter::new(rules, SeccompAction::Allow, absent, std::env::consts::ARCH.try_into()?)?.try_into()
}

fn program(rules: BTreeMap<i64, Vec<SeccompRule>>) -> Result<BpfProgram, BackendError> {
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    SeccompFilter::new(rules, refused, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?.try_into()
}

/// Rules by call. No rule permits any arguments; of several rules, one must match.
fn rules(needs: &Needs) -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        PLAIN.iter().chain(OLD).map(|&call| (call, Vec::new())).collect();
    rules.insert(libc::SYS_socket, sockets(needs)?);
    if !needs.sockets.is_empty() {
        rules.insert(libc::SYS_socketpair, vec![all([is(0, libc::AF_UNIX)])?]);
        // The agent passes a datagram's control messages to the program in a memfd.
        rules.insert(libc::SYS_memfd_create, Vec::new());
    }
    rules.insert(libc::SYS_setsockopt, options()?);
    rules.insert(libc::SYS_ioctl, one_of(1, REQUESTS.iter().map(|&request| request as u32))?);
    rules.insert(libc::SYS_fcntl, one_of(1, COMMANDS.iter().map(|&command| command.cast_unsigned()))?);
    let own = std::process::id().cast_signed();
    rules.insert(libc::SYS_tgkill, vec![all([is(0, own)])?]);
    let writing = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC;
    for &(call, flags) in OPENING {
        rules.insert(call, vec![all([masked(flags, writing, libc::O_RDONLY)])?]);
    }
    if !needs.removable_from.is_empty() {
        rules.extend(REMOVING.iter().map(|&call| (call, Vec::new())));
    }
    let names = [libc::PR_SET_NAME, PR_SET_VMA];
    rules.insert(libc::SYS_prctl, one_of(0, names.map(i32::cast_unsigned))?);
    let thread = masked(0, NAMESPACES | libc::CLONE_THREAD, libc::CLONE_THREAD);
    rules.insert(libc::SYS_clone, vec![all([thread])?]);
    // The filter of `absent` decides about it.
    rules.insert(libc::SYS_clone3, Vec::new());
    if needs.fin_hold {
        rules.insert(libc::SYS_bpf, one_of(0, MAP_COMMANDS.iter().map(|&command| command.cast_unsigned()))?);
    }
    Ok(rules)
}

fn sockets(needs: &Needs) -> Result<Vec<SeccompRule>, BackendError> {
    let mut rules = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        for &(kind, protocols) in SOCKETS {
            for &protocol in protocols {
                rules.push(all([is(0, family), masked(1, TYPE as i32, kind), is(2, protocol)])?);
            }
        }
    }
    // The resolver asks for this host's addresses in order to sort its results. It uses a socket of
    // type raw for that.
    rules.push(all([is(0, libc::AF_NETLINK), is(2, libc::NETLINK_ROUTE)])?);
    if !needs.sockets.is_empty() {
        rules.push(all([is(0, libc::AF_UNIX)])?);
    }
    Ok(rules)
}

fn options() -> Result<Vec<SeccompRule>, BackendError> {
    let mut rules = Vec::new();
    for &(level, names) in OPTIONS_BUT {
        let names = names.iter().map(|&name| compared(2, SeccompCmpOp::Ne, name));
        rules.push(all([is(1, level)].into_iter().chain(names))?);
    }
    let up_to = |last| compared(2, SeccompCmpOp::Le, last);
    rules.push(all([is(1, libc::IPPROTO_IP), up_to(LAST_OF_IP)])?);
    let others = FIREWALL_OF_IPV6.iter().map(|&name| compared(2, SeccompCmpOp::Ne, name));
    rules.push(all([is(1, libc::IPPROTO_IPV6), up_to(LAST_OF_IPV6)].into_iter().chain(others))?);
    Ok(rules)
}

type Condition = Result<SeccompCondition, BackendError>;

/// Rule that matches if all conditions hold.
fn all(conditions: impl IntoIterator<Item = Condition>) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.into_iter().collect::<Result<_, _>>()?)
}

/// Rules that match if the argument is one of these values.
fn one_of(argument: u8, values: impl IntoIterator<Item = u32>) -> Result<Vec<SeccompRule>, BackendError> {
    values.into_iter().map(|value| all([is(argument, value.cast_signed())])).collect()
}

fn is(argument: u8, value: i32) -> Condition {
    compared(argument, SeccompCmpOp::Eq, value)
}

fn masked(argument: u8, mask: i32, value: i32) -> Condition {
    compared(argument, SeccompCmpOp::MaskedEq(mask.cast_unsigned().into()), value)
}

/// Compares the lower half of the argument, because the kernel takes all of these as int.
fn compared(argument: u8, how: SeccompCmpOp, value: i32) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, how, value.cast_unsigned().into())
}
