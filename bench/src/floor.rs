//! Links that do as little as possible, as lower bounds for emulators. Each runs a program behind
//! it.
//!
//! * [`veth`]: two namespaces joined by a pair of virtual Ethernet devices, with no user space in
//!   between.
//! * [`bare`]: two TUN devices and one thread that reads packets from one and writes them to the
//!   other. This is the cost of an emulator that handles single packets and does nothing else.

mod forward;

use crate::namespace::{in_new_namespace, ip, ip_in, tun};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::ffi::OsString;
use std::io;
use std::net::Ipv4Addr;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// Environment variable with the address of the other end.
pub const HOST: &str = "BENCH_HOST";

const OUTSIDE: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 1);
const INSIDE: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 2);

/// Runs `command` behind a veth pair.
///
/// # Errors
/// If the pair cannot be created or the command cannot be started.
pub fn veth(command: &[OsString]) -> io::Result<ExitStatus> {
    // The process itself stays outside; only the thread that runs the command enters the namespace.
    let outside = std::process::id();
    in_new_namespace(|| {
        ip(&format!("link add bench1 type veth peer name bench1 netns {outside}"))?;
        ip(&format!("addr add {INSIDE} peer {OUTSIDE} dev bench1"))?;
        ip("link set bench1 up")?;
        ip_in(outside, "link set bench1 up")?;
        ip_in(outside, &format!("addr add {OUTSIDE} peer {INSIDE} dev bench1"))?;
        let status = run(command);
        // The pair would also vanish with its namespace, but some time later, and the next run
        // needs the name.
        ip("link del bench1")?;
        status
    })
}

/// Runs `command` behind the bare forwarder, which delays each packet by `delay`.
///
/// # Errors
/// If the devices cannot be created or the command cannot be started.
pub fn bare(delay: Duration, command: &[OsString]) -> io::Result<ExitStatus> {
    let outside = tun("bench0", OUTSIDE, INSIDE)?;
    in_new_namespace(|| {
        let inside = tun("bench0", INSIDE, OUTSIDE)?;
        let ended = EventFd::from_flags(EfdFlags::EFD_CLOEXEC)?;
        std::thread::scope(|scope| {
            let forwarder = scope.spawn(|| forward::forward([&outside, &inside], delay, &ended));
            let status = run(command);
            ended.write(1)?;
            forwarder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            status
        })
    })
}

/// Runs `command` in the calling thread's namespace.
fn run(command: &[OsString]) -> io::Result<ExitStatus> {
    let (program, arguments) =
        command.split_first().ok_or_else(|| io::Error::other("no command to run behind the link"))?;
    Command::new(program).args(arguments).env(HOST, OUTSIDE.to_string()).status()
}
