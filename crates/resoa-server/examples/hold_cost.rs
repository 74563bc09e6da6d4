//! Measures the cost of holding the FINs of far hosts: the time that the programs take per segment,
//! the throughput that bulk transfers lose, and 9900 FINs at a time.
//!
//! Client and server share one thread, as in the tests. The far host is behind a veth pair with its
//! default offloads. Times per segment are the kernel's own (`BPF_STATS_RUN_TIME`) and include
//! reading the clock twice. Throughputs with and without the hold are measured alternately. Run it
//! as root: `cargo run --release -p resoa-server --example hold_cost`.

#[path = "../tests/sockets/carried.rs"]
mod carried;
#[allow(dead_code, reason = "the tests use all of it")]
#[path = "../tests/sockets/guest.rs"]
mod guest;
#[allow(dead_code, reason = "the tests use all of it")]
#[path = "../tests/sockets/rig.rs"]
mod rig;

use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use netlab::address::{self, Address};
use netlab::route::{self, Metrics, Prefix, Route};
use netlab::veth::{self, End};
use netlab::{Namespace, interface, sysctl};
use resoa_protocol::message::Operation;
use resoa_protocol::{RsockId, Settings, SocketCall, Value};
use resoa_server::FinHold;
use rig::{Rig, Turns, reading, sending};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{FromRawFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

const NEAR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 9, 0, 1));
const FAR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 9, 0, 2));
const DEVICE: &str = "near0";
/// Number of connections. With both ends of each, they need about all file descriptors that a
/// process has where the limit is 20 000.
const MANY: usize = 9_900;
/// Duration of one bulk measurement.
const TURN: Duration = Duration::from_millis(500);
/// Number of measurements with the hold, and as many without.
const TURNS: usize = 41;
const CHUNK: usize = 128 << 10;

fn main() {
    // SAFETY: the descriptor table stays shared, and no other thread exists yet.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }.expect("root");
    let far = lay_cable();
    for (what, way) in [("down", bulk_down as fn(&Namespace, bool) -> f64), ("up", bulk_up)] {
        let mut pairs = Vec::new();
        for turn in 0..TURNS {
            // The order alternates, so a disturbance of some seconds affects both.
            let first = way(&far, turn % 2 == 0);
            let second = way(&far, turn % 2 == 1);
            pairs.push(if turn % 2 == 0 { (first, second) } else { (second, first) });
        }
        let mut ratios: Vec<f64> = pairs.iter().map(|(with, without)| with / without * 100.0).collect();
        let mut without: Vec<f64> = pairs.iter().map(|pair| pair.1 * 8e-9).collect();
        ratios.sort_by(f64::total_cmp);
        without.sort_by(f64::total_cmp);
        println!(
            "bulk {what}: with the hold {:.1} % of {:.2} Gbit/s without (medians of {TURNS}; {:.1} % to {:.1} %)",
            ratios[TURNS / 2],
            without[TURNS / 2],
            ratios[0],
            ratios[TURNS - 1]
        );
    }
    println!("{:<48} {:>8} {:>8}", "nanoseconds of a segment", "arrives", "leaves");
    for (what, held) in [("bulk each way, no FIN is held", 0), ("the same beside 9900 that are", MANY)] {
        let [arrives, leaves] = time_of_segment(&far, held);
        println!("{what:<48} {arrives:>8.0} {leaves:>8.0}");
    }
    for holds in [false, true] {
        many(&far, holds);
    }
}

/// Lays the veth pair between the server's namespace, which is this one, and the far host's.
/// Returns the latter.
fn lay_cable() -> Namespace {
    let (here, far) = (Namespace::current().expect("a namespace"), Namespace::new().expect("a namespace"));
    let end = |namespace, name, last| End { namespace, name, hardware_address: [2, 0, 0, 0, 9, last] };
    veth::pair(end(&here, DEVICE, 1), end(&far, "far0", 2)).expect("a cable");
    for (namespace, name, own, peer) in [(&here, DEVICE, NEAR, FAR), (&far, "far0", FAR, NEAR)] {
        interface::loopback_up(namespace).expect("loopback");
        sysctl::calm(namespace).expect("the kernel's settings");
        let index = interface::find(namespace, name).expect("was made").index;
        interface::change(namespace, index, &interface::Change::up()).expect("an interface");
        address::add(namespace, Address { index, address: own, prefix_length: 32 }).expect("an address");
        let metrics = Metrics { congestion_control: "reno".into(), ..Metrics::default() };
        route::add(namespace, &Route::on_link(Prefix::host(peer), index, metrics)).expect("a route");
    }
    far
}

fn rig(holds: bool) -> Rig {
    let hold = holds.then(|| FinHold::attach(&[DEVICE]).expect("FINs are held"));
    Rig::holding(NEAR, Settings::default(), hold)
}

fn listener(far: &Namespace) -> TcpListener {
    far.enter(|| Ok(TcpListener::bind(SocketAddr::new(FAR, 0)).expect("a port"))).expect("a namespace")
}

fn connected(rig: &mut Rig, listener: &TcpListener) -> (RsockId, TcpStream) {
    let socket = rig.socket();
    let connect = Operation::Connect(listener.local_addr().expect("is bound"));
    assert_eq!(rig.call(socket, connect), Ok(Value::Done));
    (socket, listener.accept().expect("has connected").0)
}

/// Bytes per second from the far host to the program.
fn bulk_down(far: &Namespace, holds: bool) -> f64 {
    let mut rig = rig(holds);
    let (socket, end) = connected(&mut rig, &listener(far));
    down(&mut rig, socket, end)
}

fn down(rig: &mut Rig, socket: RsockId, mut end: TcpStream) -> f64 {
    let sender = thread::spawn(move || {
        let chunk = vec![7; CHUNK];
        while end.write_all(&chunk).is_ok() {}
    });
    let (begin, mut total) = (Instant::now(), 0);
    while begin.elapsed() < TURN {
        let read = rig.begin(socket, reading(CHUNK));
        match rig.until(|rig| rig.ended(read)) {
            Ok(Value::Bytes(bytes)) => total += bytes.len(),
            other => panic!("{other:?}"),
        }
    }
    let rate = total as f64 / begin.elapsed().as_secs_f64();
    let _ = rig.close(socket);
    rig.until(|_| sender.is_finished().then_some(()));
    rate
}

/// Bytes per second from the program to the far host.
fn bulk_up(far: &Namespace, holds: bool) -> f64 {
    let mut rig = rig(holds);
    let (socket, end) = connected(&mut rig, &listener(far));
    up(&mut rig, socket, end)
}

fn up(rig: &mut Rig, socket: RsockId, mut end: TcpStream) -> f64 {
    let reader = thread::spawn(move || {
        let mut buffer = vec![0; CHUNK];
        let mut total = 0;
        while let Ok(count @ 1..) = end.read(&mut buffer) {
            total += count;
        }
        total
    });
    let begin = Instant::now();
    while begin.elapsed() < TURN {
        let send = rig.begin(socket, sending(vec![7; CHUNK]));
        rig.until(|rig| rig.ended(send)).expect("is connected");
    }
    let _ = rig.close(socket);
    rig.until(|_| reader.is_finished().then_some(()));
    reader.join().expect("counts") as f64 / begin.elapsed().as_secs_f64()
}

/// Run times of the programs in nanoseconds and how often they ran: for arriving segments, then for
/// leaving ones.
fn run_times() -> [(u64, u64); 2] {
    let mut times = [(0, 0); 2];
    for program in ProgInfoIter::with_query_opts(ProgInfoQueryOptions::default()) {
        let place = match program.name.to_str() {
            Some("hold_ingress_ethernet" | "hold_ingress_et") => 0,
            Some("hold_egress_ethernet" | "hold_egress_eth") => 1,
            _ => continue,
        };
        times[place].0 += program.run_time_ns;
        times[place].1 += program.run_cnt;
    }
    times
}

/// Nanoseconds per segment of bulk transfers, arriving and leaving, while `held` other FINs are
/// held.
fn time_of_segment(far: &Namespace, held: usize) -> [f64; 2] {
    // SAFETY: the call takes a number and returns a descriptor. The kernel collects statistics
    // while the descriptor is open.
    let statistics = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    assert!(statistics >= 0, "statistics of eBPF programs: {}", io::Error::last_os_error());
    // SAFETY: the descriptor is new and has no other owner.
    let _statistics = unsafe { OwnedFd::from_raw_fd(statistics) };
    let mut holding = rig(true);
    let listener = listener(far);
    let others: Vec<_> = (0..held).map(|_| connected(&mut holding, &listener)).collect();
    end_all(&mut holding, &others);
    // The programs cannot tell whose connections these are before they end.
    let mut rig = rig(false);
    let before = run_times();
    let (socket, end) = connected(&mut rig, &listener);
    down(&mut rig, socket, end);
    let (socket, end) = connected(&mut rig, &listener);
    up(&mut rig, socket, end);
    let after = run_times();
    [0, 1].map(|place| {
        (after[place].0 - before[place].0) as f64 / (after[place].1 - before[place].1).max(1) as f64
    })
}

/// Closes all far ends while the client receives nothing. Returns the time until the FINs are held,
/// if they are.
fn end_all(rig: &mut Rig, all: &[(RsockId, TcpStream)]) -> Duration {
    rig.stalled = true;
    let begin = Instant::now();
    for (_, far) in all {
        far.shutdown(Shutdown::Write).expect("is connected");
        rig.host.turn(Some(Duration::ZERO)).expect("epoll waits");
    }
    while rig.host.fin_hold().is_some_and(|hold| hold.waiting() < all.len()) {
        rig.turn();
    }
    begin.elapsed()
}

/// Opens as many connections as possible, lets the far hosts end them all at once, releases them
/// and closes them.
fn many(far: &Namespace, holds: bool) {
    let mut rig = rig(holds);
    let listener = listener(far);
    let begin = Instant::now();
    let all: Vec<_> = (0..MANY).map(|_| connected(&mut rig, &listener)).collect();
    let connecting = begin.elapsed();
    let ending = end_all(&mut rig, &all);
    let waiting = rig.host.fin_hold().map_or(0, FinHold::waiting);
    rig.stalled = false;
    let begin = Instant::now();
    for (socket, _) in &all {
        assert_eq!(rig.call(*socket, reading(1)), Ok(Value::Bytes(Vec::new())));
    }
    while rig.host.fin_hold().is_some_and(|hold| hold.waiting() > 0) {
        rig.turn();
    }
    let releasing = begin.elapsed();
    let begin = Instant::now();
    for (socket, _) in &all {
        assert_eq!(rig.call(*socket, SocketCall::Close { may_wait: false }), Ok(Value::Done));
    }
    drop(all);
    rig.nothing_is_left();
    let closing = begin.elapsed();
    println!(
        "{MANY} connections {}: connecting {:.0} us each, FINs {:.0} us ({waiting} held), ends read {:.0} us, closing {:.0} us",
        if holds { "with the hold" } else { "without" },
        each(connecting),
        each(ending),
        each(releasing),
        each(closing)
    );
    if let Some(hold) = rig.host.fin_hold() {
        println!("  {:?}", hold.counts().expect("can be read"));
    }
}

fn each(all: Duration) -> f64 {
    all.as_secs_f64() * 1e6 / MANY as f64
}
