//! A world: both twins, the sockets that they know, and the variant of the world.

use crate::ground::Ground;
use header_repair::{ByteWindow, Handshake, Receiver, SocketView, Tuple};
use netlab::sysctl;
use rand::{Rng, RngExt};
use rustix::net::{AddressFamily, SocketType, bind, connect, ipproto, socket, sockopt};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;
use tcp_lite::{Lite, Localization, Mode, Parameters, Policy, Settings, option};

/// An hour: no difference between the twins' clocks earns a guess.
pub const NEVER: u64 = 3_600_000_000_000;

/// A connection of both twins.
pub struct Connection {
    pub tuple: Tuple,
    pub accepted: TcpStream,
    client: TcpStream,
    pub view: SocketView,
    /// Payload of its full segments.
    pub size: u32,
    pub habit: Habit,
}

/// The usual options of a connection's segments. Right segments teach some things only when two
/// agree.
#[derive(Clone, Copy)]
pub enum Habit {
    Usual,
    /// Mostly options that cannot be repaired.
    Others,
    /// Mostly time stamps far ahead of the last ones.
    Jumps,
    /// Often SACK blocks.
    Blocks,
}

/// Both twins, and the connections that they know, which are replaced from time to time.
pub struct World {
    pub lite: Lite,
    pub receiver: Receiver,
    pub connections: Vec<Connection>,
    pub variant: Variant,
}

/// What differs between worlds.
#[derive(Clone, Copy)]
#[allow(clippy::struct_excessive_bools, reason = "independent choices, each varied by itself")]
pub struct Variant {
    pub is_ipv6: bool,
    time_stamps: bool,
    localization: Localization,
    /// More connections than an approximate search examines.
    crowded: bool,
    limited: bool,
    /// The window covers half of all sequence numbers, and segments are tiny, so several
    /// connections match a packet.
    wide: bool,
}

pub const VARIANTS: [Variant; 9] = {
    let plain = Variant {
        is_ipv6: false,
        time_stamps: true,
        localization: Localization::Bits(4),
        crowded: false,
        limited: false,
        wide: false,
    };
    [
        plain,
        Variant { is_ipv6: true, ..plain },
        Variant { time_stamps: false, ..plain },
        Variant { crowded: true, ..plain },
        Variant { limited: true, ..plain },
        Variant { localization: Localization::SourcePort, is_ipv6: true, ..plain },
        Variant { localization: Localization::SourcePort, crowded: true, time_stamps: false, ..plain },
        Variant { localization: Localization::Exact, ..plain },
        Variant { wide: true, ..plain },
    ]
};

impl Variant {
    /// Returns how far past a base a position may lie, in bytes.
    pub const fn window(&self) -> u32 {
        if self.wide { 1 << 30 } else { 1 << 20 }
    }
}

impl World {
    pub fn new(ground: &Ground, variant: Variant) -> Self {
        let parameters = Parameters {
            mode: Mode::Recovery,
            localization: variant.localization,
            window: variant.window(),
            guess_interval_ns: if variant.limited { NEVER } else { 0 },
            guess_burst: 3,
        };
        let lite =
            Lite::attach(ground.group(), &Settings { every_connection: None, parameters }).expect("TCP Lite");
        let stamps = if variant.time_stamps { "1" } else { "0" };
        sysctl::write(&ground.namespace, "net.ipv4.tcp_timestamps", stamps).expect("sysctl");
        Self { lite, receiver: Receiver::new(parameters), connections: Vec::new(), variant }
    }

    /// Ends all connections and opens new ones.
    pub fn renew(&mut self, random: &mut impl Rng) {
        for connection in self.connections.drain(..) {
            let Tuple { pair, remote_port, local_port } = connection.tuple;
            self.receiver.close(&connection.tuple);
            self.receiver.close(&pair.tuple(local_port, remote_port));
            // With a reset, the kernel forgets them at once.
            for socket in [&connection.accepted, &connection.client] {
                sockopt::set_socket_linger(socket, Some(Duration::ZERO)).expect("an option");
            }
        }
        let address: IpAddr =
            if self.variant.is_ipv6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
        let count = if self.variant.crowded { random.random_range(33..42) } else { 6 };
        // Consecutive ports, as a host assigns them (P II-B c), with gaps for connections to other
        // hosts.
        let mut port: u16 = random.random_range(20_000..50_000);
        // Sometimes the server's port is next to these, so that damaged ports may name the other
        // end of a connection.
        let beside = if random.random_ratio(1, 8) { port - 1 } else { 0 };
        let listener = TcpListener::bind((address, beside)).or_else(|_| TcpListener::bind((address, 0)));
        let listener = listener.expect("a listener");
        for _ in 0..count {
            self.open(&listener, address, port, random);
            port += if random.random_ratio(1, 6) { 2 } else { 1 };
        }
    }

    /// Opens another connection, with settings of its own.
    fn open(&mut self, listener: &TcpListener, address: IpAddr, port: u16, random: &mut impl Rng) {
        let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
        let descriptor = socket(family, SocketType::STREAM, Some(ipproto::TCP)).expect("a socket");
        sockopt::set_socket_reuseaddr(&descriptor, true).expect("an option");
        // An earlier connection may still have the port.
        if bind(&descriptor, &SocketAddr::new(address, port)).is_err() {
            return;
        }
        let server = listener.local_addr().expect("an address");
        connect(&descriptor, &server).expect("a connection");
        let mut client = TcpStream::from(descriptor);
        let (mut accepted, remote) = listener.accept().expect("the same connection");
        let tuple = Tuple::new(remote, server);
        let track = self.lite.track(remote, server).expect("a map").expect("sockops has seen it");
        assert!(track.known && !track.lite, "{track:?}");
        let options = (track.header_len == 32).then_some(track.options);
        let handshake = Handshake {
            rcv_nxt: track.contiguous,
            ack: track.ack,
            window: track.window,
            options,
            unsupported: false,
        };
        self.receiver.open(tuple, handshake, false);
        // The client's end is known too, and never Lite.
        self.receiver.open(Tuple::new(server, remote), handshake, false);

        let is_on = random.random_ratio(9, 10);
        let policy = Policy::ALL[random.random_range(0..3)];
        let received = if random.random_ratio(1, 3) { random.random_range(1..5000) } else { 0 };
        let switched_late = received > 0 && random.random_ratio(1, 2);
        let rcv_nxt = track.contiguous.wrapping_add(received);
        option::set_policy(&accepted, policy).expect("an option");
        if is_on && !switched_late {
            option::switch(&accepted, true).expect("an option");
            self.receiver.switch(tuple, true, track.contiguous);
        }
        client.write_all(&vec![1; received as usize]).expect("room");
        accepted.read_exact(&mut vec![0; received as usize]).expect("the same bytes");
        if is_on && switched_late {
            option::switch(&accepted, true).expect("an option");
            self.receiver.switch(tuple, true, rcv_nxt);
        }
        // With 512, a damaged sequence number is a place again.
        let sizes = if self.variant.wide { [1, 1, 2, 4, 100] } else { [524, 512, 1448, 100, 1428] };
        let size = sizes[random.random_range(0..5)];
        let window = random.random_ratio(1, 5).then(|| {
            // Often whole segments, so that segments touch the window's ends.
            let from = if random.random() { random.random_range(0..3000) } else { received.into() };
            let len = if random.random() {
                random.random_range(1..20_000)
            } else {
                u64::from(size) * random.random_range(1..9)
            };
            ByteWindow { from, len }
        });
        if let Some(window) = window {
            option::set_window(&accepted, window.from..window.from + window.len).expect("an option");
        }
        let settings = header_repair::Settings { on: is_on, policy, window };
        let in_flight = if random.random_ratio(1, 2) { random.random_range(1..5000) } else { 0 };
        if in_flight > 0 {
            deafen(&client);
            accepted.write_all(&vec![2; in_flight as usize]).expect("room");
        }
        // It has sent nothing else.
        let (snd_una, snd_nxt) = (track.ack, track.ack.wrapping_add(in_flight));
        let view = SocketView { rcv_nxt, bytes_received: received.into(), snd_una, snd_nxt, settings };
        let habit = match random.random_range(0..20) {
            0 => Habit::Others,
            1 => Habit::Jumps,
            2 | 3 => Habit::Blocks,
            _ => Habit::Usual,
        };
        self.connections.push(Connection { tuple, accepted, client, view, size, habit });
    }
}

/// Makes the socket deaf, so that it acknowledges nothing: a filter that drops every segment.
fn deafen(socket: &TcpStream) {
    let mut nothing = libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: 0 };
    let program = libc::sock_fprog { len: 1, filter: &raw mut nothing };
    // SAFETY: the kernel reads only the program and its one instruction, which outlive the call.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size_of_val(&program) as libc::socklen_t,
        )
    };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}
