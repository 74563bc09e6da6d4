//! Actions that an attacker who has taken over a confined process could try. Each test tries them
//! from within and checks that they are refused.
#![expect(unsafe_code, reason = "calls and requests that no safe library makes")]

use super::*;
use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, Protocol, SocketType, netlink, socket, socketpair};
use rustix::process::{Pid, Signal, getpid, kill_process};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// Runs `work` in a confined thread of its own, so that the rights of the other threads stay.
fn confined(needs: Needs, filters: bool, work: impl FnOnce(Confinement) + Send + 'static) {
    let thread = std::thread::spawn(move || {
        work(Confinement::enter_here(&needs, filters).expect("the kernel can"));
    });
    thread.join().expect("what is left works");
}

/// Checks that the error is a refusal, not success or some other failure.
fn is_refused<T>(outcome: io::Result<T>) -> bool {
    // In an empty root directory the file does not even exist.
    outcome
        .is_err_and(|error| matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound))
}

/// Makes a system call by its number. Returns the error number if it fails.
fn refusal(call: i64, arguments: [i64; 5]) -> Option<i32> {
    let [first, second, third, fourth, fifth] = arguments;
    // SAFETY: none of these changes memory, or has valid arguments.
    let result = unsafe { libc::syscall(call, first, second, third, fourth, fifth) };
    (result == -1).then(|| io::Error::last_os_error().raw_os_error()).flatten()
}

/// Another process of the same user, killed on drop.
struct Other(Child);

impl Other {
    fn start() -> Self {
        Self(Command::new("sleep").arg("600").spawn().expect("every host has it"))
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Makes a terminal: our end and the process's end.
fn terminal() -> (OwnedFd, OwnedFd) {
    let (mut ours, mut theirs) = (-1, -1);
    // SAFETY: two file descriptors are written; name, modes and size are null.
    let made = unsafe {
        libc::openpty(
            &raw mut ours,
            &raw mut theirs,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        )
    };
    assert_eq!(made, 0, "{}", io::Error::last_os_error());
    // SAFETY: both were just made, and have no other owner.
    unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) }
}

/// The resolver's files can be read, others cannot. No file can be executed or written.
#[test]
fn files_and_programs_are_out_of_reach() {
    let folder = tempfile::tempdir().expect("a folder");
    let (inside, outside) = (folder.path().join("policy"), folder.path().join("secret"));
    fs::write(&inside, "a").expect("written");
    fs::write(&outside, "b").expect("written");
    let needs = Needs { readable: vec![inside.clone()], ..Needs::default() };
    confined(needs, true, move |_| {
        fs::read("/etc/hosts").expect("the resolver reads it");
        fs::read(&inside).expect("it is named");
        assert!(is_refused(fs::read(&outside)));
        assert!(is_refused(fs::read("/etc/passwd")), "not for the resolver");
        assert!(is_refused(fs::read("/proc/self/mem")) && is_refused(fs::read("/dev/null")));
        for path in [&outside, &inside, &outside.with_extension("new")] {
            assert!(is_refused(fs::write(path, "x")), "{}", path.display());
            assert!(is_refused(fs::remove_file(path)), "{}", path.display());
        }
        assert!(is_refused(fs::read_dir("/etc").map(drop)), "nothing is listed");
        // If it were executed, it would replace this test and fail it.
        assert!(is_refused(Err::<(), _>(Command::new("/bin/false").exec())));
    });
    assert_eq!(fs::read_to_string(folder.path().join("policy")).expect("it is there"), "a");
}

/// System calls that the server does not need are refused: access to the memory of other processes,
/// their signals and limits, namespaces.
#[test]
fn system_calls_are_out_of_reach() {
    confined(Needs::default(), true, |_| {
        let denied = Some(libc::EPERM);
        let pid = i64::from(getpid().as_raw_nonzero().get());
        for call in [
            libc::SYS_pidfd_open,
            libc::SYS_kill,
            libc::SYS_tkill,
            libc::SYS_rt_sigqueueinfo,
            libc::SYS_rt_tgsigqueueinfo,
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_process_vm_writev,
            libc::SYS_prlimit64,
            libc::SYS_setpriority,
            libc::SYS_io_uring_setup,
            libc::SYS_seccomp,
            libc::SYS_bpf,
            libc::SYS_perf_event_open,
            libc::SYS_userfaultfd,
            libc::SYS_keyctl,
            libc::SYS_unshare,
            libc::SYS_setns,
            libc::SYS_mount,
            libc::SYS_chroot,
            libc::SYS_shmget,
            libc::SYS_setsid,
            libc::SYS_setresuid,
            libc::SYS_getdents64,
            libc::SYS_unlinkat,
            libc::SYS_mkdirat,
            libc::SYS_execveat,
        ] {
            assert_eq!(refusal(call, [pid, 0, 0, 0, 0]), denied, "{call}");
        }
        UdpSocket::bind("127.0.0.1:0").expect("what it is for");
    });
}

/// Only sockets of TCP and UDP, and netlink sockets for routes, can be made: no raw sockets, no
/// UNIX sockets, no other protocols.
#[test]
fn sockets_are_those_of_tcp_and_udp() {
    let number =
        |protocol: i32| Protocol::from_raw(core::num::NonZeroU32::new(protocol.cast_unsigned())?).into();
    confined(Needs::default(), true, move |_| {
        for (family, kind, protocol) in [
            (AddressFamily::PACKET, SocketType::RAW, None),
            (AddressFamily::INET, SocketType::RAW, number(libc::IPPROTO_ICMP)),
            (AddressFamily::INET, SocketType::DGRAM, number(libc::IPPROTO_ICMP)),
            (AddressFamily::INET, SocketType::STREAM, number(libc::IPPROTO_SCTP)),
            (AddressFamily::INET6, SocketType::STREAM, number(libc::IPPROTO_MPTCP)),
            (AddressFamily::INET, SocketType::SEQPACKET, None),
            (AddressFamily::UNIX, SocketType::STREAM, None),
            (AddressFamily::UNIX, SocketType::DGRAM, None),
            (AddressFamily::from_raw(libc::AF_ALG as u16), SocketType::SEQPACKET, None),
            (AddressFamily::VSOCK, SocketType::STREAM, None),
            (AddressFamily::NETLINK, SocketType::RAW, Some(netlink::NETFILTER)),
        ] {
            assert_eq!(socket(family, kind, protocol).err(), Some(Errno::PERM), "{family:?} {kind:?}");
        }
        assert_eq!(UnixDatagram::pair().expect_err("of UNIX").raw_os_error(), Some(libc::EPERM));
        for family in [AddressFamily::INET, AddressFamily::INET6] {
            for (kind, protocol) in
                [(SocketType::STREAM, libc::IPPROTO_TCP), (SocketType::DGRAM, libc::IPPROTO_UDP)]
            {
                socket(family, kind, None).expect("what it is for");
                socket(family, kind, number(protocol)).expect("what it is for");
            }
        }
        socket(AddressFamily::NETLINK, SocketType::RAW, None).expect("the resolver's");
    });
}

/// A UNIX socket of a daemon cannot be reached, neither by its path nor by an abstract name.
#[test]
fn daemons_of_the_host_are_out_of_reach() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("daemon");
    let own = folder.path().join("own");
    let listeners = [&path, &own].map(|path| UnixListener::bind(path).expect("room"));
    let abstract_name = format!("lasthop-test-{}", path.display());
    let name = SocketAddr::from_abstract_name(&abstract_name).expect("short");
    let _abstract = UnixListener::bind_addr(&name).expect("free");
    UnixStream::connect(&path).expect("it listens");
    UnixStream::connect_addr(&name).expect("it listens");
    let server = (path.clone(), name.clone());
    confined(Needs::default(), true, move |_| {
        assert!(is_refused(UnixStream::connect(server.0)));
        assert!(is_refused(UnixStream::connect_addr(&server.1)));
    });
    // An agent has UNIX sockets, and connects to its own.
    let needs = Needs { sockets: vec![own.clone()], ..Needs::default() };
    confined(needs, true, move |confinement| {
        UnixStream::connect(&own).expect("its own");
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, rustix::net::SocketFlags::empty(), None)
            .expect("a pair");
        let said = confinement.to_string();
        if said.contains("an empty root directory") {
            assert!(is_refused(UnixStream::connect(path)));
        } else {
            skip::skip!("an empty root directory needs root");
        }
        if said.contains("abstract UNIX sockets and signals,") {
            assert!(is_refused(UnixStream::connect_addr(&name)));
        } else {
            skip::skip!("this kernel's Landlock has no scopes");
        }
    });
    drop(listeners);
}

/// No signal reaches another process, neither directly nor from the kernel on request.
#[test]
fn other_processes_are_out_of_reach() {
    let other = Other::start();
    let pid = other.pid();
    kill_process(pid, Signal::CONT).expect("it is ours");
    confined(Needs::default(), true, move |_| {
        let number = i64::from(pid.as_raw_nonzero().get());
        let own = i64::from(getpid().as_raw_nonzero().get());
        let denied = Some(libc::EPERM);
        let kill = i64::from(libc::SIGKILL);
        assert_eq!(kill_process(pid, Signal::KILL), Err(Errno::PERM));
        assert_eq!(refusal(libc::SYS_tgkill, [number, number, kill, 0, 0]), denied);
        assert_eq!(refusal(libc::SYS_tgkill, [-1, number, kill, 0, 0]), denied);
        let thread = i64::from(rustix::thread::gettid().as_raw_nonzero().get());
        assert_eq!(refusal(libc::SYS_tgkill, [own, thread, 0, 0, 0]), None, "as abort(3) does");
        let socket = UdpSocket::bind("127.0.0.1:0").expect("what it is for");
        let descriptor = i64::from(socket.as_raw_fd());
        let command =
            |command: i32, value| refusal(libc::SYS_fcntl, [descriptor, command.into(), value, 0, 0]);
        assert_eq!([command(libc::F_SETOWN, number), command(F_SETSIG, kill)], [denied; 2]);
        let owner = pid.as_raw_nonzero().get();
        for request in [FIOSETOWN, SIOCSPGRP] {
            // SAFETY: if the filter permitted the request, it would read an int, which lives as
            // long as the call.
            let result = unsafe { libc::ioctl(socket.as_raw_fd(), request, &raw const owner) };
            assert_eq!((result, io::Error::last_os_error().raw_os_error()), (-1, denied), "{request:x}");
        }
        socket.set_nonblocking(true).expect("another request");
    });
    assert!(rustix::process::test_kill_process(pid).is_ok(), "it lives");
}

/// From `asm-generic/fcntl.h` and `asm-generic/sockios.h`.
const F_SETSIG: i32 = 10;
const FIOSETOWN: libc::Ioctl = 0x8901;
const SIOCSPGRP: libc::Ioctl = 0x8902;

/// An inherited terminal cannot be typed into, nor become the controlling terminal.
#[test]
fn terminals_are_out_of_reach() {
    let (ours, theirs) = terminal();
    let letter = b'x';
    let requests =
        [libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSCTTY, libc::TIOCSPGRP, libc::TIOCSETD, libc::TIOCSWINSZ];
    let ask = move |request| {
        // SAFETY: a permitted request reads at most one byte, which lives as long as the call.
        let result = unsafe { libc::ioctl(theirs.as_raw_fd(), request, &raw const letter) };
        (result, io::Error::last_os_error().raw_os_error())
    };
    // The kernel lets a process type into a terminal, unless dev.tty.legacy_tiocsti is off.
    println!("unconfined, TIOCSTI: {:?}", ask(libc::TIOCSTI));
    confined(Needs::default(), true, move |_| {
        for request in requests {
            assert_eq!(ask(request), (-1, Some(libc::EPERM)), "{request:x}");
        }
    });
    drop(ours);
}

/// Socket options that load programs or protocols into the kernel are refused.
#[test]
fn options_that_load_something() {
    confined(Needs::default(), true, |_| {
        let stream = TcpListener::bind("127.0.0.1:0").expect("what it is for");
        let datagrams = UdpSocket::bind("127.0.0.1:0").expect("what it is for");
        let set = |socket: i32, level: i32, name: i32| {
            let on = 1_i32;
            // SAFETY: an int is read, which lives as long as the call. Options with larger values
            // refuse it.
            let result = unsafe { libc::setsockopt(socket, level, name, (&raw const on).cast(), 4) };
            (result != 0).then(|| io::Error::last_os_error().raw_os_error()).flatten()
        };
        let (stream, datagrams) = (stream.as_raw_fd(), datagrams.as_raw_fd());
        for (socket, level, name) in [
            (stream, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER),
            (stream, libc::SOL_SOCKET, libc::SO_ATTACH_BPF),
            (datagrams, libc::SOL_SOCKET, libc::SO_ATTACH_REUSEPORT_CBPF),
            (stream, libc::IPPROTO_TCP, libc::TCP_ULP),
            (datagrams, libc::IPPROTO_UDP, 100),
            (stream, libc::IPPROTO_IP, 64),
            (stream, libc::IPPROTO_IP, 200),
            (stream, libc::IPPROTO_IPV6, 64),
            (stream, libc::IPPROTO_IPV6, 200),
            (stream, libc::SOL_NETLINK, 1),
        ] {
            assert_eq!(set(socket, level, name), Some(libc::EPERM), "{level} {name}");
        }
        for (socket, level, name) in [
            (stream, libc::SOL_SOCKET, libc::SO_REUSEADDR),
            (stream, libc::IPPROTO_TCP, libc::TCP_NODELAY),
            (datagrams, libc::IPPROTO_IP, libc::IP_RECVTTL),
            (datagrams, libc::SOL_UDP, 104),
        ] {
            assert_eq!(set(socket, level, name), None, "{level} {name}");
        }
        let six = UdpSocket::bind("[::1]:0").expect("what it is for");
        assert_eq!(set(six.as_raw_fd(), libc::IPPROTO_IPV6, libc::IPV6_TCLASS), None);
    });
}

/// Threads can be made, processes and namespaces cannot. The kernel refuses these flag combinations
/// too, but with EINVAL. So EPERM and ENOSYS come from the filter.
#[test]
fn what_is_cloned_is_a_thread() {
    // Both lack CLONE_VM, which the kernel demands.
    let (process, thread) = (libc::CLONE_SIGHAND, libc::CLONE_SIGHAND | libc::CLONE_THREAD);
    let spaces = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ];
    let refused = move || {
        let of = |call, flags: i32| refusal(call, [flags.cast_unsigned().into(), 0, 0, 0, 0]);
        let spaces = spaces.map(|space| of(libc::SYS_clone, thread | space));
        (
            spaces.into_iter().collect::<std::collections::BTreeSet<_>>(),
            of(libc::SYS_clone, process),
            of(libc::SYS_clone, thread),
            of(libc::SYS_clone3, 0),
        )
    };
    let invalid = Some(libc::EINVAL);
    assert_eq!(refused(), ([invalid].into(), invalid, invalid, invalid), "by the kernel alone");
    confined(Needs::default(), true, move |_| {
        let denied = Some(libc::EPERM);
        assert_eq!(refused(), ([denied].into(), denied, invalid, Some(libc::ENOSYS)));
        std::thread::spawn(|| ()).join().expect("threads are made");
    });
}

/// The process keeps only the capabilities that it needs, programs that it executes get none, and
/// the printed line names them.
#[test]
fn capabilities_are_those_needed() {
    for (needs, expected) in [
        (Needs::default(), CapabilitySet::empty()),
        (Needs { low_ports: true, ..Needs::default() }, CapabilitySet::NET_BIND_SERVICE),
        (Needs { foreign_addresses: true, ..Needs::default() }, CapabilitySet::NET_RAW),
    ] {
        let had = thread::capabilities(None).expect("the kernel says").permitted;
        confined(needs, false, move |confinement| {
            let sets = thread::capabilities(None).expect("the kernel says");
            assert_eq!((sets.permitted, sets.effective), (expected & had, expected & had));
            let in_bounds = |capability| thread::capability_is_in_bounding_set(capability);
            if had.contains(CapabilitySet::SETPCAP) {
                let left =
                    CapabilitySet::all().iter().filter(|&capability| in_bounds(capability) == Ok(true));
                assert_eq!(left.count(), 0);
            }
            let said = confinement.to_string();
            assert!(expected.iter_names().all(|(name, _)| had.is_empty() || said.contains(name)), "{said}");
        });
    }
}

/// Root without a user name becomes `nobody`, loses its supplementary groups and cannot go back,
/// with or without filters.
#[test]
fn root_becomes_another_user() {
    if !rustix::process::geteuid().is_root() {
        skip::skip!("only root becomes another user");
        return;
    }
    for filters in [true, false] {
        confined(Needs::default(), filters, move |confinement| {
            assert!(
                confinement.to_string().starts_with("confined to nobody, no capability, "),
                "{confinement}"
            );
            assert!(!rustix::process::getuid().is_root() && !rustix::process::getgid().is_root());
            if !filters {
                assert_eq!(rustix::process::getgroups().expect("the kernel says"), []);
            }
            let root = rustix::process::Uid::ROOT;
            assert_eq!(thread::set_thread_res_uid(root, root, root), Err(Errno::PERM));
        });
    }
    for name in ["root", "0"] {
        let error = Identity::chosen(Some(name)).expect_err("it is root").to_string();
        assert!(error.starts_with(&format!("--user {name}: a confined process must not be root")), "{error}");
    }
}

/// Users are looked up in the file. An error names a user that does not exist.
#[test]
fn users_are_found() {
    assert_eq!(user::find("root").map(|(uid, _)| uid.is_root()), Some(true));
    assert_eq!(user::find("0"), user::find("root"));
    let error = Identity::chosen(Some("nobody-of-that-name")).expect_err("none").to_string();
    assert!(error.contains("add it with `useradd --system nobody-of-that-name`"), "{error}");
}

/// Numbers outside a user namespace follow from its map.
#[test]
fn numbers_outside() {
    let of = |map, inside| user::outside(map, inside);
    let all = "         0          0 4294967295\n";
    assert_eq!((of(all, 0), of(all, 65534)), (Some(0), Some(65534)));
    let one = "0 1000 1\n";
    assert_eq!((of(one, 0), of(one, 1)), (Some(1000), None));
    let some = "0 1000 1\n1 100000 65536\n";
    assert_eq!((of(some, 1), of(some, 65534), of(some, 65537)), (Some(100_000), Some(165_533), None));
    assert_eq!(of("", 0), None);
}
