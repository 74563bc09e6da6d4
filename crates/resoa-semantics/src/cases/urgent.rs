//! Urgent data: its position in the stream, and its notifications.

use super::cases;
use crate::near::Near;
use crate::sys;

cases! {
    "C45" Both: apart, none, at_the_mark, inline_octet, signal, polled, sent, before_and_after, select_exceptional;
}

fn apart(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("oob", &format!("oob {} !", far.0));
    n.until("poll", fd, libc::POLLPRI);
    n.receive("recv OOB", fd, 1, libc::MSG_OOB);
    n.receive("recv OOB again", fd, 1, libc::MSG_OOB);
    n.receive("recv", fd, 10, libc::MSG_DONTWAIT);
}

fn none(n: &mut Near) {
    let (fd, far) = n.connected();
    n.receive("recv OOB", fd, 1, libc::MSG_OOB);
    n.hear("send", &format!("send {} x", far.0));
    n.until("poll", fd, libc::POLLIN);
    n.receive("recv OOB", fd, 1, libc::MSG_OOB);
}

fn at_the_mark(n: &mut Near) {
    let (fd, far) = n.connected();
    let mut mark = -1;
    n.say("SIOCATMARK", sys::ioctl(fd, 0x8905, &mut mark));
    n.say("is", mark);
    n.hear("send", &format!("send {} ab", far.0));
    n.hear("oob", &format!("oob {} !", far.0));
    n.hear("send", &format!("send {} cd", far.0));
    n.until("poll", fd, libc::POLLPRI);
    sys::ioctl(fd, 0x8905, &mut mark);
    n.say("before", mark);
    n.receive("recv stops at the mark", fd, 10, 0);
    sys::ioctl(fd, 0x8905, &mut mark);
    n.say("at it", mark);
    n.receive("recv OOB", fd, 1, libc::MSG_OOB);
    n.receive("recv", fd, 10, 0);
    sys::ioctl(fd, 0x8905, &mut mark);
    n.say("after", mark);
}

fn inline_octet(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("SO_OOBINLINE", sys::set(fd, libc::SOL_SOCKET, libc::SO_OOBINLINE, 1));
    n.hear("send", &format!("send {} ab", far.0));
    n.hear("oob", &format!("oob {} !", far.0));
    n.hear("send", &format!("send {} cd", far.0));
    n.until("poll", fd, libc::POLLPRI);
    n.receive("recv OOB", fd, 1, libc::MSG_OOB);
    n.receive("recv", fd, 10, 0);
    n.receive("recv", fd, 10, 0);
}

fn signal(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("F_SETOWN", sys::fcntl(fd, libc::F_SETOWN, std::process::id().cast_signed()));
    n.say("F_GETOWN", sys::fcntl(fd, libc::F_GETOWN, 0).0 == Ok(i64::from(std::process::id())));
    n.hear("oob", &format!("oob {} !", far.0));
    n.until("poll", fd, libc::POLLPRI);
    n.signals("signals", &[libc::SIGURG]);
}

fn polled(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} ab", far.0));
    n.hear("oob", &format!("oob {} !", far.0));
    n.until("poll", fd, libc::POLLPRI);
    n.receive("recv OOB", fd, 1, libc::MSG_OOB);
    n.mask("poll after", fd);
    n.receive("recv", fd, 10, 0);
    n.mask("poll at the end", fd);
}

fn sent(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("send", sys::send(fd, b"ab", 0));
    n.say("send OOB", sys::send(fd, b"!", libc::MSG_OOB));
    Near::settle();
    n.hear("mask", &format!("mask {}", far.0));
    n.hear("recv_oob", &format!("recv_oob {}", far.0));
    n.hear("recv", &format!("recv {} 10", far.0));
}

fn before_and_after(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("oob", &format!("oob {} 1", far.0));
    n.until("poll", fd, libc::POLLPRI);
    n.hear("oob", &format!("oob {} 2", far.0));
    Near::settle();
    n.receive("recv OOB", fd, 1, libc::MSG_OOB);
    n.receive("recv", fd, 10, libc::MSG_DONTWAIT);
}

fn select_exceptional(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("oob", &format!("oob {} !", far.0));
    let text = super::polling::select(fd, 3000, [false, false, true]);
    n.say("select", text);
}
