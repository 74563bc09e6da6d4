//! Held FINs as seen by ordinary programs at far hosts, with a kernel of their own behind a cable
//! with its default offloads.

use crate::ground::{WAYS, Way, enter, join, prepare};
use crate::rig::{Rig, Turns, bytes};
use netlab::veth::{self, End};
use netlab::{Namespace, interface};
use resoa_protocol::message::{Half, Operation};
use resoa_protocol::{RsockId, Settings, SocketCall, Value};
use resoa_server::FinHold;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

/// End of the cable in the server's namespace.
const DEVICE: &str = "near0";
/// Number of turns in which a FIN is retransmitted more than once.
const LONG: usize = 400;
/// TCP states of Linux (`linux/tcp_states.h`).
const FIN_WAIT_1: u8 = 4;
const FIN_WAIT_2: u8 = 5;

const SHUT: SocketCall = SocketCall::Shutdown(Half::Write);

struct Cable {
    far: Namespace,
    there: IpAddr,
    rig: Rig,
}

/// Creates a server, with a FIN hold or without, and a far host.
fn cable(way: Way, holds: bool) -> Option<Cable> {
    if !enter(way) {
        return None;
    }
    println!("{way:?}");
    let (here, far) = (Namespace::current().expect("a namespace"), Namespace::new().expect("a namespace"));
    prepare(&far, way);
    let end = |namespace, name, last| End { namespace, name, hardware_address: [2, 0, 0, 0, 0, last] };
    veth::pair(end(&here, DEVICE, 1), end(&far, "far0", 2)).expect("a cable");
    let indices = [(&here, DEVICE), (&far, "far0")].map(|(namespace, name)| {
        let index = interface::find(namespace, name).expect("was made").index;
        interface::change(namespace, index, &interface::Change::up()).expect("an interface");
        index
    });
    let [near, there] = way.addresses();
    join(&here, indices[0], near, there);
    join(&far, indices[1], there, near);
    let hold = holds.then(|| {
        let interfaces = FinHold::interfaces().expect("can be listed");
        assert_eq!(interfaces, [DEVICE]);
        FinHold::attach(&interfaces).expect("FINs are held")
    });
    Some(Cable { far, there, rig: Rig::holding(near, Settings::default(), hold) })
}

impl Cable {
    /// Returns a connected socket and the far host's end of it.
    fn connected(&mut self) -> (RsockId, TcpStream) {
        let there = SocketAddr::new(self.there, 0);
        let bind = || Ok(TcpListener::bind(there).expect("its own address"));
        let listener = self.far.enter(bind).expect("a namespace");
        let socket = self.rig.socket();
        let connect = Operation::Connect(listener.local_addr().expect("is bound"));
        assert_eq!(self.rig.call(socket, connect), Ok(Value::Done));
        (socket, listener.accept().expect("has connected").0)
    }
}

fn in_all_ways(test: impl Fn(Cable)) {
    for way in WAYS {
        match cable(way, true) {
            Some(cable) => test(cable),
            None => return,
        }
    }
}

/// Returns the TCP state of a far host's connection.
#[expect(unsafe_code, reason = "no safe library has TCP_INFO")]
fn state(far: &TcpStream) -> u8 {
    let mut info = [0_u8; 8];
    let mut length = info.len() as libc::socklen_t;
    let fd = std::os::fd::AsRawFd::as_raw_fd(&far.as_fd());
    // SAFETY: the kernel writes at most `length` bytes to `info`, which has as many.
    let result = unsafe {
        libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, info.as_mut_ptr().cast(), &raw mut length)
    };
    assert_eq!(result, 0, "TCP_INFO");
    info[0]
}

fn turns(rig: &mut Rig) {
    for _ in 0..LONG {
        rig.turn();
    }
}

/// The far host's program writes, closes, and waits until everything is acknowledged. Returns
/// whether its `close` returned before the client has anything.
fn returns_too_early(Cable { rig, .. }: &mut Cable, far: TcpStream) -> bool {
    (&far).write_all(b"precious").expect("is taken");
    rustix::net::sockopt::set_socket_linger(&far, Some(Duration::from_mins(5))).expect("is a socket");
    rig.stalled = true;
    let close = thread::spawn(|| drop(far));
    turns(rig);
    let early = close.is_finished();
    rig.stalled = false;
    rig.until(|_| close.is_finished().then_some(()));
    early
}

/// C59 (I7): a lingering `close` of the far host returns when all data is at the client's host, and
/// not before.
#[test]
fn lingering_close_waits_for_the_client() {
    in_all_ways(|mut cable| {
        let (socket, far) = cable.connected();
        assert!(!returns_too_early(&mut cable, far));
        assert_eq!(cable.rig.read(socket, 100), bytes(b"precious"));
        assert_eq!(cable.rig.read(socket, 100), bytes(b""));
        assert_eq!(cable.rig.close(socket), Ok(Value::Done));
        cable.rig.nothing_is_left();
    });
}

/// C100: without the hold I7 is violated, and the test above would detect it.
#[test]
fn without_the_hold_it_does_not() {
    for way in WAYS {
        let Some(mut cable) = cable(way, false) else { return };
        let (_socket, far) = cable.connected();
        assert!(returns_too_early(&mut cable, far));
    }
}

/// C61: while the FIN is held, data in the other direction passes, in segments that a device would
/// split, and does not acknowledge the FIN. A megabyte follows the release.
#[test]
fn octets_the_other_way() {
    in_all_ways(|mut cable| {
        let (socket, mut far) = cable.connected();
        cable.rig.stalled = true;
        far.shutdown(Shutdown::Write).expect("is connected");
        let most = vec![7; 60_000];
        assert_eq!(cable.rig.send(socket, &most), Ok(Value::Count(most.len())));
        let mut octets = vec![0; most.len()];
        cable.rig.far(|| far.read_exact(&mut octets).expect("arrives"));
        assert!(octets == most);
        turns(&mut cable.rig);
        assert_eq!(state(&far), FIN_WAIT_1);
        cable.rig.stalled = false;
        cable.rig.until(|_| (state(&far) == FIN_WAIT_2).then_some(()));
        let all = vec![9; 1 << 20];
        let send = cable.rig.begin(socket, crate::rig::sending(all.clone()));
        let mut octets = vec![0; all.len()];
        cable.rig.far(|| far.read_exact(&mut octets).expect("arrives"));
        assert!(octets == all);
        assert_eq!(cable.rig.until(|rig| rig.ended(send)), Ok(Value::Count(all.len())));
        assert_eq!(cable.rig.close(socket), Ok(Value::Done));
        assert_eq!(cable.rig.far(|| far.read(&mut [0; 1])).expect("FIN, not RST"), 0);
        cable.rig.nothing_is_left();
    });
}

/// C67: the program shuts its half down, or closes, while the FIN is held and retransmitted. The
/// far host reads the end of the stream and no error.
#[test]
fn program_ends_while_held() {
    in_all_ways(|mut cable| {
        for closes in [false, true] {
            let (socket, mut far) = cable.connected();
            cable.rig.stalled = true;
            far.shutdown(Shutdown::Write).expect("is connected");
            turns(&mut cable.rig);
            assert_eq!(state(&far), FIN_WAIT_1);
            if closes {
                assert_eq!(cable.rig.close(socket), Ok(Value::Done));
            } else {
                assert_eq!(cable.rig.call(socket, SHUT), Ok(Value::Done));
                turns(&mut cable.rig);
                assert_eq!(state(&far), FIN_WAIT_1);
                cable.rig.stalled = false;
                assert_eq!(cable.rig.close(socket), Ok(Value::Done));
            }
            assert_eq!(cable.rig.far(|| far.read(&mut [0; 1])).expect("FIN, not RST"), 0);
            assert_eq!(far.take_error().expect("is a socket").map(|error| error.kind()), None);
            cable.rig.stalled = false;
            cable.rig.nothing_is_left();
        }
        assert_eq!(cable.rig.host.fin_hold().expect("is there").waiting(), 0);
    });
}

/// C68: the client is lost while the FIN is held, before the server's own FIN and after it. The far
/// host's program gets an error.
#[test]
fn client_is_lost_while_held() {
    for way in WAYS {
        for shuts in [false, true] {
            let Some(mut cable) = cable(way, true) else { return };
            let (socket, mut far) = cable.connected();
            if shuts {
                assert_eq!(cable.rig.call(socket, SHUT), Ok(Value::Done));
                assert_eq!(cable.rig.far(|| far.read(&mut [0; 1])).expect("FIN"), 0);
            }
            cable.rig.stalled = true;
            far.write_all(b"precious").expect("is taken");
            far.shutdown(Shutdown::Write).expect("is connected");
            turns(&mut cable.rig);
            cable.rig.cut();
            let error = cable.rig.until(|_| far.take_error().expect("is a socket").map(|error| error.kind()));
            assert_eq!(error, ErrorKind::ConnectionReset);
        }
    }
}

/// C63, C65: both ends shut down their halves at the same time, many times over. All data arrives,
/// without errors.
#[test]
fn both_shut_at_a_time() {
    in_all_ways(|mut cable| {
        for _ in 0..20 {
            let (socket, mut far) = cable.connected();
            assert_eq!(cable.rig.send(socket, b"down"), Ok(Value::Count(4)));
            far.write_all(b"up").expect("is taken");
            let shut = cable.rig.begin(socket, SHUT);
            far.shutdown(Shutdown::Write).expect("is connected");
            let mut octets = Vec::new();
            cable.rig.far(|| far.read_to_end(&mut octets).expect("FIN, not RST"));
            assert_eq!(octets, b"down");
            assert_eq!(cable.rig.until(|rig| rig.ended(shut)), Ok(Value::Done));
            assert_eq!(cable.rig.read(socket, 100), bytes(b"up"));
            assert_eq!(cable.rig.read(socket, 100), bytes(b""));
            assert_eq!(cable.rig.close(socket), Ok(Value::Done));
            cable.rig.nothing_is_left();
        }
        assert_eq!(cable.rig.host.fin_hold().expect("is there").waiting(), 0);
    });
}
