//! Ports of the host's processes, which a client does not get even if both sockets share theirs.
//! Needs root: each test has a network namespace of its own, with processes of the host in it.

use crate::site::{Site, at, policy};
use confinement::{Confinement, Needs};
use netlab::{Namespace, interface, sysctl};
use resoa_protocol::message::{Family, Operation, RsockType};
use resoa_protocol::{Errno, RsockId, Value};
use rustix::net::{self, AddressFamily, SocketType, sockopt};
use rustix::thread::UnshareFlags;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

const NOBODY: u32 = 65534;

/// A process of the host that has one idle socket.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        self.0.kill().expect("is a child");
        self.0.wait().expect("has ended");
    }
}

/// Starts a process whose socket shares its port by `option`.
#[expect(unsafe_code, reason = "the child makes a socket before it executes")]
fn daemon(user: u32, kind: SocketType, option: i32, listens: bool, address: &str) -> Daemon {
    let address = at(address);
    let prepare = move || -> std::io::Result<()> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = net::socket(family, kind, None)?;
        match option {
            libc::SO_REUSEADDR => sockopt::set_socket_reuseaddr(&socket, true)?,
            _ => sockopt::set_socket_reuseport(&socket, true)?,
        }
        net::bind(&socket, &address)?;
        if listens {
            net::listen(&socket, 5)?;
        }
        // The program keeps it until it ends.
        std::mem::forget(socket);
        Ok(())
    };
    // The program waits for input that never arrives, and ends with the process that could write
    // it.
    let mut command = Command::new("cat");
    command.uid(user).stdin(Stdio::piped());
    // SAFETY: between fork and exec, the child makes only system calls.
    unsafe { command.pre_exec(prepare) };
    Daemon(command.spawn().expect("a process"))
}

/// Enters a namespace with a loopback interface. Returns whether this user may.
#[expect(unsafe_code, reason = "a thread's own namespace")]
fn apart() -> bool {
    if !rustix::process::geteuid().is_root() {
        skip::skip!("namespaces need root");
        return false;
    }
    // SAFETY: the descriptor table stays shared, and the thread belongs to the test.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.expect("a namespace");
    interface::loopback_up(&Namespace::current().expect("a namespace")).expect("loopback");
    true
}

const ANYWHERE: &str =
    "[defaults]\nallow = [\"any\", \"127.0.0.0/8\", \"::1\"]\n[clients.a]\nkey = \"KEY1\"\n";

/// Creates a socket that shares its port by both options.
fn sharing(site: &mut Site, guest: usize, family: Family, kind: RsockType) -> RsockId {
    let socket = site.socket(guest, family, kind);
    for name in [libc::SO_REUSEADDR, libc::SO_REUSEPORT] {
        set(site, guest, socket, (libc::SOL_SOCKET, name));
    }
    socket
}

fn set(site: &mut Site, guest: usize, socket: RsockId, (level, name): (i32, i32)) {
    let value = 1_i32.to_ne_bytes().into();
    let call = Operation::SetOption { level, name, value };
    assert_eq!(site.call(guest, socket, call), Ok(Value::Done));
}

fn bind(site: &mut Site, guest: usize, socket: RsockId, to: &str) -> Result<Value, Errno> {
    site.call(guest, socket, Operation::Bind(at(to)))
}

/// A daemon of another user shares its datagram port with everybody, and daemons of the server's
/// own user share theirs with all sockets of that user. A client gets none of these ports, at any
/// address that overlaps with theirs. The server asks the kernel for them while it is confined.
#[test]
fn shared_ports_of_daemons() {
    if !apart() {
        return;
    }
    let (stream, datagram) = (SocketType::STREAM, SocketType::DGRAM);
    let daemons = [
        daemon(NOBODY, datagram, libc::SO_REUSEADDR, false, "0.0.0.0:5353"),
        daemon(0, datagram, libc::SO_REUSEPORT, false, "[::]:5354"),
        daemon(0, stream, libc::SO_REUSEPORT, true, "0.0.0.0:8080"),
        daemon(0, stream, libc::SO_REUSEPORT, true, "127.0.0.1:8081"),
        daemon(NOBODY, stream, libc::SO_REUSEADDR, false, "[::]:8082"),
    ];
    // A confined thread cannot end processes, so the test runs in a thread of its own.
    std::thread::scope(|scope| scope.spawn(confined_beside_daemons).join()).expect("all as it should");
    drop(daemons);
}

fn confined_beside_daemons() {
    let mut site = Site::new(policy(ANYWHERE));
    Confinement::enter_here(&Needs::default(), true).expect("the kernel can");
    let guest = site.guest(1);
    let mut refused = 0;
    for (family, kind, wanted) in [
        (Family::V4, RsockType::Datagram, "0.0.0.0:5353"),
        (Family::V4, RsockType::Datagram, "127.0.0.1:5353"),
        (Family::V6, RsockType::Datagram, "[::]:5353"),
        (Family::V6, RsockType::Datagram, "[::ffff:127.0.0.1]:5353"),
        (Family::V4, RsockType::Datagram, "0.0.0.0:5354"),
        (Family::V6, RsockType::Datagram, "[::1]:5354"),
        (Family::V4, RsockType::Stream, "0.0.0.0:8080"),
        (Family::V4, RsockType::Stream, "127.0.0.1:8080"),
        (Family::V6, RsockType::Stream, "[::]:8080"),
        (Family::V4, RsockType::Stream, "0.0.0.0:8081"),
        (Family::V4, RsockType::Stream, "127.0.0.1:8081"),
        (Family::V4, RsockType::Stream, "127.0.0.1:8082"),
    ] {
        let socket = sharing(&mut site, guest, family, kind);
        assert_eq!(bind(&mut site, guest, socket, wanted), Err(Errno::EADDRINUSE), "{kind:?} {wanted}");
        refused += 1;
    }
    // Other ports and addresses are free, also similar ones.
    for (family, kind, wanted) in [
        (Family::V4, RsockType::Datagram, "0.0.0.0:5355"),
        (Family::V4, RsockType::Lite, "0.0.0.0:5353"),
        (Family::V4, RsockType::Stream, "127.0.0.2:8081"),
        (Family::V4, RsockType::Stream, "0.0.0.0:5353"),
        (Family::V6, RsockType::Stream, "[::1]:8080"),
    ] {
        let socket = sharing(&mut site, guest, family, kind);
        assert_eq!(bind(&mut site, guest, socket, wanted), Ok(Value::Done), "{kind:?} {wanted}");
        // The client's own sockets share with each other as on any host.
        let second = sharing(&mut site, guest, family, kind);
        assert_eq!(bind(&mut site, guest, second, wanted), Ok(Value::Done), "{kind:?} {wanted}");
    }
    // An IPv6-only socket does not conflict with IPv4 sockets.
    let six = sharing(&mut site, guest, Family::V6, RsockType::Stream);
    set(&mut site, guest, six, (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY));
    assert_eq!(bind(&mut site, guest, six, "[::]:8081"), Ok(Value::Done));
    assert_eq!(site.refusals(), [("host_port".to_owned(), refused)].into());
}

/// A process that binds to a client's port later, but listens first, gets it.
#[test]
fn a_daemon_that_comes_before_listen() {
    if !apart() {
        return;
    }
    let mut site = Site::new(policy(ANYWHERE));
    let guest = site.guest(1);
    let socket = sharing(&mut site, guest, Family::V4, RsockType::Stream);
    assert_eq!(bind(&mut site, guest, socket, "0.0.0.0:8080"), Ok(Value::Done));
    let comes = daemon(0, SocketType::STREAM, libc::SO_REUSEPORT, true, "0.0.0.0:8080");
    assert_eq!(site.call(guest, socket, Operation::Listen { backlog: 5 }), Err(Errno::EADDRINUSE));
    drop(comes);
    assert_eq!(site.call(guest, socket, Operation::Listen { backlog: 5 }), Ok(Value::Done));
}

/// The kernel never chooses a port that is in use, even if it is told to choose shared ones.
#[test]
fn ports_that_the_kernel_chooses() {
    if !apart() {
        return;
    }
    // Before the ports run out, because the server needs one to probe the kernel.
    let mut site = Site::new(policy(ANYWHERE));
    let guest = site.guest(1);
    let here = Namespace::current().expect("a namespace");
    sysctl::write(&here, "net.ipv4.ip_local_port_range", "20000 20001").expect("the kernel has it");
    sysctl::write(&here, "net.ipv4.ip_autobind_reuse", "1").expect("the kernel has it");
    let daemons: Vec<_> = [SocketType::STREAM, SocketType::DGRAM]
        .into_iter()
        .flat_map(|kind| ["0.0.0.0:20000", "0.0.0.0:20001"].map(|address| (kind, address)))
        .map(|(kind, address)| daemon(NOBODY, kind, libc::SO_REUSEADDR, false, address))
        .collect();
    for kind in [RsockType::Stream, RsockType::Datagram] {
        let socket = sharing(&mut site, guest, Family::V4, kind);
        assert_eq!(bind(&mut site, guest, socket, "127.0.0.1:0"), Err(Errno::EADDRINUSE), "{kind:?}");
    }
    // By connecting a datagram socket.
    let socket = sharing(&mut site, guest, Family::V4, RsockType::Datagram);
    let to: SocketAddr = at("127.0.0.1:9");
    assert_eq!(site.call(guest, socket, Operation::Connect(to)), Err(Errno::EADDRINUSE));
    drop(daemons);
    assert_eq!(site.call(guest, socket, Operation::Connect(to)), Ok(Value::Done));
}
