use super::*;
use capture::senders::{CongestionState, Reader};
use netlab::Namespace;
use netlab::address::{self, Address};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;

/// Returns whether both ways to the tracepoint work here; prints why if not.
fn allowed() -> bool {
    let root = rustix::process::geteuid().is_root();
    let there = ebpf::may_work();
    if !(root && there) {
        skip::skip!("it takes root ({root}) and a kernel with /sys/kernel/btf/vmlinux ({there})");
    }
    root && there
}

/// Creates a namespace whose loopback has an address that is unique on this machine, and different
/// in each test.
fn node(name: &str, last: u8) -> (Namespace, Node) {
    let address = IpAddr::V4(Ipv4Addr::new(10, 213, 77, last));
    let namespace = Namespace::new().expect("a namespace");
    netlab::interface::loopback_up(&namespace).expect("lo");
    let index = netlab::interface::find(&namespace, "lo").expect("lo").index;
    address::add(&namespace, Address { index, address, prefix_length: 32 }).expect("an address");
    let cookie = namespace.cookie().expect("a cookie");
    (namespace, Node { name: name.to_owned(), addresses: vec![address], cookie })
}

fn options(folder: &Path, file: &str, nodes: &[&Node], origin: Instant) -> Options {
    Options {
        table: folder.join(file),
        lasthop: "0.1.0".to_owned(),
        seed: 7,
        started: WallTime::from_nanos(0),
        nodes: nodes.iter().map(|&node| node.clone()).collect(),
        origin,
    }
}

/// Sends `turns` pieces of `TURN` bytes from the node to itself, each answered by one byte. So
/// there are at least as many rows as turns, however the kernel splits the segments. Returns the
/// two ends of the connection, and the congestion windows that TCP_INFO showed.
fn transfer(namespace: &Namespace, node: &Node, turns: usize) -> (SocketAddr, SocketAddr, Vec<u32>) {
    let address = SocketAddr::new(node.addresses[0], 0);
    namespace
        .enter(|| {
            let listener = TcpListener::bind(address).expect("listen");
            let mut client = TcpStream::connect(listener.local_addr().expect("an address")).expect("connect");
            // With Nagle, the rest of a turn would wait for the other side's delayed
            // acknowledgement.
            client.set_nodelay(true).expect("TCP_NODELAY");
            let (mut server, _) = listener.accept().expect("accept");
            let receiver = std::thread::spawn(move || {
                for _ in 0..turns {
                    server.read_exact(&mut vec![0; TURN]).expect("receive");
                    server.write_all(&[1]).expect("answer");
                }
            });
            let mut windows = Vec::new();
            let piece = vec![0; PIECE];
            for _ in 0..turns {
                for _ in 0..TURN / PIECE {
                    client.write_all(&piece).expect("send");
                    windows.push(netlab::tcp::info(&client).expect("TCP_INFO").congestion_window);
                }
                client.read_exact(&mut [0]).expect("an answer");
            }
            receiver.join().expect("the receiver");
            windows.push(netlab::tcp::info(&client).expect("TCP_INFO").congestion_window);
            Ok((client.local_addr().expect("an address"), client.peer_addr().expect("an address"), windows))
        })
        .expect("in the namespace")
}

/// Bytes per write, and bytes per answer.
const PIECE: usize = 10_000;
const TURN: usize = 100_000;

fn read(path: &Path) -> Vec<SenderState> {
    Reader::open(path).expect("a table").map(|state| state.expect("a state")).collect()
}

#[test]
fn the_program_shows_what_tcp_info_shows_and_only_in_our_namespaces() {
    if !allowed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let ((ours, our_node), (theirs, their_node)) = (node("ours", 1), node("theirs", 2));
    let recorder = Recorder::start(options(folder.path(), "ours.parquet", &[&our_node], Instant::now()))
        .expect("a recorder");
    assert_eq!(recorder.source(), "ebpf tp_btf/tcp_probe");
    transfer(&theirs, &their_node, 1);
    let begun = Instant::now();
    let (local, remote, windows) = transfer(&ours, &our_node, 10);
    let took = begun.elapsed();
    let converted = recorder.stop().expect("a table");
    assert_eq!((converted.lost, converted.tail), (0, capture::Tail::Complete));
    let states = read(&converted.path);
    assert_eq!(states.len() as u64, converted.rows);
    assert!(!states.is_empty());
    for state in &states {
        assert_eq!(state.node, 0);
        assert_eq!(state.local.ip(), local.ip(), "theirs was recorded");
        assert_eq!(state.state, Some(CongestionState::Open));
        assert!(state.packets_out > Some(0), "{state:?}");
        assert_eq!(state.in_flight(), state.packets_out);
        // RFC 6298 section 2.4, and Linux's minimum of 200 ms.
        assert!(state.rto_us >= Some(200_000) && state.rto_us < Some(5_000_000), "{state:?}");
        assert!(state.srtt_us.is_some_and(|srtt| srtt < 1_000_000), "{state:?}");
    }
    let sender: Vec<_> =
        states.iter().filter(|state| (state.local, state.remote) == (local, remote)).collect();
    assert!(sender.windows(2).all(|pair| pair[0].at <= pair[1].at));
    // Every window is in a row, except the one that the last acknowledgement leads to.
    let in_rows: BTreeSet<_> = sender.iter().map(|state| state.cwnd).collect();
    let others: BTreeSet<_> = windows.iter().copied().filter(|window| !in_rows.contains(window)).collect();
    assert!(others.len() <= 1 && in_rows.contains(&10), "{windows:?} {in_rows:?}");
    // The data that were outstanding at the last acknowledgement end the transfer.
    let first = sender[0].snd_una;
    assert_eq!(sender.last().map(|state| state.snd_nxt.wrapping_sub(first)), Some(1_000_000));
    let seen = sender[sender.len() - 1].at.since(sender[0].at).as_nanos();
    assert!(u128::from(seen) <= took.as_nanos(), "{seen} ns in {took:?}");
}

#[test]
fn the_kernels_own_events_show_what_the_program_shows() {
    if !allowed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (namespace, node) = node("both", 3);
    let origin = Instant::now();
    let start = |file: &str, way| {
        Recorder::start_by(options(folder.path(), file, &[&node], origin), way).expect("a recorder")
    };
    let (program, events) = (start("program.parquet", Way::Ebpf), start("events.parquet", Way::Tracefs));
    let (local, remote, _) = transfer(&namespace, &node, 30);
    let events = events.stop().expect("a table");
    let program = program.stop().expect("a table");
    assert_eq!((events.lost, program.lost), (0, 0));
    let of_sender = |path: &Path| {
        let mut states = read(path);
        states.retain(|state| (state.local, state.remote) == (local, remote));
        states
    };
    let (events, program) = (of_sender(&events.path), of_sender(&program.path));
    assert!(events.len() >= 30 && events.len() == program.len(), "{} {}", events.len(), program.len());
    for (event, state) in events.iter().zip(&program) {
        let expected = SenderState {
            // Two programs at one tracepoint run one after the other, so times differ.
            at: event.at,
            // Cubic sets it when it leaves slow start; the event hides it below three quarters of
            // the window.
            ssthresh: state.ssthresh.filter(|&threshold| threshold > (state.cwnd >> 1) + (state.cwnd >> 2)),
            rttvar_us: None,
            rto_us: None,
            packets_out: None,
            sacked_out: None,
            lost_out: None,
            retrans_out: None,
            delivered: None,
            pacing_rate: None,
            ..*state
        };
        assert_eq!(*event, expected);
    }
    // Both have one clock and one origin: each event is later than the program's previous row, and
    // earlier than its next one.
    for (index, event) in events.iter().enumerate() {
        let before = index.checked_sub(1).map(|index| program[index].at);
        let after = program.get(index + 1).map(|state| state.at);
        let now = event.at;
        assert!(before.is_none_or(|before| before < now), "event {index}: {before:?}, {now:?}");
        assert!(after.is_none_or(|after| now < after), "event {index}: {now:?}, {after:?}");
    }
}

#[test]
fn the_kernels_own_events_need_no_program() {
    if !rustix::process::geteuid().is_root() {
        skip::skip!("it takes root to mount tracefs");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (namespace, node) = node("guest", 5);
    let options = options(folder.path(), "events.parquet", &[&node], Instant::now());
    let recorder = match Recorder::start_by(options, Way::Tracefs) {
        Ok(recorder) => recorder,
        Err(RecorderError::Unavailable(why)) => return skip::skip!("{why}"),
        Err(error) => panic!("{error}"),
    };
    let (local, remote, _) = transfer(&namespace, &node, 10);
    let converted = recorder.stop().expect("a table");
    assert_eq!((converted.lost, converted.tail), (0, capture::Tail::Complete));
    let states = read(&converted.path);
    let mut sender = states.iter().filter(|state| (state.local, state.remote) == (local, remote));
    let first = sender.next().expect("a state of the sender");
    assert_eq!((first.node, first.cwnd, first.state), (0, 10, Some(CongestionState::Open)));
    assert_eq!(sender.next_back().map(|state| state.snd_nxt.wrapping_sub(first.snd_una)), Some(1_000_000));
}

#[test]
fn a_log_that_cannot_be_written_is_named() {
    if !allowed() {
        return;
    }
    let (_namespace, node) = node("nowhere", 4);
    let error =
        Recorder::start(options(Path::new("/nonexistent"), "x.parquet", &[&node], Instant::now())).err();
    let error = error.expect("no folder").to_string();
    assert!(error.contains("`/nonexistent/x.parquet.log`"), "{error}");
}
