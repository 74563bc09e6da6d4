//! Tests of both kernel drivers, on pairs of datagram sockets in place of TUN descriptors. Each
//! datagram is a packet. If the host forbids io_uring, the tests skip that driver and say so.

use super::*;
use crate::control::{Command, Control, control};
use crate::host::Host;
use crate::kernel::{Kernel, Segments};
use link::units::Span;
use packet::Layer;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::os::fd::OwnedFd;

/// The drivers that this machine supports, each with both sides of its control.
fn drivers() -> Vec<(Host, Control, Controls)> {
    let (control, controls) = control_pair();
    let mut all = vec![(Host::Kernel(Kernel::new(&controls).expect("epoll")), control, controls)];
    let (control, controls) = control_pair();
    match Ring::new(&controls) {
        Ok(ring) => all.push((Host::Ring(ring), control, controls)),
        Err(error) => skip::skip!("the driver by io_uring: {error}"),
    }
    all
}

fn control_pair() -> (Control, Controls) {
    control().expect("a bell")
}

/// A port, and the socket that stands for the network behind it.
fn port(driver: &mut Host) -> (PortId, OwnedFd) {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::DGRAM, flags, None).expect("two sockets");
    (driver.add(Port::new(ours, Layer::Ip, Segments::Split, 1500)).expect("a port"), theirs)
}

/// Packet number `n`, long enough for an IPv4 header.
fn bytes(n: u32) -> Vec<u8> {
    let mut bytes = vec![0x45; 20 + n as usize % 1400];
    bytes[..4].copy_from_slice(&n.to_be_bytes());
    bytes
}

fn write(to: &OwnedFd, n: u32) {
    rustix::io::write(to, &bytes(n)).expect("room in a socket");
}

fn read(from: &OwnedFd) -> rustix::io::Result<Vec<u8>> {
    let mut memory = vec![0; 2000];
    let length = rustix::io::read(from, &mut memory)?;
    memory.truncate(length);
    Ok(memory)
}

/// Receives from `port` until no packet is left.
fn receive_all(driver: &mut Host, port: PortId) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let mut ready = Vec::new();
        let soon = driver.now();
        driver.wait(soon, &mut ready).expect("a wait");
        if !ready.contains(&port) {
            return all;
        }
        let mut frames = Vec::new();
        while driver.receive(port, &mut frames).expect("packets") {}
        for frame in frames.drain(..) {
            all.push(frame.to_bytes().into_owned());
            driver.recycle(frame);
        }
    }
}

/// The 300 packets exceed the slots of a ring, so some have to wait in the descriptor.
#[test]
fn packets_come_in_their_order_however_many() {
    for (mut driver, ..) in drivers() {
        let (port, network) = port(&mut driver);
        // The host determines how many fit into a socket (net.unix.max_dgram_qlen). Receiving makes
        // room.
        let (mut sent, mut received) = (0, Vec::new());
        while received.len() < 300 {
            while sent < 300 && rustix::io::write(&network, &bytes(sent)).is_ok() {
                sent += 1;
            }
            received.append(&mut receive_all(&mut driver, port));
        }
        let expected: Vec<_> = (0..300).map(bytes).collect();
        assert!(received == expected, "lost, changed or out of order");
    }
}

#[test]
fn packets_are_sent_in_their_order_and_at_the_latest_by_the_next_wait() {
    for (mut driver, ..) in drivers() {
        let (port, network) = port(&mut driver);
        for n in 0..5 {
            driver.send(port, Frame::owned(Layer::Ip, bytes(n))).expect("sent");
        }
        driver.flush().expect("flushed");
        let soon = driver.now();
        driver.wait(soon, &mut Vec::new()).expect("a wait");
        let left: Vec<_> = (0..5).map(|_| read(&network).expect("a packet")).collect();
        assert_eq!(left, (0..5).map(bytes).collect::<Vec<_>>());
    }
}

#[test]
fn what_was_sent_last_leaves_when_the_driver_finishes() {
    for (mut driver, ..) in drivers() {
        let (port, network) = port(&mut driver);
        driver.send(port, Frame::owned(Layer::Ip, bytes(7))).expect("sent");
        driver.finish().expect("finished");
        assert_eq!(read(&network).expect("a packet"), bytes(7));
    }
}

#[test]
fn a_packet_ends_a_wait() {
    for (mut driver, ..) in drivers() {
        let (port, network) = port(&mut driver);
        let long = driver.now() + Span::from_secs(3600);
        let mut ready = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(20));
                write(&network, 1);
            });
            while ready.is_empty() {
                driver.wait(long, &mut ready).expect("a wait");
            }
        });
        assert_eq!(ready, [port]);
    }
}

/// Later and later times are waited for in full; so is an earlier one after them.
#[test]
fn no_wait_ends_early_unless_something_has_come() {
    for (mut driver, ..) in drivers() {
        let (_, _network) = port(&mut driver);
        let begin = std::time::Instant::now();
        driver.wait(Time::ZERO, &mut Vec::new()).expect("a wait");
        let origin = driver.now();
        for millis in [3, 5, 6, 20, 21] {
            let until = origin + Span::from_millis(millis);
            while driver.now() < until {
                driver.wait(until, &mut Vec::new()).expect("a wait");
            }
            assert!(begin.elapsed().as_nanos() >= u128::from((until - origin).as_nanos()));
        }
    }
}

/// Each wait is for a time other than that of the wait before, which a packet interrupted.
#[test]
fn a_wait_for_another_time_than_before_ends_then() {
    for (mut driver, ..) in drivers() {
        let (port, network) = port(&mut driver);
        driver.wait(Time::ZERO, &mut Vec::new()).expect("a wait");
        for (far, near) in [(1000, 10), (5, 30), (1000, 5)] {
            let origin = driver.now();
            write(&network, 1);
            let mut ready = Vec::new();
            while ready.is_empty() {
                driver.wait(origin + Span::from_millis(far), &mut ready).expect("a wait");
            }
            driver.receive(port, &mut Vec::new()).expect("a packet");
            let until = driver.now() + Span::from_millis(near);
            while driver.now() < until {
                driver.wait(until, &mut Vec::new()).expect("a wait");
            }
            assert!(driver.now() < origin + Span::from_millis(900), "it waited for the time before");
        }
    }
}

#[test]
fn a_command_ends_a_wait_each_time() {
    for (mut driver, control, controls) in drivers() {
        for _ in 0..3 {
            control.tell(Command::Stop);
            let mut command = None;
            while command.is_none() {
                driver.wait(Time::NEVER, &mut Vec::new()).expect("a wait");
                command = controls.next();
            }
            assert!(matches!(command, Some(Command::Stop)));
        }
    }
}

#[test]
fn each_packet_that_nobody_takes_is_told_of() {
    for (mut driver, ..) in drivers() {
        let (port, network) = port(&mut driver);
        drop(network);
        let mut refused = 0;
        for n in 0..3 {
            refused += usize::from(driver.send(port, Frame::owned(Layer::Ip, bytes(n))).is_err());
        }
        refused += usize::from(driver.finish().is_err());
        while driver.flush().is_err() {
            refused += 1;
        }
        assert_eq!(refused, 3);
    }
}

/// How late a wait ends in a kernel whose clock jumps. With other kernels there is nothing to
/// measure.
#[test]
fn in_virtual_time_waits_end_within_a_microsecond() {
    let (_control, controls) = control_pair();
    let Host::Ring(mut ring) = Host::new(&controls).expect("a driver") else { return };
    // Until its first ticks, a kernel that has just started has no timers except these.
    std::thread::sleep(std::time::Duration::from_millis(20));
    for micros in [3, 48, 67, 120, 7_000, 400_000, 90_000_000] {
        for _ in 0..20 {
            ring.wait(Time::ZERO, &mut Vec::new()).expect("a wait");
            let until = ring.now() + Span::from_micros(micros);
            while ring.now() < until {
                ring.wait(until, &mut Vec::new()).expect("a wait");
            }
            let ended = Time::from_nanos(monotonic() - ring.origin);
            assert!(ended >= until, "{micros} us: early by {}", until - ended);
            assert!(ended - until <= Span::from_micros(1), "{micros} us: late by {}", ended - until);
        }
    }
}
