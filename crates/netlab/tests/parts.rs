//! Tests of the parts one by one, against what the kernel reports and what the other side sees.

mod ground;

use netlab::cgroup::Cgroup;
use netlab::interface::{self, Change};
use netlab::offload::{self, Offloads};
use netlab::tun::{self, Tun};
use netlab::{Namespace, address, neighbour, route, sysctl, veth};
use packet::Layer;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};

const HERE: &str = "192.0.2.1";
const THERE: &str = "192.0.2.2";

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Adds an address, and a route to another host's address.
fn lay(namespace: &Namespace, index: u32, own: &str, other: &str, metrics: route::Metrics) {
    address::add(namespace, address::Address { index, address: ip(own), prefix_length: 32 })
        .expect("an address");
    let to = route::Prefix::host(ip(other));
    route::add(namespace, &route::Route::on_link(to, index, metrics)).expect("a route");
}

#[test]
fn a_namespace_goes_with_its_last_descriptor() {
    need_root!();
    let namespace = Namespace::new().expect("a namespace");
    let id = netlab::state::NamespaceId::of(&namespace).expect("an identity");
    let own = Namespace::current().expect("this one");
    assert_ne!(namespace.cookie().expect("a cookie"), own.cookie().expect("a cookie"));
    let seen = namespace.enter(|| Namespace::current()?.inode()).expect("entered");
    assert_eq!(seen, id.inode);
    assert_eq!(
        Namespace::current().and_then(|its| its.inode()).expect("an inode"),
        own.inode().expect("an inode")
    );
    drop(namespace);
    assert!(soon(|| id.find().is_none()));
}

/// Returns whether `condition` comes true within 5 s.
///
/// Other tests of this process fork. Between fork and exec, their children hold copies of our file
/// descriptors.
fn soon(condition: impl Fn() -> bool) -> bool {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(5);
    while !condition() {
        if std::time::Instant::now() > end {
            return false;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    true
}

#[test]
fn an_end_carries_packets_and_counts_those_it_must_drop() {
    need_root!();
    let namespace = Namespace::new().expect("a namespace");
    let options =
        tun::TunOptions { name: "end".into(), mtu: 1400, queue_length: 5, ..tun::TunOptions::default() };
    let end = Tun::open(&namespace, &options).expect("an end");
    let interface = interface::find(&namespace, "end").expect("it");
    assert_eq!(interface.link_layer, 65534);
    assert_eq!(
        (interface.index, interface.mtu, interface.queue_length, interface.up),
        (end.index(), 1400, 5, true)
    );
    lay(&namespace, end.index(), HERE, THERE, route::Metrics::default());
    let socket = namespace.enter(|| Ok(UdpSocket::bind("0.0.0.0:0").expect("free"))).expect("entered");
    for _ in 0..100 {
        let _ = socket.send_to(&[0; 100], (ip(THERE), 9));
    }
    let statistics = end.statistics().expect("counters");
    assert!(statistics.tx_dropped > 0, "{statistics:?}");
    let mut packet = [0; 2000];
    let length = rustix::io::read(&end, &mut packet).expect("a packet");
    assert_eq!((packet[0] >> 4, length), (4, 128), "IPv4 and UDP headers and 100 bytes, nothing before");
    drop(end);
    assert!(soon(|| interface::find(&namespace, "end").is_err()), "the device goes with its descriptor");
}

/// Carries a TCP transfer between two devices; returns the size of the largest packet, and the
/// flags of its virtio header if it has one.
fn first_segment(whole_segments: bool) -> (usize, Option<u8>) {
    let namespace = Namespace::new().expect("a namespace");
    let options = tun::TunOptions { name: "end".into(), whole_segments, ..tun::TunOptions::default() };
    let (near, far) =
        (Tun::open(&namespace, &options).expect("an end"), Namespace::new().expect("a namespace"));
    let end = Tun::open(&far, &options).expect("an end");
    lay(&namespace, near.index(), HERE, THERE, route::Metrics::default());
    lay(&far, end.index(), THERE, HERE, route::Metrics::default());
    let server = far.enter(|| Ok(TcpListener::bind("0.0.0.0:80").expect("free"))).expect("entered");
    let client = std::thread::spawn(move || {
        namespace.enter(|| {
            let mut client = TcpStream::connect((ip(THERE), 80)).expect("connected");
            client.write_all(&vec![7; 60_000]).expect("sent");
            Ok(client)
        })
    });
    let header = if whole_segments { tun::VIRTIO_HEADER_LENGTH } else { 0 };
    let mut packet = vec![0; 70_000];
    let mut largest = (0, None);
    let mut received = server.try_clone().map(Some).expect("a descriptor");
    let mut reader = None;
    ground::until(|| {
        for (from, to) in [(&near, &end), (&end, &near)] {
            while let Ok(length) = rustix::io::read(from, &mut packet) {
                if length - header > largest.0 {
                    largest = (length - header, (header > 0).then(|| packet[0]));
                }
                rustix::io::write(to, &packet[..length]).expect("written");
            }
        }
        if let Some(server) = received.take() {
            reader = Some(std::thread::spawn(move || {
                let (mut stream, _) = server.accept().expect("a connection");
                stream.read_exact(&mut vec![0; 60_000]).expect("all of it");
            }));
        }
        let done = reader.as_ref().is_some_and(std::thread::JoinHandle::is_finished);
        if done { Ok(()) } else { Err("not all has arrived".into()) }
    });
    reader.expect("started").join().expect("read");
    drop(client.join().expect("a client").expect("entered"));
    largest
}

#[test]
fn segments_are_cut_or_whole_as_asked() {
    need_root!();
    assert_eq!(first_segment(false), (1500, None));
    let (length, flags) = first_segment(true);
    assert!(length > 1500, "{length}");
    // VIRTIO_NET_HDR_F_NEEDS_CSUM: the checksum is partial.
    assert_eq!(flags.map(|flags| flags & 1), Some(1));
}

#[test]
fn ethernet_ends_know_each_other_without_asking() {
    need_root!();
    let namespace = Namespace::new().expect("a namespace");
    let options = tun::TunOptions {
        name: "end".into(),
        layer: Layer::Ethernet,
        hardware_address: [2, 0, 0, 0, 0, 7],
        ..tun::TunOptions::default()
    };
    let end = Tun::open(&namespace, &options).expect("an end");
    let interface = interface::find(&namespace, "end").expect("it");
    assert_eq!(interface.hardware_address, [2, 0, 0, 0, 0, 7]);
    assert_eq!(interface.link_layer, 1);
    lay(&namespace, end.index(), HERE, THERE, route::Metrics::default());
    neighbour::add(&namespace, end.index(), ip(THERE), [2, 0, 0, 0, 0, 8]).expect("a neighbour");
    let socket = namespace.enter(|| Ok(UdpSocket::bind("0.0.0.0:0").expect("free"))).expect("entered");
    socket.send_to(b"x", (ip(THERE), 9)).expect("sent");
    let mut frame = [0; 2000];
    let length = rustix::io::read(&end, &mut frame).expect("a frame");
    assert_eq!(frame[..14], [2, 0, 0, 0, 0, 8, 2, 0, 0, 0, 0, 7, 8, 0], "IPv4 at once, no ARP before");
    assert_eq!(length, 14 + 20 + 8 + 1);
}

#[test]
fn a_route_carries_what_tcp_is_to_do() {
    need_root!();
    let namespace = Namespace::new().expect("a namespace");
    interface::loopback_up(&namespace).expect("up");
    let metrics = route::Metrics {
        congestion_control: "reno".into(),
        initial_congestion_window: Some(4),
        initial_receive_window: Some(20),
        mtu: Some(1300),
        announced_segment_size: Some(1200),
        window: Some(32_768),
        quick_acknowledgements: true,
    };
    lay(&namespace, interface::LOOPBACK, HERE, THERE, metrics);
    let listed = route::list(&namespace).expect("routes");
    let listed =
        listed.iter().find(|its| its.destination == route::Prefix::host(ip(THERE))).expect("the route");
    assert_eq!(listed.congestion_control.as_deref(), Some("reno"));
    if !ground::has("ip") {
        return;
    }
    let shown = namespace
        .enter(|| Ok(std::process::Command::new("ip").args(["route", "show", THERE]).output().expect("ip")));
    let shown = String::from_utf8_lossy(&shown.expect("entered").stdout).into_owned();
    for metric in
        ["congctl reno", "initcwnd 4", "initrwnd 20", "mtu 1300", "advmss 1200", "window 32768", "quickack 1"]
    {
        assert!(shown.contains(metric), "{metric}: {shown}");
    }
}

#[test]
fn a_cable_between_two_namespaces_with_and_without_offloads() {
    need_root!();
    let [here, there] = [(); 2].map(|()| Namespace::new().expect("a namespace"));
    let end = |namespace, last| veth::End { namespace, name: "end", hardware_address: [2, 0, 0, 0, 2, last] };
    veth::pair(end(&here, 1), end(&there, 2)).expect("a cable");
    for (namespace, own, other, last) in [(&here, HERE, THERE, 1), (&there, THERE, HERE, 2)] {
        let interface = interface::find(namespace, "end").expect("the end");
        assert_eq!(interface.hardware_address, [2, 0, 0, 0, 2, last]);
        let change = Change { mtu: Some(1400), ..Change::up() };
        interface::change(namespace, interface.index, &change).expect("changed");
        assert_eq!(interface::find(namespace, "end").expect("the end").mtu, 1400);
        lay(namespace, interface.index, own, other, route::Metrics::default());
    }
    let before = offload::get(&here, "end").expect("offloads");
    assert_ne!(before, Offloads::NONE);
    offload::set(&here, "end", Offloads::NONE).expect("set");
    assert_eq!(offload::get(&here, "end").expect("offloads"), Offloads::NONE);
    offload::set(&here, "end", before).expect("set");
    assert_eq!(offload::get(&here, "end").expect("offloads"), before);

    let server = there.enter(|| Ok(TcpListener::bind("0.0.0.0:80").expect("free"))).expect("entered");
    let client = here.enter(|| Ok(TcpStream::connect((ip(THERE), 80)).expect("connected"))).expect("entered");
    assert_eq!(server.accept().expect("a connection").1, client.local_addr().expect("an address"));
    drop(there);
    drop(server);
    ground::until(|| match interface::find(&here, "end") {
        Ok(_) => Err("the other end of the cable is still there".into()),
        Err(_) => Ok(()),
    });
}

#[test]
fn sysctls_are_per_namespace() {
    need_root!();
    let [one, other] = [(); 2].map(|()| Namespace::new().expect("a namespace"));
    let before = sysctl::read(&other, "net.ipv4.tcp_rmem").expect("sysctl");
    let wanted = link::units::ByteCount::new(100_000_000);
    sysctl::socket_buffers(&one, wanted).expect("set");
    for key in ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"] {
        let value = sysctl::read(&one, key).expect("sysctl");
        assert_eq!(value.split_whitespace().last(), Some("400000000"), "four bandwidth-delay products");
    }
    assert_eq!(sysctl::read(&other, "net.ipv4.tcp_rmem").expect("sysctl"), before);
    sysctl::socket_buffers(&other, link::units::ByteCount::new(1)).expect("set");
    assert_eq!(sysctl::read(&other, "net.ipv4.tcp_rmem").expect("sysctl"), before, "never less than it was");
    let error = sysctl::write(&one, "net.ipv4.nosuch", "1").expect_err("there is none").to_string();
    assert!(error.starts_with("cannot write \"1\" to /proc/sys/net/ipv4/nosuch: "), "{error}");
}

#[test]
fn a_control_group_ends_all_that_is_in_it() {
    need_root!();
    let name = format!("lasthop-test-{}", std::process::id());
    let group = match Cgroup::planned(&name).and_then(Cgroup::create) {
        Ok(group) => group,
        Err(reason) => return skip::skip!("{reason}"),
    };
    let mut child = std::process::Command::new("sleep").arg("600").spawn().expect("sleep");
    let inner = Cgroup::create(group.path().join("inner")).expect("a group in the group");
    inner.add(child.id()).expect("moved");
    assert_eq!(inner.processes().expect("a list"), [child.id()]);
    group.add(child.id()).expect("moved");
    assert_eq!(group.processes().expect("a list"), [child.id()]);
    group.kill().expect("killed");
    assert!(!child.wait().expect("ended").success());
    group.remove().expect("removed");
    assert!(!group.path().exists());
}
