//! Data in both directions, and its ends.

use crate::rig::{PATIENCE, Rig, read_exactly, until_polled, until_polled_has};
use rustix::buffer::spare_capacity;
use rustix::event::{PollFlags, Timespec, epoll};
use rustix::pipe::{SpliceFlags, splice};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::thread;

/// Bytes of a long transfer.
const MANY: usize = 20 << 20;

fn pattern(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * 31 + at / 251) as u8).collect()
}

/// C21, C42, C43: large transfers in both directions at once arrive exactly as written.
#[test]
fn many_octets_each_way() {
    let rig = Rig::new();
    let (program, mut far) = rig.connected();
    let sent = pattern(MANY);
    thread::scope(|scope| {
        let mut other = far.try_clone().expect("descriptors");
        let sent = &sent;
        scope.spawn(move || {
            other.write_all(sent).expect("is connected");
            other.shutdown(Shutdown::Write).expect("is connected");
        });
        scope.spawn(|| {
            program.write(sent);
            rustix::net::shutdown(&program.fd, rustix::net::Shutdown::Write).expect("is connected");
        });
        let far = scope.spawn(move || {
            let mut heard = Vec::new();
            far.read_to_end(&mut heard).expect("to the end");
            heard
        });
        let heard = program.read_to_end().expect("to the end");
        assert!(heard == *sent, "{} of {} octets came down", heard.len(), sent.len());
        let heard = far.join().expect("reads");
        assert!(heard == *sent, "{} of {} octets came up", heard.len(), sent.len());
    });
    drop(program);
    rig.nothing_is_left();
}

/// C50: data that the kernel moves from one connection to another (Go's net package does so) comes
/// in packets of the maximum number of pages. When the far host has the data, the program may write
/// again, and gets an event.
#[test]
fn octets_from_socket_to_socket() {
    let rig = Rig::new();
    let (program, mut far) = rig.connected();
    let (source, mut from) = rig.connected();
    // So that the threads end if this one does.
    far.set_read_timeout(Some(PATIENCE)).expect("a socket");
    from.set_write_timeout(Some(PATIENCE)).expect("a socket");
    let (pipe_end, pipe_begin) = rustix::pipe::pipe().expect("descriptors");
    rustix::pipe::fcntl_setpipe_size(&pipe_begin, 1 << 20).expect("a pipe of a megabyte");
    rustix::io::ioctl_fionbio(&program.fd, true).expect("a socket");
    // Edge-triggered, unlike poll: the event for free room must arrive.
    let edges = epoll::create(epoll::CreateFlags::CLOEXEC).expect("descriptors");
    epoll::add(
        &edges,
        &program.fd,
        epoll::EventData::new_u64(0),
        epoll::EventFlags::OUT | epoll::EventFlags::ET,
    )
    .expect("an epoll");
    let limit = Timespec::try_from(PATIENCE).expect("a time");
    let flags = SpliceFlags::empty();
    let sent = pattern(MANY);
    thread::scope(|scope| {
        scope.spawn(|| from.write_all(&sent).expect("is connected"));
        let heard = scope.spawn(|| read_exactly(&mut far, sent.len()));
        let mut moved = 0;
        while moved < sent.len() {
            let mut filled = splice(&source.fd, None, &pipe_begin, None, 1 << 20, flags).expect("octets");
            moved += filled;
            while filled > 0 {
                match splice(&pipe_end, None, &program.fd, None, filled, flags) {
                    Ok(count) => filled -= count,
                    Err(error) => {
                        assert_eq!(error, rustix::io::Errno::AGAIN);
                        let mut events = Vec::with_capacity(1);
                        epoll::wait(&edges, spare_capacity(&mut events), Some(&limit)).expect("an epoll");
                        assert!(!events.is_empty(), "nobody says that there is room, after {moved} octets");
                    }
                }
            }
        }
        assert!(heard.join().expect("reads") == sent);
    });
    until_polled(&program.fd, PollFlags::OUT);
    drop((program, far, source, from));
    rig.nothing_is_left();
}

/// C52, C63 to C65: half closes in both orders, and the corresponding poll events.
#[test]
fn half_closes() {
    let rig = Rig::new();
    let both = PollFlags::IN | PollFlags::OUT | PollFlags::RDHUP;
    let (program, mut far) = rig.connected();
    far.write_all(b"last words").expect("is connected");
    far.shutdown(Shutdown::Write).expect("is connected");
    until_polled(&program.fd, both);
    assert_eq!(program.read_to_end().expect("to the end"), b"last words");
    program.write(b"still heard");
    assert_eq!(read_exactly(&mut far, 11), b"still heard");
    rustix::net::shutdown(&program.fd, rustix::net::Shutdown::Write).expect("is connected");
    assert_eq!(far.read(&mut [0]).expect("the end"), 0);
    assert_eq!(program.polled(), both | PollFlags::HUP);
    drop((program, far));

    let (program, mut far) = rig.connected();
    program.write(b"a question");
    rustix::net::shutdown(&program.fd, rustix::net::Shutdown::Write).expect("is connected");
    let mut heard = Vec::new();
    far.read_to_end(&mut heard).expect("to the end");
    assert_eq!(heard, b"a question");
    far.write_all(b"an answer").expect("is connected");
    assert_eq!(program.read(9), b"an answer");
    drop(far);
    assert_eq!(program.read_to_end().expect("to the end"), b"");
    drop(program);
    rig.nothing_is_left();
}

/// C51, C53: `close` sends all data that was written. With unread data it is a reset.
#[test]
fn close_after_writing() {
    let rig = Rig::new();
    let (program, mut far) = rig.connected();
    let sent = pattern(3 << 20);
    let reader = thread::spawn(move || {
        let mut heard = Vec::new();
        far.read_to_end(&mut heard).map(|_| heard)
    });
    program.write(&sent);
    drop(program);
    let heard = reader.join().expect("reads").expect("to the end");
    assert!(heard == sent, "{} of {} octets", heard.len(), sent.len());

    for read in [0, 3] {
        let (program, mut far) = rig.connected();
        far.write_all(b"unread").expect("is connected");
        until_polled(&program.fd, PollFlags::IN | PollFlags::OUT);
        program.read(read);
        drop(program);
        let error = far.read(&mut [0]).expect_err("a reset");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "after {read} octets");
    }
    rig.nothing_is_left();
}

/// C108, C54: a far host's reset is seen as one, with and without data of the program, and with
/// unread data, which is read first.
#[test]
fn resets_are_seen() {
    let rig = Rig::new();
    let masks = PollFlags::IN | PollFlags::OUT | PollFlags::ERR | PollFlags::HUP | PollFlags::RDHUP;
    for (up, down) in [(&b""[..], &b""[..]), (b"up", b""), (b"", b"down"), (b"up", b"down")] {
        let (program, mut far) = rig.connected();
        program.write(up);
        read_exactly(&mut far, up.len());
        far.write_all(down).expect("is connected");
        rustix::net::sockopt::set_socket_linger(&far, Some(std::time::Duration::ZERO)).expect("is a socket");
        if !down.is_empty() {
            until_polled(&program.fd, PollFlags::IN | PollFlags::OUT);
        }
        drop(far);
        until_polled(&program.fd, masks);
        assert_eq!(program.read(down.len()), down);
        assert_eq!(program.read_to_end(), Err(rustix::io::Errno::CONNRESET));
        assert_eq!(rig.error(&program), libc::ECONNRESET);
        drop(program);
    }
    rig.nothing_is_left();
}

/// C45: urgent bytes in both directions keep their place. The descriptor polls PRI, the byte is
/// read on its own, and a reset after it is still seen as one.
#[test]
fn urgent_octets() {
    use rustix::net::{RecvFlags, SendFlags, recv, send};
    let rig = Rig::new();
    let (program, mut far) = rig.connected();
    program.write(b"before");
    assert_eq!(send(&program.fd, b"xy!", SendFlags::OOB), Ok(3));
    program.write(b"after");
    assert_eq!(read_exactly(&mut far, 6), b"before");
    let mut octet = [0];
    until_polled_has(&far, PollFlags::PRI);
    assert_eq!(recv(&far, &mut octet[..], RecvFlags::OOB).map(|read| read.0), Ok(1));
    assert_eq!(octet, *b"!");
    assert_eq!(read_exactly(&mut far, 7), b"xyafter");

    far.write_all(b"down").expect("is connected");
    assert_eq!(send(&far, b"zz?", SendFlags::OOB), Ok(3));
    until_polled_has(&program.fd, PollFlags::PRI);
    assert_eq!(recv(&program.fd, &mut octet[..], RecvFlags::OOB).map(|read| read.0), Ok(1));
    assert_eq!(octet, *b"?");
    assert_eq!(program.read(6), b"downzz");
    far.write_all(b"more").expect("is connected");
    assert_eq!(program.read(4), b"more");

    assert_eq!(send(&program.fd, b"!", SendFlags::OOB), Ok(1));
    until_polled_has(&far, PollFlags::PRI);
    assert_eq!(recv(&far, &mut octet[..], RecvFlags::OOB).map(|read| read.0), Ok(1));
    rustix::net::sockopt::set_socket_linger(&far, Some(std::time::Duration::ZERO)).expect("is a socket");
    drop(far);
    until_polled_has(&program.fd, PollFlags::ERR);
    assert_eq!(program.read_to_end(), Err(rustix::io::Errno::CONNRESET));
    drop(program);
    rig.nothing_is_left();
}

/// C22, C42: if the far host reads nothing, a program can write about as much as SO_SNDBUF and the
/// far host's window allow, natively and here.
#[test]
fn writing_ends_at_the_send_buffer() {
    use std::os::fd::{AsFd, BorrowedFd};
    const BUFFER: i32 = 1 << 20;
    fn places(fd: BorrowedFd) -> usize {
        rustix::io::ioctl_fionbio(fd, true).expect("is a socket");
        let (octets, mut placed, mut refused) = (vec![1; 10_000], 0, 0);
        while refused < 100 {
            match rustix::io::write(fd, &octets) {
                Ok(count) => (placed, refused) = (placed + count, 0),
                Err(_) => refused += 1,
            }
            if refused > 0 {
                thread::sleep(std::time::Duration::from_millis(2));
            }
        }
        placed
    }
    let listener = std::net::TcpListener::bind((crate::rig::HERE, 0)).expect("loopback");
    let near = std::net::TcpStream::connect(crate::rig::at(&listener)).expect("listens");
    let far = listener.accept().expect("has connected");
    // The amount that the far host's kernel takes without its program.
    rustix::net::sockopt::set_socket_send_buffer_size(&near, 1).expect("is a socket");
    let taken = places(near.as_fd());
    let rig = Rig::new();
    let (program, other) = rig.connected();
    rig.set_option(&program, libc::SOL_SOCKET, libc::SO_SNDBUF, &[BUFFER]);
    let placed = places(program.fd.as_fd());
    println!("{placed} octets with SO_SNDBUF {BUFFER}, of which a far host takes {taken}");
    let buffer = BUFFER as usize;
    assert!(placed <= taken + buffer + (200 << 10) && 2 * placed > buffer, "{placed} octets");
    drop((far, other, program));
    rig.nothing_is_left();
}
