//! One TCP connection that sends as much as possible. Goodput is what the receiving application
//! reads.
//!
//! The receiver sleeps between its reads instead of blocking in them. Waking a blocked reader for
//! every packet is work of whatever delivers the packet: it took a third of the bare forwarder's
//! time, and would hide the differences between links.

use super::{PATIENCE, Watch, Window};
use crate::namespace::allow_large_buffers;
use nix::sys::socket::{setsockopt, sockopt};
use std::ffi::OsString;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Bytes per call: large enough that the calls cost little, small enough for the cache.
const CALL: usize = 256 * 1024;

/// Sleep of the receiver when there is nothing to read; at 30 Gbit/s, less than a megabyte arrives
/// meanwhile.
const NAP: Duration = Duration::from_micros(200);

/// Always set, because the default of a network namespace depends on the host. The first one that
/// is permitted is used: behind mahimahi the sender is an unprivileged user, who may only use reno.
const CONGESTION_CONTROL: [&str; 2] = ["cubic", "reno"];

/// Sends to `address` for `time`, or until the receiver has seen enough.
///
/// # Errors
/// If the connection cannot be established.
pub fn send(address: SocketAddr, time: Duration) -> io::Result<()> {
    // Without the right to do this, the host's limits apply. A link that is too long for them shows
    // it in its figure.
    let _ = allow_large_buffers();
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    congestion_control(&stream)?;
    stream.set_write_timeout(Some(time))?;
    let bytes = vec![0x5a; CALL];
    let start = Instant::now();
    while start.elapsed() < time {
        match stream.write(&bytes) {
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn congestion_control(stream: &TcpStream) -> nix::Result<()> {
    let set = |name: &str| setsockopt(stream, sockopt::TcpCongestion, &OsString::from(name));
    let [first, second] = CONGESTION_CONTROL;
    set(first).or_else(|_| set(second))
}

/// Accepts one connection and measures its goodput, in bits per second.
///
/// # Errors
/// If no sender connects, or the connection ends before the window does.
pub fn receive(listener: &TcpListener, window: Window, watch: &mut impl Watch) -> io::Result<f64> {
    let mut stream = accept(listener)?;
    stream.set_nonblocking(true)?;
    let mut bytes = vec![0; CALL];
    let mut read_until = |end: Instant| -> io::Result<u64> {
        let mut total = 0;
        while Instant::now() < end {
            match stream.read(&mut bytes) {
                Ok(0) => return Err(io::Error::other("the connection ended before the measurement did")),
                Ok(length) => total += length as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(NAP),
                Err(error) => return Err(error),
            }
        }
        Ok(total)
    };
    read_until(Instant::now() + window.after)?;
    watch.now();
    let start = Instant::now();
    let total = read_until(start + window.length)?;
    let took = start.elapsed();
    watch.now();
    Ok(total as f64 * 8.0 / took.as_secs_f64())
}

/// Accepts the first connection.
fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    let start = Instant::now();
    loop {
        match listener.accept() {
            Ok((stream, _)) => return Ok(stream),
            Err(error) if error.kind() == ErrorKind::WouldBlock && start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(io::Error::other("no sender connected in time"));
            }
            Err(error) => return Err(error),
        }
    }
}
