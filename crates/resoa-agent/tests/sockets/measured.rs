//! Measurements for docs/resoa-agent.md: `cargo test -p resoa-agent --test sockets measured --
//! --ignored --nocapture`.

use crate::rig::{HERE, Program, Rig, at, read_exactly};
use resoa_calls::Response;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Number of open idle sockets, if the limit allows so many descriptors: each needs four.
const IDLE: usize = 10_000;
/// Bytes of a bulk transfer.
const BULK: usize = 1 << 30;

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Returns the median time of a request and its answer, 64 bytes each.
fn exchange(near: &mut impl Read, write: impl Fn(&[u8]), mut far: TcpStream) -> Duration {
    let echo = std::thread::spawn(move || {
        let mut octets = [0; 64];
        while far.read_exact(&mut octets).is_ok() && far.write_all(&octets).is_ok() {}
    });
    let times = (0..5000)
        .map(|_| {
            let begin = Instant::now();
            write(&[1; 64]);
            near.read_exact(&mut [0; 64]).expect("an answer");
            begin.elapsed()
        })
        .collect();
    let found = median(times);
    drop(echo);
    found
}

fn remote_exchange(rig: &Rig) -> Duration {
    let (program, far) = rig.connected();
    let mut file = std::fs::File::from(program.fd.try_clone().expect("descriptors"));
    exchange(&mut file, |octets| program.write(octets), far)
}

/// Returns the median time of `socket`, `connect` and `close`.
fn come_and_go(rig: &Rig, listener: &TcpListener) -> Duration {
    let times = (0..1000)
        .map(|_| {
            let begin = Instant::now();
            let program = rig.stream();
            assert_eq!(rig.connect(&program, at(listener)), Response::Done);
            drop(program);
            let time = begin.elapsed();
            drop(listener.accept().expect("has connected"));
            time
        })
        .collect();
    median(times)
}

fn bulk(rig: &Rig) -> [f64; 2] {
    let (program, mut far) = rig.connected();
    let octets = vec![1; 1 << 16];
    let rate = |begin: Instant| BULK as f64 * 8e-9 / begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    let up = std::thread::scope(|scope| {
        scope.spawn(|| (0..BULK >> 16).for_each(|_| program.write(&octets)));
        let mut room = vec![0; 1 << 16];
        let mut read = 0;
        while read < BULK {
            read += far.read(&mut room).expect("is connected");
        }
        rate(begin)
    });
    let begin = Instant::now();
    let down = std::thread::scope(|scope| {
        scope.spawn(|| (0..BULK >> 16).for_each(|_| far.write_all(&octets).expect("is connected")));
        let mut room = vec![0; 1 << 16];
        let mut read = 0;
        while read < BULK {
            read += rustix::io::read(&program.fd, &mut room[..]).expect("is connected");
        }
        rate(begin)
    });
    [up, down]
}

#[test]
#[ignore = "measures, and needs many descriptors"]
fn what_it_costs() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let most = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, most).expect("up to the limit");
    let idle = IDLE.min(limit.maximum.map_or(IDLE, |most| (most as usize - 200) / 4));
    let listener = TcpListener::bind((HERE, 0)).expect("loopback");
    let native = TcpStream::connect(at(&listener)).expect("listens");
    let far = listener.accept().expect("has connected").0;
    let writer = native.try_clone().expect("descriptors");
    let mut reader = native;
    let found = exchange(&mut reader, |octets| (&writer).write_all(octets).expect("is connected"), far);
    println!("native: exchange of 64 octets {found:?} (median of 5000)");
    let rig = Rig::new();
    println!("remote: exchange {:?}", remote_exchange(&rig));
    println!("remote: socket, connect, close {:?} (median of 1000)", come_and_go(&rig, &listener));
    let [up, down] = bulk(&rig);
    println!("remote: 1 GiB up {up:.1} Gbit/s, down {down:.1} Gbit/s");
    let begin = Instant::now();
    let open: Vec<(Program, TcpStream)> = (0..idle)
        .map(|_| {
            let program = rig.stream();
            assert_eq!(rig.connect(&program, at(&listener)), Response::Done);
            (program, listener.accept().expect("has connected").0)
        })
        .collect();
    println!("{idle} sockets more after {:?}", begin.elapsed());
    println!("then: exchange {:?}", remote_exchange(&rig));
    println!("then: socket, connect, close {:?}", come_and_go(&rig, &listener));
    for (program, mut far) in open {
        program.write(b"x");
        read_exactly(&mut far, 1);
    }
    rig.nothing_is_left();
    println!("nothing is left after {:?}", begin.elapsed());
}
