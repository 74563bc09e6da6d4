//! The seccomp filter that selects the system calls to notify, compiled from a table of rules to
//! classic BPF.
//!
//! Calls that also work on files (`read`, `write`) pass. Where an argument shows that a call does
//! not concern remote sockets, the filter checks it: the family of a socket, the number of an
//! `ioctl`. For calls that pass whatever their arguments, the kernel caches the verdict and does
//! not run the filter.

use libc::{AF_PACKET, EAFNOSUPPORT, ENETDOWN, ENOSYS, EOPNOTSUPP, EPERM, SOCK_RAW, sock_filter};
use resoa_calls::carried::{BY_AGENT, BY_KERNEL, SOCK_PACKET, SOCKET_TYPE};
use resoa_calls::ioctl::{FIONREAD, SIOCGSTAMP, SIOCGSTAMPNS, TIOCOUTQ};

/// The upper three bytes of socket requests (`linux/sockios.h`).
const SOCKET_REQUESTS: u32 = 0x8900;

/// The ABI that this program is built for, as in `seccomp_data` (`linux/audit.h`).
#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xc000_003e;
/// The ABI that this program is built for, as in `seccomp_data` (`linux/audit.h`).
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xc000_00b7;
/// The ABI that this program is built for, as in `seccomp_data` (`linux/audit.h`).
#[cfg(target_arch = "riscv64")]
const NATIVE: u32 = 0xc000_00f3;
/// The bit of calls by the x32 ABI, which has the same ABI value in `seccomp_data`
/// (`__X32_SYSCALL_BIT`).
#[cfg(target_arch = "x86_64")]
const X32: Option<u32> = Some(0x4000_0000);
/// This architecture has no such ABI.
#[cfg(not(target_arch = "x86_64"))]
const X32: Option<u32> = None;

/// The verdict on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilterAction {
    /// The kernel executes it without a notification.
    Pass,
    /// The kernel notifies the notifier.
    Notify,
    /// The call fails with this error.
    Fail(i32),
    /// SIGSYS kills the process.
    Kill,
}

/// A check of the lower half of an argument: if the masked argument is one of the values, the
/// verdict applies.
struct Check {
    argument: u8,
    mask: u32,
    values: &'static [u32],
    verdict: FilterAction,
}

/// The rule for a system call: the first matching check decides, or `otherwise`.
struct Rule {
    call: libc::c_long,
    checks: Vec<Check>,
    otherwise: FilterAction,
}

const ALL: u32 = u32::MAX;

/// Treatment of `close`, which every program calls often, and which waits only on a socket with
/// SO_LINGER.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Closing {
    /// It passes and never waits. Data that was sent is delivered after it, without the program.
    #[default]
    Passes,
    /// It is notified, and waits as SO_LINGER demands. Each `close` of any descriptor costs a
    /// notification.
    Lingers,
}

fn word(argument: u8, mask: u32, values: &'static [u32], verdict: FilterAction) -> Check {
    Check { argument, mask, values, verdict }
}

/// Returns the rules for calls that give access to a network, with the verdict on IP sockets.
fn ways_to_a_network(ip: FilterAction) -> Vec<Rule> {
    let socket = Rule {
        call: libc::SYS_socket,
        checks: vec![
            word(0, ALL, &[BY_KERNEL[0] as u32, BY_KERNEL[1] as u32], FilterAction::Pass),
            word(0, ALL, &[AF_PACKET as u32], FilterAction::Fail(EPERM)),
            word(1, SOCKET_TYPE, &[SOCK_RAW as u32, SOCK_PACKET as u32], FilterAction::Fail(EPERM)),
            word(0, ALL, &[BY_AGENT[0] as u32, BY_AGENT[1] as u32], ip),
        ],
        otherwise: FilterAction::Fail(EAFNOSUPPORT),
    };
    // A socket pair of another family (TIPC has some) could be connected elsewhere. The kernel
    // fails pairs of IP in the same way.
    let pair = Rule {
        call: libc::SYS_socketpair,
        checks: vec![word(0, ALL, &[libc::AF_UNIX as u32], FilterAction::Pass)],
        otherwise: FilterAction::Fail(EOPNOTSUPP),
    };
    // No filter sees the operations of a ring. Kernels without `io_uring` say ENOSYS, and libraries
    // fall back.
    let rings = [libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];
    let denied = |call| Rule { call, checks: Vec::new(), otherwise: FilterAction::Fail(ENOSYS) };
    [socket, pair].into_iter().chain(rings.map(denied)).collect()
}

fn rules(closing: Closing) -> Vec<Rule> {
    let always = |call| Rule { call, checks: Vec::new(), otherwise: FilterAction::Notify };
    let ioctl = Rule {
        call: libc::SYS_ioctl,
        checks: vec![
            word(1, ALL, &[FIONREAD, TIOCOUTQ, SIOCGSTAMP[1], SIOCGSTAMPNS[1]], FilterAction::Notify),
            word(1, !0xff, &[SOCKET_REQUESTS], FilterAction::Notify),
        ],
        otherwise: FilterAction::Pass,
    };
    // These include `send` and `recv`, which only work on sockets. Even without an address they
    // mean something else on datagram sockets and on failed streams.
    let mut rules = vec![always(libc::SYS_sendto), always(libc::SYS_recvfrom), ioctl];
    if closing == Closing::Lingers {
        rules.push(always(libc::SYS_close));
    }
    rules.extend(
        [
            libc::SYS_getsockopt,
            libc::SYS_setsockopt,
            libc::SYS_sendmsg,
            libc::SYS_recvmsg,
            libc::SYS_sendmmsg,
            libc::SYS_recvmmsg,
            libc::SYS_accept4,
            libc::SYS_accept,
            libc::SYS_connect,
            libc::SYS_bind,
            libc::SYS_listen,
            libc::SYS_getsockname,
            libc::SYS_getpeername,
            libc::SYS_shutdown,
        ]
        .map(always),
    );
    // It could fetch a socket of another process, which this filter has not seen created. The
    // kernel requires the right to trace that process, and fails the same way without it.
    rules.push(Rule {
        call: libc::SYS_pidfd_getfd,
        checks: Vec::new(),
        otherwise: FilterAction::Fail(EPERM),
    });
    rules.extend(ways_to_a_network(FilterAction::Notify));
    rules
}

/// Returns the calls that are notified, always or with certain arguments.
#[cfg(any(test, feature = "fuzz"))]
pub(crate) fn notified(closing: Closing) -> Vec<libc::c_long> {
    let is_notified = |rule: &Rule| {
        let mut verdicts = rule.checks.iter().map(|check| check.verdict).chain([rule.otherwise]);
        verdicts.any(|verdict| verdict == FilterAction::Notify)
    };
    rules(closing).iter().filter(|rule| is_notified(rule)).map(|rule| rule.call).collect()
}

/// Instruction codes (`linux/bpf_common.h`).
mod code {
    /// A = word of `seccomp_data` at k.
    pub(super) const LOAD: u16 = 0x20;
    /// A &= k.
    pub(super) const AND: u16 = 0x54;
    /// A == k?
    pub(super) const EQUAL: u16 = 0x15;
    /// A & k?
    pub(super) const ANY: u16 = 0x45;
    /// The verdict is k.
    pub(super) const RETURN: u16 = 0x06;
}

/// Offsets in `seccomp_data`.
mod offset {
    pub(super) const CALL: u32 = 0;
    pub(super) const ABI: u32 = 4;
    /// Offset of the lower half of an argument; all supported architectures are little-endian.
    pub(super) const fn argument(number: u8) -> u32 {
        16 + 8 * number as u32
    }
}

fn plain(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

/// Continues with the next instruction if the condition holds, and skips `skip` instructions
/// otherwise.
fn unless(code: u16, k: u32, skip: usize) -> sock_filter {
    sock_filter { code, jt: 0, jf: u8::try_from(skip).expect("rules are short"), k }
}

fn verdict(verdict: FilterAction) -> sock_filter {
    let data = |error: i32| error.cast_unsigned() & libc::SECCOMP_RET_DATA;
    plain(
        code::RETURN,
        match verdict {
            FilterAction::Pass => libc::SECCOMP_RET_ALLOW,
            FilterAction::Notify => libc::SECCOMP_RET_USER_NOTIF,
            FilterAction::Fail(error) => libc::SECCOMP_RET_ERRNO | data(error),
            FilterAction::Kill => libc::SECCOMP_RET_KILL_PROCESS,
        },
    )
}

fn check(check: &Check) -> Vec<sock_filter> {
    let mut code = Vec::new();
    for value in check.values {
        code.push(plain(code::LOAD, offset::argument(check.argument)));
        if check.mask != ALL {
            code.push(plain(code::AND, check.mask));
        }
        code.push(unless(code::EQUAL, *value, 1));
        code.push(verdict(check.verdict));
    }
    code
}

/// Returns the filter. Calls by another ABI never pass: a call by the i386 ABI kills the process,
/// and x32 calls fail with ENOSYS, as on most kernels.
#[must_use]
pub fn filter(closing: Closing) -> Vec<sock_filter> {
    compiled(rules(closing))
}

/// Returns the filter for programs that use the preload library. It notifies nobody, and fails
/// calls for IP sockets with ENETDOWN. Such calls come only from code that the library does not
/// reach.
pub(crate) fn guard_filter() -> Vec<sock_filter> {
    compiled(ways_to_a_network(FilterAction::Fail(ENETDOWN)))
}

fn compiled(rules: Vec<Rule>) -> Vec<sock_filter> {
    let mut code = vec![
        plain(code::LOAD, offset::ABI),
        sock_filter { code: code::EQUAL, jt: 1, jf: 0, k: NATIVE },
        verdict(FilterAction::Kill),
        plain(code::LOAD, offset::CALL),
    ];
    if let Some(bit) = X32 {
        code.push(unless(code::ANY, bit, 1));
        code.push(verdict(FilterAction::Fail(ENOSYS)));
    }
    for rule in rules {
        let mut body: Vec<_> = rule.checks.iter().flat_map(check).collect();
        body.push(verdict(rule.otherwise));
        code.push(unless(code::EQUAL, rule.call as u32, body.len()));
        code.extend(body);
    }
    code.push(verdict(FilterAction::Pass));
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use resoa_calls::carried::{Maker, maker};

    /// Returns the kernel's verdict: interprets the instructions as `linux/filter.h` describes
    /// them.
    fn run(abi: u32, call: i64, arguments: &[u64]) -> u32 {
        interpret(&filter(Closing::Passes), abi, call, arguments)
    }

    fn interpret(program: &[sock_filter], abi: u32, call: i64, arguments: &[u64]) -> u32 {
        let mut words = vec![call as u32, abi, 0, 0];
        for number in 0..6 {
            let argument = arguments.get(number).copied().unwrap_or(0);
            words.extend([argument as u32, (argument >> 32) as u32]);
        }
        let (mut a, mut at) = (0, 0);
        loop {
            let instruction = program[at];
            let jump = |holds| usize::from(if holds { instruction.jt } else { instruction.jf });
            at += 1;
            match instruction.code {
                code::LOAD => a = words[instruction.k as usize / 4],
                code::AND => a &= instruction.k,
                code::EQUAL => at += jump(a == instruction.k),
                code::ANY => at += jump(a & instruction.k != 0),
                code::RETURN => return instruction.k,
                other => panic!("no instruction: {other:x}"),
            }
        }
    }

    fn native(call: i64, arguments: &[u64]) -> u32 {
        run(NATIVE, call, arguments)
    }

    const PASS: u32 = libc::SECCOMP_RET_ALLOW;
    const NOTIFY: u32 = libc::SECCOMP_RET_USER_NOTIF;

    fn fails(error: i32) -> u32 {
        libc::SECCOMP_RET_ERRNO | error as u32
    }

    /// Data calls that also work on files, waits, copies, and calls that do not concern sockets
    /// stay in the kernel.
    #[test]
    fn data_passes() {
        for call in [
            libc::SYS_read,
            libc::SYS_write,
            libc::SYS_readv,
            libc::SYS_writev,
            libc::SYS_sendfile,
            libc::SYS_splice,
            libc::SYS_close,
            libc::SYS_dup,
            libc::SYS_fcntl,
            libc::SYS_epoll_ctl,
            libc::SYS_clone,
            libc::SYS_execve,
        ] {
            assert_eq!(native(call, &[1, 2, 3, 4, 5, 6]), PASS, "{call}");
        }
    }

    /// `close` is notified only if asked for.
    #[test]
    fn closing() {
        assert_eq!(native(libc::SYS_close, &[3]), PASS);
        let lingering = filter(Closing::Lingers);
        assert_eq!(interpret(&lingering, NATIVE, libc::SYS_close, &[3]), NOTIFY);
        assert_eq!(interpret(&lingering, NATIVE, libc::SYS_read, &[3]), PASS);
    }

    /// Calls that only work on sockets are always notified.
    #[test]
    fn calls_are_notified() {
        for call in [
            libc::SYS_bind,
            libc::SYS_connect,
            libc::SYS_listen,
            libc::SYS_accept,
            libc::SYS_accept4,
            libc::SYS_getsockname,
            libc::SYS_getpeername,
            libc::SYS_getsockopt,
            libc::SYS_setsockopt,
            libc::SYS_shutdown,
            libc::SYS_sendto,
            libc::SYS_recvfrom,
            libc::SYS_sendmsg,
            libc::SYS_recvmsg,
            libc::SYS_sendmmsg,
            libc::SYS_recvmmsg,
        ] {
            assert_eq!(native(call, &[]), NOTIFY, "{call}");
        }
    }

    /// C30: IP sockets are notified, local ones pass, and raw and packet sockets cannot bypass the
    /// agent. The filter decides as the library does.
    #[test]
    fn families() {
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        for family in -1..=64_i32 {
            for kind in (0..=15).flat_map(|kind| [kind, kind | flags]) {
                let expected = match maker(family, kind) {
                    Maker::Agent => NOTIFY,
                    Maker::Kernel => PASS,
                    Maker::Nobody(error) => fails(error),
                };
                assert_eq!(
                    native(libc::SYS_socket, &[family as u64, kind as u64]),
                    expected,
                    "{family} {kind}"
                );
            }
            let pair = if family == libc::AF_UNIX { PASS } else { fails(EOPNOTSUPP) };
            assert_eq!(native(libc::SYS_socketpair, &[family as u64, 1]), pair, "{family}");
        }
        // The kernel uses only the lower half, an `int`.
        assert_eq!(native(libc::SYS_socket, &[(1 << 32) | libc::AF_INET as u64, 1]), NOTIFY);
    }

    /// Only socket requests are notified; those of terminals pass. No request passes that concerns
    /// the agent.
    #[test]
    fn requests() {
        let asked = (0..=0xffff_u32)
            .chain([SIOCGSTAMP[1], SIOCGSTAMPNS[1]])
            .filter(|command| resoa_calls::ioctl::concerns(*command));
        for command in asked {
            assert_eq!(native(libc::SYS_ioctl, &[3, command.into(), 0]), NOTIFY, "{command:x}");
        }
        let ioctl = |request: u64| native(libc::SYS_ioctl, &[3, request, 0]);
        assert_eq!((ioctl(libc::TCGETS), ioctl(libc::FIONBIO), ioctl(libc::TIOCGWINSZ)), (PASS, PASS, PASS));
        assert_eq!((ioctl(libc::FIONREAD), ioctl(libc::TIOCOUTQ)), (NOTIFY, NOTIFY));
        for (request, expected) in [(0x88ff, PASS), (0x8900, NOTIFY), (0x89ff, NOTIFY), (0x8a00, PASS)] {
            assert_eq!(ioctl(request), expected, "{request:x}");
        }
    }

    /// C30: the guard lets only those calls pass that the library leaves to the kernel.
    #[test]
    fn the_guard() {
        let guard = |call, arguments: &[u64]| interpret(&guard_filter(), NATIVE, call, arguments);
        for family in -1..=64_i32 {
            for kind in 0..=15 {
                let expected = match maker(family, kind) {
                    Maker::Agent => fails(ENETDOWN),
                    Maker::Kernel => PASS,
                    Maker::Nobody(error) => fails(error),
                };
                let arguments = [family as u64, kind as u64];
                assert_eq!(guard(libc::SYS_socket, &arguments), expected, "{family} {kind}");
            }
        }
        assert_eq!(guard(libc::SYS_io_uring_setup, &[]), fails(ENOSYS));
        // Calls that the library makes on its AF_UNIX descriptors.
        for call in [libc::SYS_connect, libc::SYS_sendmsg, libc::SYS_recvmsg, libc::SYS_getsockname] {
            assert_eq!(guard(call, &[]), PASS);
        }
    }

    /// `io_uring`, descriptors of other processes, and foreign ABIs.
    #[test]
    fn ways_round() {
        assert_eq!(native(libc::SYS_pidfd_getfd, &[3, 4, 0]), fails(EPERM));
        for call in [libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register] {
            assert_eq!(native(call, &[]), fails(ENOSYS));
        }
        assert_eq!(run(0x4000_0003, 102, &[1]), libc::SECCOMP_RET_KILL_PROCESS);
        #[cfg(target_arch = "x86_64")]
        assert_eq!(native(0x4000_0000 | libc::SYS_socket, &[2, 1]), fails(ENOSYS));
    }
}
