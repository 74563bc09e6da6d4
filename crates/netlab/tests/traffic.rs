//! Traffic through a link: TCP in both directions, names, published ports, the network beyond.

mod ground;

use ground::{Caller, address_of, until};
use netlab::{Namespace, address, route, veth};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::thread;

/// Larger than any socket buffer at the start of a connection, and not a multiple of a segment.
const MUCH: usize = 1_000_003;

fn listen(namespace: &Namespace, address: &str) -> TcpListener {
    namespace.enter(|| Ok(TcpListener::bind(address).expect("a free port"))).expect("entered")
}

fn connect(namespace: &Namespace, to: SocketAddr) -> TcpStream {
    let attempt = || namespace.enter(|| Ok(TcpStream::connect(to))).expect("entered");
    let stream = until(|| attempt().map_err(|error| format!("{to}: {error}")));
    stream.set_read_timeout(Some(ground::PATIENCE)).expect("set");
    stream
}

/// Sends `MUCH` bytes from `client` to the connection that `listener` accepts, and back.
///
/// Returns both sockets.
fn exchange(client: TcpStream, listener: &TcpListener) -> (TcpStream, TcpStream) {
    let sent: Vec<u8> = (0..MUCH).map(|n| (n % 251) as u8).collect();
    let expected = sent.clone();
    let (mut server, _) = listener.accept().expect("a connection");
    server.set_read_timeout(Some(ground::PATIENCE)).expect("set");
    let mut back = server.try_clone().expect("a descriptor");
    let echo = thread::spawn(move || {
        let mut got = vec![0; MUCH];
        server.read_exact(&mut got).expect("all of it");
        server.write_all(&got).expect("sent back");
    });
    let mut writer = client.try_clone().expect("a descriptor");
    let writing = thread::spawn(move || writer.write_all(&sent).expect("sent"));
    let mut got = vec![0; MUCH];
    (&client).read_exact(&mut got).expect("all of it");
    assert!(got == expected, "bytes changed on the way");
    writing.join().expect("writer");
    echo.join().expect("echo");
    back.flush().expect("nothing to flush");
    (client, back)
}

fn congestion_control(socket: &TcpStream) -> String {
    let mut name = [0_u8; 16];
    let mut length = 16;
    // SAFETY: `name` and `length` outlive the call, and `length` is the size of `name`.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    assert_eq!(status, 0);
    String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned()
}

/// Tests TCP in both directions over IPv4 and IPv6, by `host.lasthop` and `host6.lasthop`.
fn both_ways(options: &[&str], expected: &str) {
    let caller = Caller::new();
    let link = caller.start(options);
    let inside = link.inside();
    let hosts = link.file("/etc/hosts");
    for name in ["host.lasthop", "host6.lasthop"] {
        let address = address_of(&hosts, name);
        let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let outer = listen(&caller.namespace, any);
        let port = outer.local_addr().expect("a port").port();
        let (near, far) = exchange(connect(&inside, SocketAddr::new(address, port)), &outer);
        assert_eq!(congestion_control(&near), expected, "of the program's connection to {name}");
        assert_eq!(congestion_control(&far), expected, "of the connection accepted at {name}");

        let own = near.local_addr().expect("an address").ip();
        let inner = listen(&inside, any);
        let port = inner.local_addr().expect("a port").port();
        let (near, far) = exchange(connect(&caller.namespace, SocketAddr::new(own, port)), &inner);
        assert_eq!(congestion_control(&near), expected, "of a connection to the program at {own}");
        assert_eq!(congestion_control(&far), expected, "of the connection the program accepts at {own}");
    }
    assert_eq!(link.finish().code(), 0);
    caller.is_clean();
}

#[test]
fn packets_one_by_one() {
    need_root!();
    both_ways(&[], "cubic");
}

#[test]
fn segments_whole() {
    need_root!();
    both_ways(&["--whole"], "cubic");
}

#[test]
fn on_ethernet() {
    need_root!();
    both_ways(&["--ethernet"], "cubic");
    both_ways(&["--ethernet", "--whole"], "cubic");
}

#[test]
fn with_another_congestion_control_and_a_small_mtu() {
    need_root!();
    both_ways(&["--congestion-control", "reno", "--mtu", "1280"], "reno");
}

#[test]
fn a_congestion_control_the_kernel_lacks_is_an_error_that_names_those_it_has() {
    need_root!();
    let caller = Caller::new();
    let finished = caller.behind(&["--congestion-control", "nosuch", "true"]);
    assert_eq!(finished.code(), 125);
    assert!(finished.errors.contains("\"nosuch\" is not available here; available: "), "{}", finished.errors);
    assert!(finished.errors.contains("reno"), "{}", finished.errors);
    caller.is_clean();
}

#[test]
fn ping_by_name() {
    need_root!();
    if !ground::has("ping") {
        return;
    }
    let caller = Caller::new();
    let output = caller.behind(&["ping", "-c", "3", "-i", "0.2", "host.lasthop"]).succeeded();
    assert!(output.contains("3 received"), "{output}");
}

#[test]
fn the_kernel_sends_nothing_of_its_own_accord() {
    need_root!();
    let caller = Caller::new();
    let link = caller.start(&[]);
    let inside = netlab::interface::find(&link.inside(), "lasthop0").expect("the end");
    let addresses = address::list(&link.inside()).expect("addresses");
    let link_local = addresses
        .iter()
        .filter(|its| its.index == inside.index && its.address.to_string().starts_with("fe80"));
    assert_eq!(link_local.count(), 0, "{addresses:?}");
    // Interfaces announce addresses and solicit routers in the first moments.
    thread::sleep(std::time::Duration::from_millis(1500));
    let inside = netlab::interface::find(&link.inside(), "lasthop0").expect("the end");
    assert_eq!(inside.statistics.tx_packets, 0);
    assert_eq!(inside.statistics.rx_packets, 0);
}

/// A caller with a network: a host that knows nothing of links, at 203.0.113.9 and 2001:db8::9
/// (documentation addresses).
struct Beyond {
    caller: Caller,
    internet: Namespace,
}

const CALLER: [&str; 2] = ["203.0.113.1", "2001:db8::1"];
const INTERNET: [&str; 2] = ["203.0.113.9", "2001:db8::9"];

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

impl Beyond {
    fn new() -> Self {
        let caller = Caller::new();
        let internet = Namespace::new().expect("a namespace");
        let near =
            veth::End { namespace: &caller.namespace, name: "near", hardware_address: [2, 0, 0, 0, 1, 1] };
        let far = veth::End { namespace: &internet, name: "far", hardware_address: [2, 0, 0, 0, 1, 2] };
        veth::pair(near, far).expect("a cable");
        for (namespace, name, own, other, all) in
            [(&caller.namespace, "near", CALLER, INTERNET, true), (&internet, "far", INTERNET, CALLER, false)]
        {
            let index = netlab::interface::find(namespace, name).expect("the end").index;
            netlab::interface::change(namespace, index, &netlab::interface::Change::up()).expect("up");
            for (own, other, default) in
                [(own[0], other[0], route::Prefix::DEFAULT_V4), (own[1], other[1], route::Prefix::DEFAULT_V6)]
            {
                let length = if ip(own).is_ipv4() { 32 } else { 128 };
                let own = address::Address { index, address: ip(own), prefix_length: length };
                address::add(namespace, own).expect("an address");
                let to = route::Prefix::host(ip(other));
                route::add(namespace, &route::Route::on_link(to, index, route::Metrics::default()))
                    .expect("a route");
                if all {
                    let out = route::Route::by_way_of(default, ip(other), index, route::Metrics::default());
                    route::add(namespace, &out).expect("a default route");
                }
            }
        }
        Self { caller, internet }
    }
}

#[test]
fn the_network_beyond_sees_the_callers_address() {
    need_root!();
    let Beyond { caller, internet } = Beyond::new();
    let link = caller.start(&[]);
    for (there, seen) in INTERNET.into_iter().zip(CALLER) {
        let server = listen(&internet, if ip(there).is_ipv4() { "0.0.0.0:80" } else { "[::]:81" });
        let port = server.local_addr().expect("a port").port();
        let (near, far) = exchange(connect(&link.inside(), SocketAddr::new(ip(there), port)), &server);
        assert_eq!(far.peer_addr().expect("a peer").ip(), ip(seen));
        assert_ne!(near.local_addr().expect("an address").ip(), ip(seen));
    }
    let forwarding = |key| netlab::sysctl::read(&caller.namespace, key).expect("sysctl");
    assert_eq!(forwarding("net.ipv6.conf.all.forwarding"), "1");
    link.finish();
    assert_eq!(forwarding("net.ipv6.conf.all.forwarding"), "0");
    assert_eq!(forwarding("net.ipv4.ip_forward"), "0");
}

#[test]
fn a_published_port_leads_to_the_program_from_everywhere() {
    need_root!();
    let Beyond { caller, internet } = Beyond::new();
    let link = caller.start(&["--publish", "8000", "--publish", "8080:80"]);
    let inside = link.inside();
    let hosts = link.file("/etc/hosts");
    for (port, inner) in [(8000, 8000), (8080, 80)] {
        let server = listen(&inside, &format!("[::]:{inner}"));
        // From another host: the connection is end to end, so the server sees that host.
        for (there, own) in CALLER.into_iter().zip(INTERNET) {
            let (_, far) = exchange(connect(&internet, SocketAddr::new(ip(there), port)), &server);
            assert_eq!(far.peer_addr().expect("a peer").ip().to_canonical(), ip(own));
        }
        // From the caller itself: at its own addresses, and at 127.0.0.1, where the server sees the
        // caller's end of the link.
        let outside = address_of(&hosts, "host.lasthop");
        for there in [CALLER[0], CALLER[1], "127.0.0.1"] {
            let (_, far) = exchange(connect(&caller.namespace, SocketAddr::new(ip(there), port)), &server);
            let seen = far.peer_addr().expect("a peer").ip().to_canonical();
            assert_eq!(seen.is_ipv4(), ip(there).is_ipv4());
            if there == "127.0.0.1" {
                assert_eq!(seen, outside);
            }
        }
    }
    // Datagrams too: the reply comes from the address to which the request went.
    let server = inside.enter(|| Ok(UdpSocket::bind("0.0.0.0:8000").expect("free"))).expect("entered");
    let client = internet.enter(|| Ok(UdpSocket::bind("0.0.0.0:0").expect("free"))).expect("entered");
    client.connect((ip(CALLER[0]), 8000)).expect("connected");
    client.send(b"question").expect("sent");
    let mut buffer = [0; 100];
    let (length, peer) = server.recv_from(&mut buffer).expect("a datagram");
    server.send_to(&buffer[..length], peer).expect("answered");
    assert_eq!(client.recv(&mut buffer).expect("an answer"), 8);

    // The program's view of the caller's ports does not change: port 8000 of host.lasthop is the
    // caller's.
    let own = listen(&caller.namespace, "0.0.0.0:8000");
    let _ = exchange(connect(&inside, SocketAddr::new(address_of(&hosts, "host.lasthop"), 8000)), &own);
}

/// Starts a DNS server at the caller's 127.0.0.53 that echoes each query, over UDP and TCP.
fn name_server(caller: &Caller) {
    let udp =
        caller.namespace.enter(|| Ok(UdpSocket::bind("127.0.0.53:53").expect("free"))).expect("entered");
    let tcp = listen(&caller.namespace, "127.0.0.53:53");
    thread::spawn(move || {
        let mut buffer = [0; 2000];
        while let Ok((length, client)) = udp.recv_from(&mut buffer) {
            udp.send_to(&buffer[..length], client).expect("answered");
        }
    });
    thread::spawn(move || {
        while let Ok((mut client, _)) = tcp.accept() {
            let mut question = Vec::new();
            client.read_to_end(&mut question).expect("a question");
            client.write_all(&question).expect("answered");
        }
    });
}

#[test]
fn a_name_server_on_loopback_is_reached_through_the_caller() {
    need_root!();
    let caller = Caller::new();
    name_server(&caller);
    let resolv_conf = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(resolv_conf.path(), "nameserver 127.0.0.53\noptions edns0 trust-ad\nsearch example.org\n")
        .expect("written");
    // A daemon's socket in /run, on which the C library would bypass the link, is hidden.
    let script = format!(
        "mount --make-rprivate / && mount --bind {} /etc/resolv.conf && mount -t tmpfs none /run && \
         mkdir /run/nscd && echo daemon >/run/nscd/socket && exec {} sh -c 'echo $$; cat >/dev/null'",
        resolv_conf.path().display(),
        ground::behind().display()
    );
    let child = caller.command("unshare").args(["--mount", "sh", "-c", &script]).spawn().expect("unshare");
    let link = ground::Running::of(child);

    assert_eq!(link.file("/run/nscd/socket"), "");
    let text = link.file("/etc/resolv.conf");
    let outside = address_of(&link.file("/etc/hosts"), "host.lasthop");
    assert_eq!(text, format!("nameserver {outside}\noptions edns0 trust-ad\nsearch example.org\n"));

    let inside = link.inside();
    let client = inside.enter(|| Ok(UdpSocket::bind("0.0.0.0:0").expect("free"))).expect("entered");
    client.connect((outside, 53)).expect("connected");
    let mut buffer = [0; 2000];
    for length in [12, 1232] {
        let question: Vec<u8> = (0..length).map(|n| n as u8).collect();
        client.send(&question).expect("sent");
        let got = client.recv(&mut buffer).expect("an answer");
        assert_eq!(buffer[..got], question);
    }
    let mut client = connect(&inside, SocketAddr::new(outside, 53));
    client.write_all(&[7; 5000]).expect("sent");
    client.shutdown(std::net::Shutdown::Write).expect("said");
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).expect("an answer");
    assert_eq!(answer, [7; 5000]);
    link.finish();
    caller.is_clean();
}

#[test]
fn a_link_in_a_link() {
    need_root!();
    let Beyond { caller, internet } = Beyond::new();
    let behind = ground::behind();
    let script = format!(
        "echo $LASTHOP_HOST; exec {} sh -c 'echo $$ $LASTHOP_HOST; cat >/dev/null'",
        behind.display()
    );
    let mut link = caller.start_script(&[], &script);
    let outer = ip(&link.line());
    let words = link.line();
    let (inner_program, inner) = words.split_once(' ').expect("two words");
    assert_ne!(outer, ip(inner), "each link has addresses of its own");
    let inside = Namespace::at(&format!("/proc/{inner_program}/ns/net")).expect("the program runs");

    // To the host of the inner link, which is behind the outer one; to the outer host; and to the
    // network beyond.
    for (namespace, there, peer) in [
        (link.inside(), ip(inner), None),
        (caller.namespace.try_clone().expect("a descriptor"), outer, None),
        (internet, ip(INTERNET[0]), Some(ip(CALLER[0]))),
    ] {
        let server = listen(&namespace, "0.0.0.0:0");
        let port = server.local_addr().expect("a port").port();
        let (_, far) = exchange(connect(&inside, SocketAddr::new(there, port)), &server);
        if let Some(peer) = peer {
            assert_eq!(far.peer_addr().expect("a peer").ip(), peer);
        }
    }
    assert_eq!(link.finish().code(), 0);
    caller.is_clean();
}

#[test]
fn links_started_at_the_same_time_have_addresses_of_their_own() {
    need_root!();
    let caller = Caller::new();
    let links: Vec<_> = thread::scope(|scope| {
        let starts: Vec<_> = (0..4).map(|_| scope.spawn(|| caller.start(&[]))).collect();
        starts.into_iter().map(|start| start.join().expect("started")).collect()
    });
    let mut hosts: Vec<_> =
        links.iter().map(|link| address_of(&link.file("/etc/hosts"), "host.lasthop")).collect();
    hosts.sort();
    hosts.dedup();
    assert_eq!(hosts.len(), 4);
    // All but the last leave forwarding on for the others.
    for link in links {
        let forward = netlab::sysctl::read(&caller.namespace, "net.ipv4.ip_forward").expect("sysctl");
        assert_eq!(forward, "1");
        assert_eq!(link.finish().code(), 0);
    }
    caller.is_clean();
}
