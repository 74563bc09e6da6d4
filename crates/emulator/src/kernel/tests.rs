//! Tests of the driver on pairs of datagram sockets in place of TUN descriptors: each datagram is a
//! packet. None depends on the speed of the machine: the best of many waits counts.

use super::*;
use crate::control::{Command, control};
use packet::Layer;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::os::fd::{AsFd, OwnedFd};

fn kernel() -> Kernel {
    Kernel::new(&control().expect("a bell").1).expect("descriptors")
}

/// The driver with each way to write that this machine supports.
fn kernels() -> Vec<Kernel> {
    let mut all = vec![Kernel { batch: Batch::one_by_one(), ..kernel() }];
    if Batch::new().has_ring() {
        all.push(kernel());
    } else {
        skip::skip!("io_uring is forbidden here");
    }
    all
}

/// Adds a port on one socket of a pair; returns it and the other socket.
fn port(kernel: &mut Kernel) -> (PortId, OwnedFd) {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::DGRAM, flags, None).expect("two sockets");
    (kernel.add(Port::new(ours, Layer::Ip, Segments::Split, 1500)).expect("a port"), theirs)
}

/// Packet number `n`, long enough for an IPv4 header.
fn bytes(n: u32) -> Vec<u8> {
    let mut bytes = vec![0x45; 20 + n as usize % 1400];
    bytes[..4].copy_from_slice(&n.to_be_bytes());
    bytes
}

fn write(to: &OwnedFd, n: u32) -> rustix::io::Result<usize> {
    rustix::io::write(to, &bytes(n))
}

fn read(from: &OwnedFd) -> rustix::io::Result<Vec<u8>> {
    let mut memory = vec![0; 2000];
    let length = rustix::io::read(from, &mut memory)?;
    memory.truncate(length);
    Ok(memory)
}

fn send(kernel: &mut Kernel, port: PortId, n: u32) -> io::Result<()> {
    kernel.send(port, Frame::owned(Layer::Ip, bytes(n)))
}

/// Receives from `port` until no packet is left. Reads at most three packets after each wait, so
/// that ports stay ready.
fn receive_all(kernel: &mut Kernel, port: PortId) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let mut ready = Vec::new();
        let soon = kernel.now();
        kernel.wait(soon, &mut ready).expect("a wait");
        if !ready.contains(&port) {
            return all;
        }
        let mut frames = Vec::new();
        for _ in 0..3 {
            if !kernel.receive(port, &mut frames).expect("packets") {
                break;
            }
        }
        for frame in frames.drain(..) {
            all.push(frame.to_bytes().into_owned());
            kernel.recycle(frame);
        }
    }
}

#[test]
fn packets_come_in_their_order_however_many() {
    for mut kernel in kernels() {
        let (port, network) = port(&mut kernel);
        // The host determines how many fit into a socket (net.unix.max_dgram_qlen). Receiving makes
        // room.
        let (mut sent, mut received) = (0, Vec::new());
        while received.len() < 300 {
            while sent < 300 && write(&network, sent).is_ok() {
                sent += 1;
            }
            received.append(&mut receive_all(&mut kernel, port));
        }
        let expected: Vec<_> = (0..300).map(bytes).collect();
        assert!(received == expected, "lost, changed or out of order");
    }
}

/// The time of arrival is taken after the reads, so a packet that comes alone does not wait for a
/// read that finds nothing. Of more, each call reads twice as many as the one before.
#[test]
fn a_packet_that_comes_alone_is_read_alone() {
    let mut kernel = kernel();
    let (port, network) = port(&mut kernel);
    for _ in 0..2 {
        for (waiting, reads) in
            [(1, vec![(true, 1), (false, 0)]), (4, vec![(true, 1), (true, 2), (false, 1)])]
        {
            (0..waiting).for_each(|n| assert!(write(&network, n).is_ok(), "there is room for {waiting}"));
            for expected in reads {
                let mut frames = Vec::new();
                let more = kernel.receive(port, &mut frames).expect("packets");
                assert_eq!((more, frames.len()), expected, "of {waiting}");
            }
        }
    }
}

#[test]
fn packets_leave_in_their_order_when_they_are_flushed() {
    for mut kernel in kernels() {
        let (port, network) = port(&mut kernel);
        for burst in [0..5, 5..6, 6..14] {
            burst.clone().for_each(|n| send(&mut kernel, port, n).expect("sent"));
            kernel.flush().expect("flushed");
            let left: Vec<_> = burst.clone().map(|_| read(&network).expect("a packet")).collect();
            assert_eq!(left, burst.map(bytes).collect::<Vec<_>>());
        }
    }
}

/// A batch is written when it is full.
#[test]
fn a_long_burst_does_not_wait_for_its_end() {
    for mut kernel in kernels() {
        let (port, network) = port(&mut kernel);
        let mut left = Vec::new();
        for n in 0..100 {
            send(&mut kernel, port, n).expect("sent");
            left.extend(std::iter::from_fn(|| read(&network).ok()));
            assert!(left.len() + 16 > n as usize, "{} of {n} packets", left.len());
        }
        assert_eq!(left, (0..left.len() as u32).map(bytes).collect::<Vec<_>>());
    }
}

/// Files in memory do not support writes that must not wait, like TUN devices before Linux 6.2.
#[test]
fn descriptors_without_support_for_the_ring_are_written_one_by_one() {
    let file = rustix::fs::memfd_create("packets", rustix::fs::MemfdFlags::CLOEXEC).expect("a file");
    let (mut batch, mut buffers) = (Batch::new(), Buffers::default());
    for n in 0..3 {
        batch.write(file.as_fd(), bytes(n), &mut buffers);
    }
    batch.submit(&mut buffers);
    assert!(batch.refused().is_none() && !batch.has_ring());
    batch.write(file.as_fd(), bytes(3), &mut buffers);
    let expected: Vec<u8> = (0..4).flat_map(bytes).collect();
    let mut written = vec![0; expected.len() + 1];
    let length = rustix::io::pread(&file, &mut written, 0).expect("a read");
    assert!(written[..length] == expected, "{length} bytes instead of {}", expected.len());
}

#[test]
fn a_packet_ends_a_wait() {
    let mut kernel = kernel();
    let (port, network) = port(&mut kernel);
    let long = kernel.now() + Span::from_secs(3600);
    let mut ready = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            write(&network, 1).expect("room in a socket");
        });
        while ready.is_empty() {
            kernel.wait(long, &mut ready).expect("a wait");
        }
    });
    assert_eq!(ready, [port]);
}

#[test]
fn a_command_ends_a_wait_each_time() {
    let (control, controls) = control().expect("a bell");
    let mut kernel = Kernel::new(&controls).expect("descriptors");
    for _ in 0..3 {
        control.tell(Command::Stop);
        let mut command = None;
        while command.is_none() {
            kernel.wait(Time::NEVER, &mut Vec::new()).expect("a wait");
            command = controls.next();
        }
        assert!(matches!(command, Some(Command::Stop)));
    }
}

#[test]
fn each_refused_packet_is_reported() {
    for mut kernel in kernels() {
        let (port, network) = port(&mut kernel);
        drop(network);
        let mut refused = 0;
        for n in 0..20 {
            refused += usize::from(send(&mut kernel, port, n).is_err());
        }
        while kernel.flush().is_err() {
            refused += 1;
        }
        assert_eq!(refused, 20);
    }
}

#[test]
fn no_wait_ends_early_unless_something_has_come() {
    let mut kernel = kernel();
    let (_, _network) = port(&mut kernel);
    let begin = std::time::Instant::now();
    let origin = kernel.now();
    for millis in [3, 5, 6, 20, 21] {
        let until = origin + Span::from_millis(millis);
        while kernel.now() < until {
            kernel.wait(until, &mut Vec::new()).expect("a wait");
        }
        assert!(begin.elapsed().as_nanos() >= u128::from((until - origin).as_nanos()));
    }
}

/// Returns how late each of `count` waits of `span` ended, and the maximum number of calls of a
/// wait.
fn lateness(kernel: &mut Kernel, span: Span, count: usize) -> (Vec<Span>, usize) {
    let mut most = 0;
    let mut late = Vec::new();
    for _ in 0..count {
        let until = kernel.now() + span;
        let mut calls = 0;
        while kernel.now() < until {
            assert!(kernel.wait(until, &mut Vec::new()).expect("a wait"));
            calls += 1;
        }
        most = most.max(calls);
        late.push(kernel.now() - until);
    }
    late.sort();
    (late, most)
}

/// `epoll_wait` counts in milliseconds: 200 us would take 1 ms each time. The second wait for a
/// packet would be late by the rest of the millisecond of the first.
#[test]
fn waits_are_not_rounded_to_milliseconds() {
    let mut kernel = kernel();
    let (late, _) = lateness(&mut kernel, Span::from_micros(200), 200);
    assert!(late[0] < Span::from_micros(600), "{:?}", late[0]);
    let (late, _) = lateness(&mut kernel, Span::from_micros(1500), 50);
    assert!(late[0] < Span::from_micros(400), "{:?}", late[0]);
}

/// The kernel may end a wait of 400 ms late by 2 ms for a nice process, and by 0.4 ms for others.
#[test]
fn long_waits_are_as_exact_as_short_ones() {
    let (late, calls) = lateness(&mut kernel(), Span::from_millis(400), 3);
    assert!(late[0] < Span::from_micros(350), "{:?}", late[0]);
    // 400 ms, 3 ms, the rest. A signal or a bell would add calls, but there is none.
    assert!(calls <= 4, "{calls} calls");
}

#[test]
fn precise_waits_end_by_spinning() {
    let mut kernel = kernel().precise();
    // Beside busy processes, all of 50 waits were late by 24 us and more, so others follow.
    let exact = Span::from_micros(20);
    let is_exact = (0..40).any(|_| lateness(&mut kernel, Span::from_millis(2), 50).0[0] < exact);
    assert!(is_exact, "none of 2000 waits");
}

/// A wait that is shorter than [`SPIN`] gives the processor away only if it is not precise.
#[test]
fn short_precise_waits_do_not_sleep() {
    let sleeps = |mut kernel: Kernel| {
        // The first wait sets the thread's timer slack.
        lateness(&mut kernel, SPIN, 1);
        let before = voluntary_switches();
        lateness(&mut kernel, Span::from_nanos(SPIN.as_nanos() / 2), 200);
        voluntary_switches() - before
    };
    assert_eq!(sleeps(kernel().precise()), 0);
    assert!(sleeps(kernel()) > 0);
}

/// Returns how often this thread has given the processor away (proc(5)).
fn voluntary_switches() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("proc");
    let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    count.and_then(|count| count.trim().parse().ok()).expect("a number")
}
