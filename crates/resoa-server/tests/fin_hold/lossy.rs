//! A link between two kernels that loses packets, including acknowledgements of FINs.

use crate::ground::{WAYS, Way, enter, join, prepare};
use crate::rig::{Rig, Turns, bytes, reading};
use netlab::Namespace;
use netlab::tun::{self, Tun};
use resoa_protocol::message::{Half, Operation};
use resoa_protocol::{Settings, SocketCall, Value};
use resoa_server::FinHold;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// Concurrent connections.
const CONNECTIONS: usize = 12;
/// One packet in this many is lost.
const LOST: u32 = 8;

/// Forwards packets until it is dropped.
struct Link {
    ends: Arc<AtomicBool>,
    carrier: Option<JoinHandle<()>>,
}

impl Link {
    fn between(ends: [OwnedFd; 2]) -> Self {
        let stops = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stops);
        let carrier = thread::spawn(move || {
            let mut number = 1_u32;
            while !told.load(Ordering::Relaxed) {
                let mut polled = [0, 1].map(|end| PollFd::new(&ends[end], PollFlags::IN));
                let wait = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
                poll(&mut polled, Some(&wait)).expect("descriptors");
                for (from, to) in [(0, 1), (1, 0)] {
                    let mut packet = [0; 2000];
                    while let Ok(length) = rustix::io::read(&ends[from], &mut packet) {
                        // Generator of Numerical Recipes. It would give the same losses for the
                        // same sequence of packets, but the sequence differs from run to run.
                        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        if !(number >> 16).is_multiple_of(LOST) {
                            let _ = rustix::io::write(&ends[to], &packet[..length]);
                        }
                    }
                }
            }
        });
        Self { ends: stops, carrier: Some(carrier) }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(carrier) = self.carrier.take() {
            let _ = carrier.join();
        }
    }
}

fn device(namespace: &Namespace, way: Way, is_far: bool) -> (Tun, OwnedFd) {
    let tun = Tun::open(namespace, &tun::TunOptions { name: "link0".into(), ..tun::TunOptions::default() });
    let tun = tun.expect("a TUN device");
    let [near, far] = way.addresses();
    let (own, other) = if is_far { (far, near) } else { (near, far) };
    join(namespace, tun.index(), own, other);
    rustix::io::ioctl_fionbio(tun.as_fd(), true).expect("a descriptor");
    let end = tun.descriptor().expect("a descriptor");
    (tun, end)
}

/// C60, C63, C65: whatever packets are lost, including the acknowledgement of a released FIN, both
/// halves of every connection end and all data arrives. Nobody gets an error, and no state is left.
#[test]
fn everything_ends_though_packets_are_lost() {
    for way in &WAYS[..2] {
        if !enter(*way) {
            return;
        }
        let (here, there) =
            (Namespace::current().expect("a namespace"), Namespace::new().expect("a namespace"));
        prepare(&there, *way);
        let ((_near, near), (_far, far)) = (device(&here, *way, false), device(&there, *way, true));
        let _link = Link::between([near, far]);
        let [own, other] = way.addresses();
        let hold = FinHold::attach(&["link0"]).expect("FINs are held");
        let mut rig = Rig::holding(own, Settings::default(), Some(hold));
        let bind = || Ok(TcpListener::bind(SocketAddr::new(other, 0)).expect("its own address"));
        let listener = there.enter(bind).expect("a namespace");
        let address = listener.local_addr().expect("is bound");
        let sockets = [(); CONNECTIONS].map(|()| rig.socket());
        let connects = sockets.map(|socket| rig.begin(socket, Operation::Connect(address)));
        let connected = connects.map(|connect| rig.until(|rig| rig.ended(connect)));
        assert!(connected.iter().all(|outcome| *outcome == Ok(Value::Done)), "{connected:?}");
        for (number, socket) in sockets.into_iter().enumerate() {
            assert_eq!(rig.send(socket, b"down"), Ok(Value::Count(4)));
            if number % 2 == 0 {
                assert_eq!(rig.call(socket, SocketCall::Shutdown(Half::Write)), Ok(Value::Done));
            }
        }
        // All far hosts close at the same time.
        let ends: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                let mut end = rig.far(|| listener.accept()).expect("has connected").0;
                thread::spawn(move || {
                    end.write_all(b"up").expect("is taken");
                    end.shutdown(Shutdown::Write).expect("is connected");
                    let mut octets = Vec::new();
                    end.read_to_end(&mut octets).expect("FIN, not RST");
                    octets
                })
            })
            .collect();
        for socket in sockets {
            assert_eq!(rig.read(socket, 100), bytes(b"up"));
            assert_eq!(rig.call(socket, reading(100)), bytes(b""));
            assert_eq!(rig.close(socket), Ok(Value::Done));
        }
        for end in ends {
            rig.until(|_| end.is_finished().then_some(()));
            assert_eq!(end.join().expect("the far host does what it should"), b"down");
        }
        rig.nothing_is_left();
        let hold = rig.host.fin_hold().expect("is there");
        println!("{way:?}: {:?}", hold.counts().expect("can be read"));
        assert_eq!(hold.waiting(), 0);
    }
}
