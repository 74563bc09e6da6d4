//! File descriptors of sockets as the kernel sees them: their numbers and flags, and the errors of
//! calls on descriptors that are no sockets.

use super::messages::{message, part};
use super::{call, cases};
use crate::near::Near;
use crate::sys;

cases! {
    "C41" Both: flags, flags_of_ioctl, shared_flags;
    "C50" One: is_a_socket, lowest_number, reused_number, other_families, no_seek, stream_of_libc;
    "C57" One: not_open, not_a_socket;
    "C30" One: socket_errors, raw;
    "C41" One: unknown_ioctl;
}

fn flags(n: &mut Near) {
    let fd = sys::socket(n.family, libc::SOCK_STREAM, 0).descriptor();
    n.say("F_GETFL", sys::fcntl(fd, libc::F_GETFL, 0));
    n.say("F_GETFD", sys::fcntl(fd, libc::F_GETFD, 0));
    let fd =
        sys::socket(n.family, libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0).descriptor();
    n.say("F_GETFL", sys::fcntl(fd, libc::F_GETFL, 0));
    n.say("F_GETFD", sys::fcntl(fd, libc::F_GETFD, 0));
    n.connect_nonblocking(fd);
    n.say("F_GETFL when connected", sys::fcntl(fd, libc::F_GETFL, 0));
    n.say("F_SETFL", sys::fcntl(fd, libc::F_SETFL, libc::O_ASYNC));
    n.say("F_GETFL", sys::fcntl(fd, libc::F_GETFL, 0));
}

fn flags_of_ioctl(n: &mut Near) {
    let (fd, _far) = n.connected();
    let mut on = 1;
    n.say("FIONBIO", sys::ioctl(fd, libc::FIONBIO, &mut on));
    n.say("F_GETFL", sys::fcntl(fd, libc::F_GETFL, 0));
    n.receive("recv", fd, 10, 0);
    on = 0;
    n.say("FIONBIO", sys::ioctl(fd, libc::FIONBIO, &mut on));
    n.say("F_GETFL", sys::fcntl(fd, libc::F_GETFL, 0));
    n.say("FIOCLEX", sys::ioctl(fd, libc::FIOCLEX, &mut on));
    n.say("F_GETFD", sys::fcntl(fd, libc::F_GETFD, 0));
}

fn shared_flags(n: &mut Near) {
    let (fd, _far) = n.connected();
    let copy = call!(dup(fd)).descriptor();
    sys::fcntl(copy, libc::F_SETFL, libc::O_NONBLOCK);
    n.receive("recv", fd, 10, 0);
}

fn is_a_socket(n: &mut Near) {
    let fd = n.stream();
    // SAFETY: all zeros is a value of this type.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    n.say("fstat", call!(fstat(fd, &raw mut stat)));
    n.say("a socket", stat.st_mode & libc::S_IFMT == libc::S_IFSOCK);
    n.say("a terminal", call!(isatty(fd)));
}

fn lowest_number(n: &mut Near) {
    let one = n.stream();
    let two = n.stream();
    n.say("the next", two == one + 1);
    sys::close(one);
    n.say("the free one", n.stream() == one);
}

/// A reused number has no connection with the closed socket.
fn reused_number(n: &mut Near) {
    let (fd, far) = n.connected();
    sys::close(fd);
    let mut pipe = [0; 2];
    assert_eq!(call!(pipe(pipe.as_mut_ptr())).0, Ok(0), "pipe");
    n.say("the same number", pipe.contains(&fd));
    n.say("write", sys::write(pipe[1], b"x"));
    n.say("send", sys::send(fd, b"x", 0));
    n.name("getsockname", sys::getsockname(fd), 0);
    sys::close(fd);
    let [one, other] = sys::pair().expect("descriptors");
    n.say("send over a pair", sys::send(one, b"pair", 0));
    n.receive("recv over a pair", other, 10, 0);
    n.name("getsockname of a pair", sys::getsockname(fd), 0);
    n.hear("recv", &format!("recv {} 10", far.0));
}

/// Sockets of other families are the kernel's own.
fn other_families(n: &mut Near) {
    let fd = sys::socket(libc::AF_UNIX, libc::SOCK_STREAM, 0);
    n.say("AF_UNIX", fd.0.is_ok());
    n.say("recv of a fresh one", sys::recv(fd.descriptor(), &mut [0; 4], 0));
    n.say("AF_NETLINK", sys::socket(libc::AF_NETLINK, libc::SOCK_RAW, 0).0.is_ok());
    let [one, other] = sys::pair().expect("descriptors");
    sys::close(other);
    n.say("send", sys::send(one, b"x", 0));
    n.signals("signals", &[libc::SIGPIPE]);
    n.receive("recv", one, 10, 0);
}

fn no_seek(n: &mut Near) {
    let (fd, _far) = n.connected();
    n.say("lseek", call!(lseek(fd, 0, libc::SEEK_CUR)));
    n.say("pread", call!(pread(fd, [0_u8; 4].as_mut_ptr().cast(), 4, 0)));
    n.say("ftruncate", call!(ftruncate(fd, 0)));
    n.say("fsync", call!(fsync(fd)));
}

/// Streams of libc over a socket: their reads, writes and closes stay inside libc.
fn stream_of_libc(n: &mut Near) {
    let (fd, far) = n.connected();
    // SAFETY: the mode is a string, and only this thread uses the stream.
    unsafe {
        let file = libc::fdopen(fd, c"r+".as_ptr());
        libc::fputs(c"hello\n".as_ptr(), file);
        n.say("fflush", libc::fflush(file));
        n.hear("recv", &format!("recv {} 10", far.0));
        n.hear("send", &format!("send {} answer", far.0));
        n.hear("shutdown", &format!("shutdown {} 1", far.0));
        let mut room: [libc::c_char; 20] = [0; 20];
        n.say("fgets", !libc::fgets(room.as_mut_ptr(), 20, file).is_null());
        n.say("text", std::ffi::CStr::from_ptr(room.as_ptr()).to_string_lossy().into_owned());
        n.say("fclose", libc::fclose(file));
    }
    n.hear("recv", &format!("recv {} 10", far.0));
    let (fd, far) = n.connected();
    n.say("send by the same number", sys::send(fd, b"again", 0));
    n.hear("recv", &format!("recv {} 10", far.0));
}

/// Records the result of every call on a file descriptor.
fn every_call(n: &mut Near, fd: i32) {
    let to = n.far.address(n.family, 9);
    n.say("connect", sys::connect(fd, to));
    n.say("bind", sys::bind(fd, n.any(0)));
    n.say("listen", sys::listen(fd, 1));
    n.say("accept", sys::accept(fd));
    n.say("accept4", sys::accept_from(fd, 0).0);
    n.name("getsockname", sys::getsockname(fd), 0);
    n.name("getpeername", sys::getpeername(fd), 0);
    n.say("getsockopt", sys::get(fd, libc::SOL_SOCKET, libc::SO_TYPE));
    n.say("setsockopt", sys::set(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1));
    n.say("send", sys::send(fd, b"x", 0));
    n.say("recv", sys::recv(fd, &mut [0; 4], 0));
    n.say("sendto", sys::send_to(fd, b"x", 0, to));
    n.say("recvfrom", sys::receive_from(fd, &mut [0; 4], 0).0);
    let mut octet = [0];
    let mut parts = [part(&mut octet)];
    let mut message = message(&mut parts);
    n.say("sendmsg", call!(sendmsg(fd, &raw const message, 0)));
    n.say("recvmsg", call!(recvmsg(fd, &raw mut message, 0)));
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_RDWR));
    let mut count = 0;
    n.say("SIOCOUTQ", sys::ioctl(fd, libc::TIOCOUTQ, &mut count));
    n.say("SIOCATMARK", sys::ioctl(fd, 0x8905, &mut count));
}

fn not_open(n: &mut Near) {
    every_call(n, 900);
    every_call(n, -1);
    n.say("close", sys::close(900));
    n.say("read", sys::read(900, &mut [0; 4]));
    n.say("write", sys::write(900, b"x"));
}

fn not_a_socket(n: &mut Near) {
    use std::os::fd::AsRawFd;
    let file = tempfile::tempfile().expect("a file");
    every_call(n, file.as_raw_fd());
}

fn socket_errors(n: &mut Near) {
    for (what, family, kind, protocol) in [
        ("unknown family", 99, libc::SOCK_STREAM, 0),
        ("negative family", -1, libc::SOCK_STREAM, 0),
        ("no family", 0, libc::SOCK_STREAM, 0),
        ("unknown type", libc::AF_INET, 9, 0),
        ("no type", libc::AF_INET, 0, 0),
        ("wrong flags", libc::AF_INET, libc::SOCK_STREAM | 0x100, 0),
        ("SEQPACKET", libc::AF_INET, libc::SOCK_SEQPACKET, 0),
        ("UDP of a stream", libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_UDP),
        ("TCP of datagrams", libc::AF_INET6, libc::SOCK_DGRAM, libc::IPPROTO_TCP),
        ("unknown protocol", libc::AF_INET, libc::SOCK_STREAM, 99),
        ("protocol out of range", libc::AF_INET, libc::SOCK_STREAM, 999),
        ("negative protocol", libc::AF_INET, libc::SOCK_STREAM, -1),
        ("ICMP of a stream", libc::AF_INET6, libc::SOCK_STREAM, libc::IPPROTO_ICMPV6),
    ] {
        n.say(what, sys::socket(family, kind, protocol));
    }
    n.say("TCP", sys::socket(libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_TCP).0.is_ok());
    n.say("UDP", sys::socket(libc::AF_INET6, libc::SOCK_DGRAM, libc::IPPROTO_UDP).0.is_ok());
}

/// Remote sockets support only TCP and UDP, even for privileged programs.
fn raw(n: &mut Near) {
    n.say("SOCK_RAW", sys::socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP).0.is_ok());
    n.say("AF_PACKET", sys::socket(libc::AF_PACKET, libc::SOCK_RAW, 0).0.is_ok());
}

fn unknown_ioctl(n: &mut Near) {
    let (fd, _far) = n.connected();
    let mut value = 0;
    n.say("ioctl", sys::ioctl(fd, 0x1234, &mut value));
    n.say("TCGETS", sys::ioctl(fd, libc::TCGETS, &mut [0; 16][0]));
    n.say("FIOASYNC", sys::ioctl(fd, libc::FIOASYNC, &mut value));
}
