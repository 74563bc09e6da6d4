//! `poll`, `select` and `epoll` on sockets in every state.

use super::cases;
use crate::names;
use crate::near::{ALL, Near, stuff};
use crate::sys;

cases! {
    "C46" Both: fresh, bound, listening, connected, with_data, their_end, our_end, both_ends, full, nothing_wanted;
    "C46" One: closed_descriptor, negative_descriptor, several;
    "C46" Both: selected, select_their_end, select_reset;
    "C46" Both: edges_of_arrivals, edge_of_room, edge_of_end, edge_when_added, one_shot, level_stays, room_after_each_read, of_a_copy, two_instances;
    "C46 C48" Both: poll_time_limit;
}

/// Calls `select` on one descriptor for reading, writing and exceptional conditions. Returns the
/// sets that contain it afterwards.
pub fn select(fd: i32, wait_ms: i64, wanted: [bool; 3]) -> String {
    // SAFETY: all zeros is the empty set.
    let mut sets: [libc::fd_set; 3] = unsafe { std::mem::zeroed() };
    for (set, wanted) in sets.iter_mut().zip(wanted) {
        if wanted {
            // SAFETY: the descriptors of a case have small numbers.
            unsafe { libc::FD_SET(fd, set) };
        }
    }
    let mut limit = libc::timeval { tv_sec: wait_ms / 1000, tv_usec: wait_ms % 1000 * 1000 };
    let [read, write, exceptional] = &mut sets;
    let answer =
        super::call!(select(fd + 1, &raw mut *read, &raw mut *write, &raw mut *exceptional, &raw mut limit));
    let names: Vec<&str> = sets
        .iter()
        .zip(["read", "write", "exceptional"])
        // SAFETY: as above.
        .filter(|(set, _)| unsafe { libc::FD_ISSET(fd, *set) } && answer.0.is_ok())
        .map(|(_, name)| name)
        .collect();
    format!("{answer} {}", names.join(" "))
}

fn epoll_says(n: &mut Near, what: &str, epoll: i32, wait_ms: i32) {
    let (answer, events) = sys::epoll_wait(epoll, wait_ms);
    n.say(what, format!("{answer} {}", names::mask(events as i16)));
}

fn fresh(n: &mut Near) {
    let fd = n.stream();
    n.mask("poll", fd);
    let text = select(fd, 0, [true; 3]);
    n.say("select", text);
}

fn bound(n: &mut Near) {
    let fd = n.stream();
    n.say("bind", sys::bind(fd, n.any(0)));
    n.mask("poll", fd);
}

fn listening(n: &mut Near) {
    let (fd, address) = n.listener(4);
    n.mask("poll", fd);
    let _one = n.called(address);
    n.until("poll with one waiting", fd, libc::POLLIN);
    let _two = n.called(address);
    Near::settle();
    sys::accept(fd);
    n.mask("poll with one left", fd);
    sys::accept(fd);
    n.mask("poll with none", fd);
    let text = select(fd, 0, [true; 3]);
    n.say("select", text);
}

fn connected(n: &mut Near) {
    let (fd, _far) = n.connected();
    n.mask("poll", fd);
    let (fd, _far) = n.accepted();
    n.mask("poll of an accepted one", fd);
}

fn with_data(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} hello", far.0));
    n.until("poll", fd, libc::POLLIN);
    n.receive("recv", fd, 3, 0);
    n.mask("poll with some left", fd);
    n.receive("recv", fd, 10, 0);
    n.mask("poll after", fd);
}

fn their_end(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} hello", far.0));
    n.hear("shutdown", &format!("shutdown {} 1", far.0));
    n.until("poll", fd, libc::POLLRDHUP);
    n.receive("recv", fd, 10, 0);
    n.mask("poll after", fd);
}

fn our_end(n: &mut Near) {
    let (fd, far) = n.connected();
    sys::shutdown(fd, libc::SHUT_WR);
    n.mask("poll", fd);
    n.hear("send", &format!("send {} hello", far.0));
    n.until("poll with data", fd, libc::POLLIN);
}

fn both_ends(n: &mut Near) {
    let (fd, far) = n.connected();
    sys::shutdown(fd, libc::SHUT_WR);
    n.hear("send", &format!("send {} hello", far.0));
    n.hear("close", &format!("close {}", far.0));
    n.until("poll", fd, libc::POLLHUP);
    n.receive("recv", fd, 10, 0);
    n.mask("poll after", fd);
}

fn full(n: &mut Near) {
    let (fd, far) = n.connected();
    stuff(fd);
    n.mask("poll", fd);
    n.hear("send", &format!("send {} hello", far.0));
    n.until("poll with data", fd, libc::POLLIN);
    let text = select(fd, 0, [true; 3]);
    n.say("select", text);
}

fn nothing_wanted(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("reset", &format!("reset {}", far.0));
    Near::settle();
    n.say("poll for nothing", names::mask(sys::poll(fd, 0, 3000).1));
}

fn closed_descriptor(n: &mut Near) {
    let fd = n.stream();
    sys::close(fd);
    let (answer, events) = sys::poll(fd, ALL, 0);
    n.say("poll", format!("{answer} {}", names::mask(events)));
    let text = select(fd, 0, [true; 3]);
    n.say("select", text);
}

fn negative_descriptor(n: &mut Near) {
    let (answer, events) = sys::poll(-1, ALL, 0);
    n.say("poll", format!("{answer} {}", names::mask(events)));
}

fn several(n: &mut Near) {
    let ((one, far), (two, _)) = (n.connected(), n.connected());
    n.hear("send", &format!("send {} x", far.0));
    let mut list = [one, two].map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    n.say("poll", super::call!(poll(list.as_mut_ptr(), 2, 3000)));
    n.say("which", format!("{} {}", names::mask(list[0].revents), names::mask(list[1].revents)));
}

fn selected(n: &mut Near) {
    let (fd, far) = n.connected();
    let text = select(fd, 0, [true; 3]);
    n.say("select", text);
    n.hear("send", &format!("send {} x", far.0));
    let text = select(fd, 3000, [true, false, false]);
    n.say("select for reading", text);
}

fn select_their_end(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("shutdown", &format!("shutdown {} 1", far.0));
    let text = select(fd, 3000, [true, false, true]);
    n.say("select", text);
}

fn select_reset(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("reset", &format!("reset {}", far.0));
    let text = select(fd, 3000, [true, false, false]);
    n.say("select", text);
    let text = select(fd, 0, [true; 3]);
    n.say("select for all", text);
}

/// Each arrival causes an edge, whether the earlier data was read or not.
fn edges_of_arrivals(n: &mut Near) {
    let (fd, far) = n.connected();
    let epoll = sys::epoll(fd, (libc::EPOLLIN | libc::EPOLLET) as u32);
    epoll_says(n, "nothing yet", epoll, 50);
    for number in 0..3 {
        n.hear("send", &format!("send {} {number}", far.0));
        epoll_says(n, "edge", epoll, 3000);
        epoll_says(n, "no other", epoll, 50);
    }
    n.receive("recv", fd, 1, 0);
    epoll_says(n, "none of a read", epoll, 50);
}

fn edge_of_room(n: &mut Near) {
    let (fd, far) = n.connected();
    stuff(fd);
    let epoll = sys::epoll(fd, (libc::EPOLLOUT | libc::EPOLLET) as u32);
    epoll_says(n, "none while full", epoll, 50);
    n.far.start(&format!("drain {}", far.0));
    epoll_says(n, "edge", epoll, 3000);
    n.say("send", sys::send(fd, b"x", libc::MSG_DONTWAIT));
}

fn edge_of_end(n: &mut Near) {
    let (fd, far) = n.connected();
    let epoll = sys::epoll(fd, (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET) as u32);
    n.hear("shutdown", &format!("shutdown {} 1", far.0));
    epoll_says(n, "edge", epoll, 3000);
    epoll_says(n, "no other", epoll, 50);
}

fn edge_when_added(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} x", far.0));
    n.until("poll", fd, libc::POLLIN);
    let epoll = sys::epoll(fd, (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLET) as u32);
    epoll_says(n, "at once", epoll, 0);
    epoll_says(n, "no other", epoll, 50);
}

fn one_shot(n: &mut Near) {
    let (fd, far) = n.connected();
    let epoll = sys::epoll(fd, (libc::EPOLLIN | libc::EPOLLONESHOT) as u32);
    n.hear("send", &format!("send {} x", far.0));
    epoll_says(n, "once", epoll, 3000);
    n.hear("send", &format!("send {} y", far.0));
    epoll_says(n, "not twice", epoll, 100);
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
    n.say("EPOLL_CTL_MOD", super::call!(epoll_ctl(epoll, libc::EPOLL_CTL_MOD, fd, &raw mut event)));
    epoll_says(n, "again", epoll, 3000);
}

fn level_stays(n: &mut Near) {
    let (fd, far) = n.connected();
    let epoll = sys::epoll(fd, libc::EPOLLIN as u32);
    n.hear("send", &format!("send {} xy", far.0));
    epoll_says(n, "epoll", epoll, 3000);
    n.receive("recv", fd, 1, 0);
    epoll_says(n, "epoll with some left", epoll, 50);
    n.receive("recv", fd, 1, 0);
    epoll_says(n, "epoll with none", epoll, 50);
}

/// A connected stream whose peer reads nothing stays writable while there is space, however much
/// was read from it.
fn room_after_each_read(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("flood", &format!("flood {} 40000", far.0));
    n.until("poll", fd, libc::POLLIN);
    let mut room = vec![0; 10_000];
    for _ in 0..4 {
        n.say("recv", sys::recv(fd, &mut room, libc::MSG_WAITALL));
        n.say("send", sys::send(fd, b"x", libc::MSG_DONTWAIT));
    }
    n.mask("poll at the end", fd);
}

/// epoll watches the socket and not its number.
fn of_a_copy(n: &mut Near) {
    let (fd, far) = n.connected();
    let copy = super::call!(dup(fd)).descriptor();
    let epoll = sys::epoll(fd, libc::EPOLLIN as u32);
    n.say("close", sys::close(fd));
    n.hear("send", &format!("send {} x", far.0));
    epoll_says(n, "epoll", epoll, 3000);
    n.receive("recv", copy, 10, 0);
}

fn two_instances(n: &mut Near) {
    let (fd, far) = n.connected();
    let [one, two] = [(); 2].map(|()| sys::epoll(fd, (libc::EPOLLIN | libc::EPOLLET) as u32));
    n.hear("send", &format!("send {} x", far.0));
    epoll_says(n, "one", one, 3000);
    epoll_says(n, "two", two, 3000);
}

fn poll_time_limit(n: &mut Near) {
    let (fd, _far) = n.connected();
    let begin = std::time::Instant::now();
    let (answer, events) = sys::poll(fd, libc::POLLIN, 300);
    n.say("poll", format!("{answer} {}", names::mask(events)));
    n.took("it took", begin, 300);
}
