//! TL-01: the socket options of TCP Lite as a program sees them. Other options must not be
//! affected.

mod ground;

use ground::Ground;
use ground::peer::{DEVICE, Peer, spoil};
use ground::raw_option::{get, has_no_lite, refusal, set};
use netlab::sysctl;
use packet::checksum;
use rustix::net::sockopt;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use tcp_lite::{Lite, Mode, Policy, Settings, Totals, option};

const TCP: i32 = libc::IPPROTO_TCP;
const TCP_LITE: i32 = 0x4c54;
const TCP_LITE_WINDOW: i32 = 0x4c55;
const TCP_LITE_STATS: i32 = 0x4c56;
const TCP_LITE_RANGES: i32 = 0x4c57;
const TCP_LITE_POLICY: i32 = 0x4c58;
const STATS_LEN: usize = 23 * 8;
/// Sources of a multicast group (`linux/in.h`).
const IP_MSFILTER: i32 = 41;
/// User id of nobody.
const USER: u32 = 65_534;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Runs a test in a namespace and a control group that TCP Lite is attached to.
fn attached(test: impl Fn(&Ground, Lite) + Sync) {
    let Some(ground) = Ground::new() else { return };
    let work = || {
        let lite = Lite::attach(ground.group(), &Settings::on_request(Mode::Recovery)).expect("TCP Lite");
        test(&ground, lite);
        Ok(())
    };
    ground.namespace.enter(work).expect("the namespace is there");
}

/// Returns a listener and both ends of a connection to it.
fn connection(address: IpAddr) -> (TcpListener, TcpStream, TcpStream) {
    let listener = TcpListener::bind((address, 0)).expect("a listener");
    let client = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    let (accepted, _) = listener.accept().expect("the same connection");
    (listener, client, accepted)
}

fn window(from: u64, length: u64) -> Vec<u8> {
    [from.to_ne_bytes(), length.to_ne_bytes()].concat()
}

#[test]
fn what_is_set_is_read_back() {
    attached(|_, _| {
        for address in [HERE, Ipv6Addr::LOCALHOST.into()] {
            let (listener, client, accepted) = connection(address);
            for socket in [listener.as_fd(), client.as_fd(), accepted.as_fd()] {
                assert!(!option::is_on(socket).expect("an option"));
                option::switch(socket, true).expect("an option");
                assert!(option::is_on(socket).expect("an option"));
                option::switch(socket, false).expect("an option");
                assert!(!option::is_on(socket).expect("an option"));

                assert_eq!(option::policy(socket).expect("an option"), Policy::Normal);
                for policy in Policy::ALL {
                    option::set_policy(socket, policy).expect("an option");
                    assert_eq!(option::policy(socket).expect("an option"), policy);
                }

                let read = || get(socket, TCP, TCP_LITE_WINDOW, 16).expect("an option");
                assert_eq!(read(), window(0, 0));
                option::set_window(socket, 312..50_312).expect("an option");
                assert_eq!(read(), window(312, 50_000));
                // Up to the last possible byte.
                option::set_window(socket, 1..u64::MAX).expect("an option");
                assert_eq!(read(), window(1, u64::MAX - 1));
                // An empty range removes the window.
                option::set_window(socket, 7..7).expect("an option");
                assert_eq!(read(), window(0, 0));
            }
        }
    });
}

#[test]
fn wrong_lengths_and_values_are_refused() {
    attached(|_, _| {
        let (listener, client, accepted) = connection(HERE);
        let number = |number: i32| number.to_ne_bytes().to_vec();
        let wrong = [
            (TCP_LITE, vec![]),
            (TCP_LITE, vec![1]),
            (TCP_LITE, vec![1, 0, 0]),
            (TCP_LITE, vec![1, 0, 0, 0, 0]),
            (TCP_LITE, vec![0; 5000]),
            (TCP_LITE, number(2)),
            (TCP_LITE, number(-1)),
            (TCP_LITE_POLICY, vec![1]),
            (TCP_LITE_POLICY, vec![0; 8]),
            (TCP_LITE_POLICY, number(3)),
            (TCP_LITE_POLICY, number(-1)),
            (TCP_LITE_WINDOW, number(1)),
            (TCP_LITE_WINDOW, vec![0; 15]),
            (TCP_LITE_WINDOW, vec![0; 17]),
            (TCP_LITE_WINDOW, window(u64::MAX, 1)),
            (TCP_LITE_WINDOW, window(1, u64::MAX)),
            (TCP_LITE_STATS, vec![0; STATS_LEN]),
            (TCP_LITE_RANGES, vec![0; 24]),
        ];
        for socket in [listener.as_fd(), client.as_fd(), accepted.as_fd()] {
            option::switch(socket, true).expect("an option");
            option::set_policy(socket, Policy::Bold).expect("an option");
            option::set_window(socket, 10..20).expect("an option");
            for (name, value) in &wrong {
                let told = format!("{name:#x} set to {value:?}");
                assert_eq!(refusal(set(socket, TCP, *name, value)), libc::EINVAL, "{told}");
            }
            assert!(option::is_on(socket).expect("an option"));
            assert_eq!(option::policy(socket).expect("an option"), Policy::Bold);
            assert_eq!(get(socket, TCP, TCP_LITE_WINDOW, 16).expect("an option"), window(10, 10));

            // A count, an overflow flag, and room for the ranges.
            let ranges_len = get(socket, TCP, TCP_LITE_RANGES, 5000).expect("an option").len();
            assert!(ranges_len > 8 && (ranges_len - 8).is_multiple_of(16), "{ranges_len}");
            let lens = [
                (TCP_LITE, 4),
                (TCP_LITE_POLICY, 4),
                (TCP_LITE_WINDOW, 16),
                (TCP_LITE_STATS, STATS_LEN),
                (TCP_LITE_RANGES, ranges_len),
            ];
            for (name, len) in lens {
                for short in [0, 1, len - 1] {
                    assert_eq!(
                        refusal(get(socket, TCP, name, short)),
                        libc::EINVAL,
                        "{name:#x}, {short} bytes"
                    );
                }
                for enough in [len, len + 1, 5000] {
                    assert_eq!(get(socket, TCP, name, enough).expect("an option").len(), len, "{name:#x}");
                }
            }
            // Option numbers next to ours are left to the kernel.
            for name in [TCP_LITE - 1, TCP_LITE_POLICY + 1] {
                assert_eq!(refusal(set(socket, TCP, name, &[0; 4])), libc::ENOPROTOOPT);
                assert_eq!(refusal(get(socket, TCP, name, 4)), libc::ENOPROTOOPT);
            }
        }
    });
}

/// TL-27: counters and ranges are those of one connection, even if its socket has had others.
#[test]
fn a_socket_connected_again_begins_to_count_anew() {
    let Some(ground) = Ground::new() else { return };
    let work = || {
        // Given only to the program: what it remembers and counts changes as if the packet had
        // arrived.
        let lite = Lite::attach(ground.group(), &Settings::on_request(Mode::Thesis)).expect("TCP Lite");
        let (listener, client, _accepted) = connection(HERE);
        option::switch(&client, true).expect("an option");
        let ports = [listener.local_addr(), client.local_addr()].map(|its| its.expect("an address").port());
        let (remote, local) = (listener.local_addr().expect("an address"), client.local_addr().expect("one"));
        let next = lite.track(remote, local).expect("a map").expect("it is known").contiguous;
        let mut packet = vec![0x45, 0, 0, 140, 0, 7, 0x40, 0, 64, 6, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1];
        checksum::recompute_ipv4(&mut packet);
        packet.extend(ports.map(u16::to_be_bytes).concat());
        packet.extend(next.to_be_bytes());
        packet.extend([0, 0, 0, 0, 0x50, 0x10, 4, 0, 0xba, 0xad, 0, 0]);
        packet.extend([7; 100]);
        lite.judge(&packet).expect("the kernel takes it");
        let stats = option::stats(&client).expect("an option");
        assert_eq!((stats.accepted, stats.bytes), (1, 100));
        assert_eq!(option::ranges(&client).expect("an option").ranges.first(), Some(&(0..100)));

        rustix::net::connect_unspec(&client).expect("it is ended");
        rustix::net::connect(&client, &remote).expect("a connection");
        assert!(option::is_on(&client).expect("an option"), "settings stay");
        assert_eq!(option::stats(&client).expect("an option"), Totals::default());
        assert!(option::ranges(&client).expect("an option").ranges.is_empty());
        Ok(())
    };
    ground.namespace.enter(work).expect("the namespace is there");
}

/// The control group of the process that made the socket counts. A connection is in its listener's
/// group.
#[test]
fn sockets_of_other_groups_have_no_such_option() {
    let outside = TcpListener::bind((HERE, 0)).expect("a listener");
    let Some(ground) = Ground::new() else { return };
    let settings = Settings::on_request(Mode::Recovery);
    let _lite = Lite::attach(ground.group(), &settings).expect("TCP Lite");
    has_no_lite(&outside);
    let client = TcpStream::connect(outside.local_addr().expect("an address")).expect("a connection");
    let (accepted, _) = outside.accept().expect("the same connection");
    has_no_lite(&accepted);
    option::switch(&client, true).expect("an option");
    assert!(option::is_on(&client).expect("an option"));
}

#[test]
fn accepted_sockets_inherit_settings_and_not_counters() {
    let Some(ground) = Ground::new() else { return };
    let peer = Peer::new(&ground.namespace, false);
    let work = || {
        // In this mode, a listener counts damaged handshakes.
        let mut lite = Lite::attach(ground.group(), &Settings::on_request(Mode::Thesis)).expect("TCP Lite");
        lite.add_interface(DEVICE).expect("TCP Lite at the device");
        let listener = TcpListener::bind((peer.here, 80)).expect("a listener");
        option::switch(&listener, true).expect("an option");
        option::set_policy(&listener, Policy::Strict).expect("an option");
        option::set_window(&listener, 0..5000).expect("an option");
        let _conversation = peer.connect(80, 40_001, true, spoil);
        let (accepted, _) = listener.accept().expect("the peer's connection");
        assert_eq!(option::stats(&listener).expect("an option").accepted, 1);

        assert!(option::is_on(&accepted).expect("an option"));
        assert_eq!(option::policy(&accepted).expect("an option"), Policy::Strict);
        assert_eq!(get(&accepted, TCP, TCP_LITE_WINDOW, 16).expect("an option"), window(0, 5000));
        let stats = option::stats(&accepted).expect("an option");
        assert_eq!((stats.damaged, stats.accepted, stats.bytes), (0, 0, 0));
        assert!(option::ranges(&accepted).expect("an option").ranges.is_empty());

        // From then on each has its own settings.
        option::switch(&accepted, false).expect("an option");
        assert!(option::is_on(&listener).expect("an option"));
        option::set_policy(&listener, Policy::Bold).expect("an option");
        assert_eq!(option::policy(&accepted).expect("an option"), Policy::Strict);
        Ok(())
    };
    ground.namespace.enter(work).expect("the namespace is there");
}

#[test]
fn options_of_others_pass_unchanged() {
    attached(|ground, _| {
        let (listener, client, accepted) = connection(HERE);
        sockopt::set_tcp_nodelay(&client, true).expect("an option");
        assert!(sockopt::tcp_nodelay(&client).expect("an option"));
        assert!(!sockopt::tcp_nodelay(&accepted).expect("an option"));
        // The kernel doubles it (socket(7)).
        sockopt::set_socket_recv_buffer_size(&accepted, 40_000).expect("an option");
        assert_eq!(sockopt::socket_recv_buffer_size(&accepted).expect("an option"), 80_000);
        // Values longer than a page, of which programs see only the first page.
        let reno = [b"reno".to_vec(), vec![0; 8000]].concat();
        set(&client, TCP, libc::TCP_CONGESTION, &reno).expect("an option");
        assert_eq!(sockopt::tcp_congestion(&client).expect("an option"), "reno");
        assert_eq!(get(&client, TCP, libc::TCP_CONGESTION, 8000).expect("an option")[..5], *b"reno\0");
        let [short, long] = [8, 8000].map(|len| get(&client, TCP, libc::TCP_INFO, len).expect("an option"));
        // The kernel's number of the state: established.
        assert_eq!((short[0], short.len()), (1, 8));
        assert_eq!(long[0], 1);
        assert!(long.len() > 200 && long.len() < 1000, "{} bytes", long.len());
        let state = get(&listener, TCP, libc::TCP_INFO, 8).expect("an option")[0];
        assert_eq!(state, 10, "listening");
        assert_eq!(refusal(set(&client, TCP, libc::TCP_CONGESTION, b"none such\0")), libc::ENOENT);
        assert_eq!(refusal(set(&client, TCP, libc::TCP_NODELAY, &[1])), libc::EINVAL);

        // The same numbers at other levels are not ours.
        assert_eq!(refusal(set(&client, libc::SOL_SOCKET, TCP_LITE, &[1, 0, 0, 0])), libc::ENOPROTOOPT);
        assert_eq!(refusal(get(&client, libc::IPPROTO_IP, TCP_LITE, 4)), libc::ENOPROTOOPT);

        // A UDP socket's option whose value really is longer than a page.
        sysctl::write(&ground.namespace, "net.ipv4.igmp_max_msf", "2000").expect("sysctl");
        let udp = UdpSocket::bind((HERE, 0)).expect("a socket");
        let (group, host) = (Ipv4Addr::new(239, 1, 2, 3), Ipv4Addr::LOCALHOST);
        udp.join_multicast_v4(&group, &host).expect("an option");
        let sources = (0..1500_u32).flat_map(|number| Ipv4Addr::from(0x0a00_0001 + number).octets());
        let mut filter =
            [group.octets(), host.octets(), 1_u32.to_ne_bytes(), 1500_u32.to_ne_bytes()].concat();
        filter.extend(sources);
        set(&udp, libc::IPPROTO_IP, IP_MSFILTER, &filter).expect("an option");
        // The buffer must say how many sources it has room for.
        let mut read = filter.clone();
        read[16..].fill(0);
        ground::raw_option::get_into(&udp, libc::IPPROTO_IP, IP_MSFILTER, &mut read).expect("an option");
        read[16..].as_chunks_mut::<4>().0.sort_unstable();
        assert!(read == filter, "the filter is not what was set");
    });
}

/// UDP sockets have no TCP options. The kernel refuses them in another way than for a TCP socket,
/// and this must not change.
#[test]
fn udp_sockets_are_left_to_the_kernel() {
    attached(|_, lite| {
        let udp = UdpSocket::bind((HERE, 0)).expect("a socket");
        let answers = || {
            let names = TCP_LITE..=TCP_LITE_POLICY;
            let both =
                |name| (refusal(set(&udp, TCP, name, &[1, 0, 0, 0])), refusal(get(&udp, TCP, name, 2000)));
            names.map(both).collect::<Vec<_>>()
        };
        let with = answers();
        drop(lite);
        assert_eq!(with, answers());
    });
}

#[test]
fn an_ordinary_user_can_use_the_options() {
    attached(|ground, _| {
        // The kernel's credentials are per thread (credentials(7)), and this thread ends with them.
        let work = || {
            let user = rustix::process::Uid::from_raw(USER);
            rustix::thread::set_thread_res_uid(user, user, user).expect("another user");
            let status = fs::read_to_string("/proc/thread-self/status").expect("a status");
            assert!(status.contains("CapEff:\t0000000000000000\n"), "{status}");
            let (_listener, client, accepted) = connection(HERE);
            for socket in [&client, &accepted] {
                option::switch(socket, true).expect("an option");
                option::set_policy(socket, Policy::Strict).expect("an option");
                option::set_window(socket, 1..9).expect("an option");
                assert!(option::is_on(socket).expect("an option"));
                option::stats(socket).expect("an option");
                option::ranges(socket).expect("an option");
            }
            Ok(())
        };
        ground.namespace.enter(work).expect("the namespace is there");
    });
}

/// `tcp_lite(7)`, ERRORS.
#[test]
fn no_memory_for_settings_is_said() {
    attached(|ground, _| {
        let (_listener, client, _accepted) = connection(HERE);
        if sysctl::write(&ground.namespace, "net.core.optmem_max", "100").is_err() {
            skip::skip!("this kernel limits memory of sockets' options for all namespaces at once");
            return;
        }
        assert_eq!(refusal(set(&client, TCP, TCP_LITE, &1_i32.to_ne_bytes())), libc::ENOMEM);
        assert!(!option::is_on(&client).expect("an option"));
    });
}
