//! The system calls that a confined process makes: those of its loop and its sockets, of its
//! threads, of memory, and of the C library's resolver. All others fail with EPERM.
//!
//! What a call on the list could do beyond that is taken from it by its arguments, as far as they
//! are numbers: a filter sees no memory.
//!
//! | call | what is left of it | what it could do besides |
//! |---|---|---|
//! | `socket` | TCP, UDP and UDP-Lite; the kernel's routes (netlink), which the resolver asks for; UNIX sockets for the agent | connect to the host's daemons, load rare protocols |
//! | `ioctl` | [`REQUESTS`] | type into a terminal (TIOCSTI, TIOCLINUX), have signals sent (FIOSETOWN) |
//! | `fcntl` | copies and flags of descriptors | have signals sent to any process of the user (F_SETOWN) |
//! | `tgkill` | this process | kill any process of the user |
//! | `open`, `openat` | reading | write files, where there is no Landlock |
//! | `setsockopt` | options of sockets and of the protocols above, but those that bring a program or a protocol | load programs (SO_ATTACH_FILTER), firewall rules (IPT_SO_SET_REPLACE), TLS into the kernel |
//! | `clone` | threads | processes, namespaces |
//! | `prctl` | names of threads and of memory | |
//!
//! clone3, whose flags are behind a pointer, fails as if the kernel did not have it (ENOSYS): then
//! the C library takes clone. Where a socket may go, and to which port it may be bound, is not
//! filtered: whoever takes the process over reaches what its clients reach, and what they are
//! refused.

use super::Needs;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
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
    // Files, as far as they are shown and Landlock lets it.
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
    // Threads and the end.
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
    libc::SYS_stat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[i64] = &[];

/// The calls that open a file, and which of their arguments has the flags.
const OPENING: &[(i64, u8)] = &[
    (libc::SYS_openat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
];

/// The calls that remove a file.
const REMOVING: &[i64] = &[
    libc::SYS_unlinkat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
];

/// Sockets: their type, and their protocols beside the type's own.
const SOCKETS: &[(i32, &[i32])] = &[
    (libc::SOCK_STREAM, &[0, libc::IPPROTO_TCP]),
    (libc::SOCK_DGRAM, &[0, libc::IPPROTO_UDP, libc::IPPROTO_UDPLITE]),
];
/// The type of a socket without its flags.
const TYPE: u64 = 0xf;

/// Requests of `ioctl`: what waits in a socket, non-blocking or not, whether a descriptor is a
/// terminal (which is written to in colours), numbers and names of interfaces (in addresses with a
/// scope).
const REQUESTS: &[libc::Ioctl] =
    &[libc::FIONREAD, libc::TIOCOUTQ, libc::FIONBIO, libc::TCGETS, libc::SIOCGIFINDEX, libc::SIOCGIFNAME];

/// Commands of `fcntl`.
const COMMANDS: &[i32] =
    &[libc::F_DUPFD, libc::F_DUPFD_CLOEXEC, libc::F_GETFD, libc::F_SETFD, libc::F_GETFL, libc::F_SETFL];

/// Options by level: all but these. The first ones bring a program, or lock one; those of the
/// protocols are a protocol above (TCP_ULP), a tunnel (UDP_ENCAP), and from 64 on tables of the
/// firewall and multicast routes (`linux/netfilter_ipv4/ip_tables.h`, `linux/mroute.h`).
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
/// The last option of IP that is none of the firewall's.
const LAST_OF_IP: i32 = 63;
/// The same of IPv6, which has its own above those of the firewall, 64 and 65 (`linux/in6.h`).
const LAST_OF_IPV6: i32 = 127;
const FIREWALL_OF_IPV6: &[i32] = &[64, 65];
/// `linux/udp.h`.
const UDP_ENCAP: i32 = 100;

/// Flags of clone(2) that make namespaces.
const NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// Commands of bpf(2) that read and write maps which are there (`linux/bpf.h`): elements looked up,
/// updated, deleted, gone through, taken; each alone or in batches.
const MAP_COMMANDS: &[i32] = &[1, 2, 3, 4, 21, 24, 25, 26, 27];

/// The C library names its memory by it (`linux/prctl.h`; not in the libc crate for every target).
const PR_SET_VMA: i32 = 0x5356_4d41;

/// From now on this thread, and those that it starts, have no others. How many they have.
pub(super) fn restrict(needs: &Needs) -> io::Result<usize> {
    let rules = rules(needs).map_err(io::Error::other)?;
    // Those that are told to be absent are not among them.
    let count = rules.len() - 1;
    // Both are asked, and the stricter one holds; with the second in force there would be no first.
    for program in [absent(), program(rules)] {
        seccompiler::apply_filter(&program.map_err(io::Error::other)?).map_err(io::Error::other)?;
    }
    Ok(count)
}

/// Calls that this kernel seems not to have: whoever makes them has another way, in which a filter
/// sees more.
fn absent() -> Result<BpfProgram, BackendError> {
    let absent = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    let rules = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    SeccompFilter::new(rules, SeccompAction::Allow, absent, std::env::consts::ARCH.try_into()?)?.try_into()
}

fn program(rules: BTreeMap<i64, Vec<SeccompRule>>) -> Result<BpfProgram, BackendError> {
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    SeccompFilter::new(rules, refused, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?.try_into()
}

/// By call: no rule is any arguments, several are one of them.
fn rules(needs: &Needs) -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        PLAIN.iter().chain(OLD).map(|&call| (call, Vec::new())).collect();
    rules.insert(libc::SYS_socket, sockets(needs)?);
    if !needs.sockets.is_empty() {
        rules.insert(libc::SYS_socketpair, vec![all([is(0, libc::AF_UNIX)])?]);
        // What is told beside a datagram goes to the program in a file of memory.
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
    // The other filter's.
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
    // The resolver asks for this host's addresses, to sort those that it has found. Its socket is
    // called raw.
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

/// A rule: all conditions hold.
fn all(conditions: impl IntoIterator<Item = Condition>) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.into_iter().collect::<Result<_, _>>()?)
}

/// Rules: the argument is one of these.
fn one_of(argument: u8, values: impl IntoIterator<Item = u32>) -> Result<Vec<SeccompRule>, BackendError> {
    values.into_iter().map(|value| all([is(argument, value.cast_signed())])).collect()
}

fn is(argument: u8, value: i32) -> Condition {
    compared(argument, SeccompCmpOp::Eq, value)
}

fn masked(argument: u8, mask: i32, value: i32) -> Condition {
    compared(argument, SeccompCmpOp::MaskedEq(mask.cast_unsigned().into()), value)
}

/// By the lower half of the argument: all of these are ints to the kernel.
fn compared(argument: u8, how: SeccompCmpOp, value: i32) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, how, value.cast_unsigned().into())
}
