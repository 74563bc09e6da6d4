//! Network namespaces that only threads and processes hold, so that none can be left behind.

use netlab::Namespace;
use netlab::address::{self, Address};
use netlab::route::{self, Metrics, Prefix, Route};
use netlab::tun::{Tun, TunOptions};
use nix::sched::{CloneFlags, unshare};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::thread;

/// Queue length of a device, in packets. The kernel's 500 or 1000 overflow when a window of 10 ms
/// arrives in one burst.
pub const QUEUE: u32 = 5000;

/// Runs `work` on a thread in a new network namespace. Processes that the thread starts are in it
/// too.
///
/// # Errors
/// If namespaces cannot be made here, or `work` fails.
pub fn in_new_namespace<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            leave_for_new_namespace()?;
            work()
        });
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Moves the calling thread, and everything that it starts from now on, into a new network
/// namespace.
///
/// # Errors
/// If namespaces cannot be made here.
pub fn leave_for_new_namespace() -> io::Result<()> {
    let namespace = unshare(CloneFlags::CLONE_NEWNET);
    namespace.map_err(|error| {
        io::Error::other(format!("cannot create a network namespace: {error}; run as root"))
    })?;
    ip("link set lo up")
}

/// Creates the TUN device `name` in the calling thread's namespace and brings it up, with the
/// address `own` and a route to its only neighbour `peer`. It vanishes when its file descriptor is
/// closed.
///
/// # Errors
/// If there are no TUN devices here.
pub fn tun(name: &str, own: Ipv4Addr, peer: Ipv4Addr) -> io::Result<OwnedFd> {
    let make = || {
        let here = Namespace::current()?;
        let options = TunOptions { name: name.into(), queue_length: QUEUE, ..TunOptions::default() };
        let tun = Tun::open(&here, &options)?;
        let index = tun.index();
        address::add(&here, Address { index, address: own.into(), prefix_length: 32 })?;
        route::add(&here, &Route::on_link(Prefix::host(peer.into()), index, Metrics::default()))?;
        tun.descriptor()
    };
    make().map_err(io::Error::other)
}

/// Runs iproute2 in the calling thread's network namespace.
///
/// # Errors
/// The message of iproute2.
pub fn ip(arguments: &str) -> io::Result<()> {
    run(Command::new("ip"), arguments)
}

/// Runs iproute2 in the network namespace of a process.
///
/// # Errors
/// The message of iproute2.
pub fn ip_in(process: u32, arguments: &str) -> io::Result<()> {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net=/proc/{process}/ns/net")).arg("ip");
    run(command, arguments)
}

fn run(mut command: Command, arguments: &str) -> io::Result<()> {
    let output = command.args(arguments.split_whitespace()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("`ip {arguments}` failed: {}", said.trim())))
}

/// Allows socket buffers that are large enough for a long fast link, in the calling thread's
/// network namespace.
///
/// # Errors
/// If this user may not change the namespace's settings.
pub fn allow_large_buffers() -> io::Result<()> {
    for (file, value) in [("tcp_rmem", "4096 131072 67108864"), ("tcp_wmem", "4096 65536 67108864")] {
        std::fs::write(format!("/proc/sys/net/ipv4/{file}"), value)?;
    }
    Ok(())
}
