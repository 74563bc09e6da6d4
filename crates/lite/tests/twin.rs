//! The eBPF programs and their pure twin are given the same packets, and must do the same to them, bit by bit.
//!
//! Sockets are real, so that what the programs ask the kernel is true; the packets are not delivered (`BPF_PROG_TEST_RUN`), so that both twins stay at
//! what they have learned. `LITE_TWIN_CASES` says how many packets (default a million); the counts by outcome and by field are printed, and none may be
//! too small to mean anything. A second test does the same with bytes that no host would send (`LITE_TWIN_WILD_CASES`, default 200 000).

mod ground;

use ground::Ground;
use lite::{Lite, Localization, Mode, Parameters, Policy, Reason, Settings, Totals, option};
use netlab::sysctl;
use packet::{Field, TcpHeader, checksum};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use recovery::{ByteWindow, Handshake, Receiver, SocketView, Sockets, Tuple, Verdict};
use rustix::net::{AddressFamily, SocketType, bind, connect, ipproto, socket, sockopt};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Packets with the same sockets, mostly: what is in order moves on with each, and the kernel's receive point does not.
const PACKETS_OF_A_GENERATION: u64 = 400;
/// The same, one time in [`LONG_ONE_IN`]: so many that ranges overflow.
const PACKETS_OF_A_LONG_GENERATION: u64 = 4000;
const LONG_ONE_IN: u32 = 30;
/// An hour: what the clocks of the twins differ by buys no guess.
const NEVER: u64 = 3_600_000_000_000;

/// A connection of both twins.
struct Connection {
    tuple: Tuple,
    accepted: TcpStream,
    client: TcpStream,
    view: SocketView,
    /// Payload of its full segments.
    size: u32,
    habit: Habit,
}

/// What the options of a connection mostly are: right segments teach some things only when two agree.
#[derive(Clone, Copy)]
enum Habit {
    Usual,
    /// Options that cannot be repaired.
    Others,
    /// Time stamps far ahead of those held.
    Jumps,
    /// SACK blocks.
    Blocks,
}

/// The sockets as the kernel has them.
struct Views<'a>(&'a [Connection]);

impl Sockets for Views<'_> {
    fn view(&self, tuple: &Tuple) -> Option<SocketView> {
        self.0.iter().find(|connection| connection.tuple == *tuple).map(|connection| connection.view)
    }
}

/// Both twins, and the connections that they know, which are others from time to time.
struct World {
    lite: Lite,
    receiver: Receiver,
    connections: Vec<Connection>,
    variant: Variant,
}

/// What is varied between worlds.
#[derive(Clone, Copy)]
#[allow(clippy::struct_excessive_bools, reason = "independent choices, each varied by itself")]
struct Variant {
    is_ipv6: bool,
    time_stamps: bool,
    localization: Localization,
    /// More than an approximate search goes through.
    crowded: bool,
    limited: bool,
    /// Half of all sequence numbers may be places, and segments are tiny: several connections come into question.
    wide: bool,
}

const VARIANTS: [Variant; 9] = {
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
    /// How far behind a base a position may lie, in bytes.
    const fn window(&self) -> u32 {
        if self.wide { 1 << 30 } else { 1 << 20 }
    }
}

impl World {
    fn new(ground: &Ground, variant: Variant) -> Self {
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

    /// Ends all connections and opens others.
    fn renew(&mut self, random: &mut impl Rng) {
        for connection in self.connections.drain(..) {
            self.receiver.close(&connection.tuple);
            // The kernel forgets them at once with a reset.
            for socket in [&connection.accepted, &connection.client] {
                sockopt::set_socket_linger(socket, Some(Duration::ZERO)).expect("an option");
            }
        }
        let address: IpAddr =
            if self.variant.is_ipv6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
        let listener = TcpListener::bind((address, 0)).expect("a listener");
        let count = if self.variant.crowded { 36 } else { 6 };
        // Consecutive ports, as a host gives them out (P II-B c).
        let first: u16 = random.random_range(20_000..50_000);
        for number in 0..count {
            self.open(&listener, address, first + number, random);
        }
    }

    /// One connection more, with settings of its own.
    fn open(&mut self, listener: &TcpListener, address: IpAddr, port: u16, random: &mut impl Rng) {
        let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
        let descriptor = socket(family, SocketType::STREAM, Some(ipproto::TCP)).expect("a socket");
        sockopt::set_socket_reuseaddr(&descriptor, true).expect("an option");
        // One of those before may still have the port.
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
        self.receiver.open(tuple, handshake, false, Policy::Normal);

        let is_on = random.random_ratio(9, 10);
        let policy = Policy::ALL[random.random_range(0..3)];
        let received = if random.random_ratio(1, 3) { random.random_range(1..5000) } else { 0 };
        let switched_late = received > 0 && random.random_ratio(1, 2);
        let rcv_nxt = track.contiguous.wrapping_add(received);
        option::set_policy(&accepted, policy).expect("an option");
        if is_on && !switched_late {
            option::switch(&accepted, true).expect("an option");
            self.receiver.switch(tuple, true, policy, track.contiguous);
        }
        client.write_all(&vec![1; received as usize]).expect("room");
        accepted.read_exact(&mut vec![0; received as usize]).expect("the same bytes");
        if is_on && switched_late {
            option::switch(&accepted, true).expect("an option");
            self.receiver.switch(tuple, true, policy, rcv_nxt);
        }
        // 512 is where a hit sequence number is a place again.
        let sizes = if self.variant.wide { [1, 1, 2, 4, 100] } else { [524, 512, 1448, 100, 1428] };
        let size = sizes[random.random_range(0..5)];
        let window = random.random_ratio(1, 5).then(|| {
            // Often whole segments, so that segments touch its ends.
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
        let settings = recovery::Settings { on: is_on, policy, window };
        let in_flight = if random.random_ratio(1, 2) { random.random_range(1..5000) } else { 0 };
        if in_flight > 0 {
            deafen(&client);
            accepted.write_all(&vec![2; in_flight as usize]).expect("room");
        }
        // It had sent nothing before.
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

    /// A packet as the other host of one of the connections would send it, mostly.
    fn packet(&self, random: &mut impl Rng) -> (usize, Vec<u8>) {
        let number = random.random_range(0..self.connections.len());
        let connection = &self.connections[number];
        let track = self.receiver.track(&connection.tuple).expect("it was opened");
        let base =
            [track.contiguous, track.contiguous, track.contiguous, connection.view.rcv_nxt, track.highest]
                [random.random_range(0..5)];
        let seq = match random.random_range(0..40) {
            0..25 => base,
            25..29 => base.wrapping_add(connection.size * random.random_range(1..5)),
            29 => base.wrapping_add(connection.size * random.random_range(5..40)),
            30..32 => base.wrapping_sub(connection.size),
            32..34 => base.wrapping_sub(connection.size * random.random_range(2..36)),
            34..36 => base.wrapping_add(random.random_range(0..3000)),
            // About as far as the window lets it.
            36 => {
                let most = self.variant.window() / connection.size;
                base.wrapping_add(connection.size * random.random_range(most - 2..most + 2))
            }
            // An old number that damage has brought forward, often the oldest one that is compared with.
            37 => {
                let behind = if random.random() { 32 } else { random.random_range(1..34) };
                base.wrapping_sub(connection.size * behind) ^ 1 << random.random_range(20..32)
            }
            _ => random.random(),
        };
        let payload = match random.random_range(0..20) {
            0..14 => connection.size,
            14..16 => 0,
            16 => 1,
            _ => random.random_range(0..connection.size),
        };
        let options = options(track, connection.habit, random);
        let ack = acknowledgment(&connection.view, track, random);
        let window = match random.random_range(0..20) {
            0..17 => u32::from(track.window),
            17..19 => u32::from(track.window) ^ 1 << random.random_range(0..16),
            _ => random.random_range(0..65_536),
        };
        let push = u32::from(random.random_ratio(1, 4));
        let fin = u32::from(random.random_ratio(1, 30));
        let echo = u32::from(random.random_ratio(1, 60));
        // What is no data segment of an established connection.
        let other = random.random_range(0..300);
        let mut segment = vec![0; 20 + options.len() + payload as usize];
        TcpHeader::read(&[0; 20])
            .expect("20 bytes")
            .with(Field::SourcePort, connection.tuple.remote_port.into())
            .with(Field::DestinationPort, connection.tuple.local_port.into())
            .with(Field::Sequence, seq)
            .with(Field::Acknowledgment, ack)
            .with(Field::DataOffset, 5 + options.len() as u32 / 4)
            .with(Field::Ack, u32::from(other != 0))
            .with(Field::Syn, u32::from(other == 1))
            .with(Field::Rst, u32::from(other == 2))
            .with(Field::Psh, push)
            .with(Field::Fin, fin)
            .with(Field::Ece, echo)
            .with(Field::Window, window)
            .write(&mut segment);
        segment[20..20 + options.len()].copy_from_slice(&options);
        random.fill_bytes(&mut segment[20 + options.len()..]);
        let mut packet = in_ip(self.variant.is_ipv6, segment);
        if random.random_ratio(1, 30) {
            self.explain_twice(connection, &mut packet, random);
        }
        (number, packet)
    }

    /// Makes two fields differ by as much from what is known of them, so that the checksum is right with either restored.
    fn explain_twice(&self, connection: &Connection, packet: &mut [u8], random: &mut impl Rng) {
        let track = self.receiver.track(&connection.tuple).expect("it was opened");
        let segment = &mut packet[if self.variant.is_ipv6 { 40 } else { 20 }..];
        let header = TcpHeader::read(segment).expect("it was built");
        let fields = [
            (Field::Acknowledgment, track.ack),
            (Field::Window, track.window.into()),
            (Field::Sequence, track.contiguous),
            (Field::Sequence, track.highest),
            (Field::Sequence, connection.view.rcv_nxt),
        ];
        let (first, second) = (fields[random.random_range(0..5)], fields[random.random_range(0..5)]);
        // A window is confirmed where a single bit differs.
        let by = if random.random() { 1 << random.random_range(0..11) } else { random.random_range(1..2000) };
        // The checksum is that of the first one as it should be, the second one as it is.
        let sent = header.with(first.0, first.1).with(second.0, second.1.wrapping_add(by));
        let change =
            checksum::add(sent.with(Field::Checksum, 0).sum(), !header.with(Field::Checksum, 0).sum());
        let sum = checksum::add(!(header.get(Field::Checksum) as u16), change);
        sent.with(first.0, first.1.wrapping_add(by)).with(Field::Checksum, u32::from(!sum)).write(segment);
    }

    /// Gives the packet to both, and says what became of it.
    fn judge(&mut self, number: usize, packet: &[u8], case: u64) -> Verdict {
        let out = self.lite.judge(packet).expect("the kernel takes it");
        let mut bytes = packet.to_vec();
        let views = Views(&self.connections);
        let verdict = self.receiver.packet(&mut bytes, None, 0, &views);
        // The headers say it all.
        let shown = |bytes: &[u8]| {
            format!("{:02x?} and {} bytes", &bytes[..bytes.len().min(100)], bytes.len().saturating_sub(100))
        };
        let told = || {
            let (packet, out, bytes) = (shown(packet), shown(&out), shown(&bytes));
            format!("case {case}, {verdict:?}\npacket  {packet}\nkernel  {out}\ntwin    {bytes}")
        };
        assert!(out == bytes, "the twins write different packets: {}", told());
        let tuple = self.connections[number].tuple;
        let (remote, local) = sockets_of(&tuple);
        let its = self.lite.track(remote, local).expect("a map").expect("the connection is there");
        let ours = self.receiver.track(&tuple).expect("it was opened");
        let same = (its.contiguous, its.highest, its.ack, its.window, its.payload)
            == (ours.contiguous, ours.highest, ours.ack, ours.window, ours.payload)
            && (its.header_len, its.known, its.sack_seen, its.others, its.suspect)
                == (ours.header_len, ours.known, ours.sack_seen, ours.others, ours.suspect)
            && (its.header_len == 20 || its.options == ours.options);
        assert!(same, "the twins remember differently:\nkernel {its:?}\ntwin   {ours:?}\n{}", told());
        verdict
    }

    /// What both counted, and noted of each connection.
    fn compare_counters(&self, case: u64) {
        let counters = self.receiver.counters();
        assert_counted(case, &self.lite.totals().expect("a map"), counters);
        for connection in &self.connections {
            let stats = option::stats(&connection.accepted).expect("an option");
            let counters = self.receiver.connection_counters(&connection.tuple).expect("it was opened");
            // The kernel has not asked for the socket yet when it finds these.
            let unasked = counters.discarded(Reason::Ip) + counters.discarded(Reason::NoConnection);
            assert_eq!(
                (stats.damaged, stats.accepted, stats.bytes),
                (counters.damaged - unasked, counters.accepted, counters.bytes),
                "counted by case {case}: damaged, accepted and bytes of {:?}",
                connection.tuple
            );
            let noted = option::ranges(&connection.accepted).expect("an option");
            let ranges = self.receiver.ranges(&connection.tuple).expect("it was opened");
            assert_eq!(
                (noted.ranges.as_slice(), noted.overflow),
                (ranges.held(), ranges.has_overflowed()),
                "noted by case {case}"
            );
        }
    }
}

fn assert_counted(case: u64, its: &Totals, ours: &recovery::Counters) {
    let counted =
        (its.damaged, its.accepted, its.confirmed, its.guessed, its.out_of_order, its.approximate, its.bytes);
    let expected = (
        ours.damaged,
        ours.accepted,
        ours.confirmed,
        ours.guesses,
        ours.out_of_order,
        ours.approximate,
        ours.bytes,
    );
    assert_eq!(
        counted, expected,
        "counted by case {case}: damaged, accepted, confirmed, guessed, out of order, approximate, bytes"
    );
    assert_eq!(its.unverifiable, ours.unverifiable, "counted by case {case}: unverifiable");
    for reason in Reason::ALL {
        assert_eq!(
            its.discarded_for(reason),
            ours.discarded(reason),
            "counted by case {case}: {}",
            reason.name()
        );
    }
}

fn sockets_of(tuple: &Tuple) -> (SocketAddr, SocketAddr) {
    let plain = |address: Ipv6Addr| address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4);
    (
        SocketAddr::new(plain(tuple.pair.remote), tuple.remote_port),
        SocketAddr::new(plain(tuple.pair.local), tuple.local_port),
    )
}

/// The socket hears nothing any more, so that it acknowledges nothing: a filter that keeps no byte of any segment.
fn deafen(socket: &TcpStream) {
    let mut nothing = libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: 0 };
    let program = libc::sock_fprog { len: 1, filter: &raw mut nothing };
    // SAFETY: the kernel reads the program and its one instruction, which outlive the call, and no more.
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

/// An acknowledgment number: mostly one that can be, or one at the edges of those.
fn acknowledgment(view: &SocketView, track: &recovery::Track, random: &mut impl Rng) -> u32 {
    let in_flight = view.snd_nxt.wrapping_sub(view.snd_una);
    match random.random_range(0..40) {
        0..20 => track.ack,
        20..30 => view.snd_una.wrapping_add(random.random_range(0..=in_flight)),
        30 => view.snd_una,
        31 => view.snd_nxt,
        32 => view.snd_una.wrapping_sub(1),
        33 => view.snd_nxt.wrapping_add(1),
        34..36 => view.snd_una.wrapping_sub(random.random_range(0..70_000)),
        36..38 => view.snd_nxt.wrapping_add(random.random_range(0..70_000)),
        38 => track.ack.wrapping_add(random.random_range(0..70_000)),
        _ => random.random(),
    }
}

/// Options as the connection carries them, mostly.
fn options(track: &recovery::Track, habit: Habit, random: &mut impl Rng) -> Vec<u8> {
    let mut options = if track.header_len == 32 {
        let [held, echoed] =
            [4, 8].map(|at| u32::from_be_bytes(track.options[at..at + 4].try_into().expect("four bytes")));
        let ahead = match (habit, random.random_range(0..10)) {
            (Habit::Jumps, 0..8) => random.random_range(100_000..100_010),
            // As far as is plausible, or a little further.
            (_, 8) => random.random_range(0xfffe..0x1_0003),
            _ => 0,
        };
        let stamp = held.wrapping_add(ahead + random.random_range(0..5)).wrapping_sub(1);
        let echo = match random.random_range(0..20) {
            0..16 => echoed.wrapping_add(random.random_range(0..3)),
            16 => echoed.wrapping_add(random.random_range(0xfffe..0x1_0003)),
            _ => random.random(),
        };
        let mut options = vec![1, 1, 8, 10];
        options.extend(stamp.to_be_bytes());
        options.extend(echo.to_be_bytes());
        options
    } else {
        Vec::new()
    };
    // Two in a row end repair, the next that fit let it begin again.
    let odds = [60, 2, 4, 4][usize::from(track.others)];
    if random.random_ratio(1, odds) {
        match random.random_range(0..4) {
            0 => options.extend([30, 4, 0, 0]),
            1 if options.is_empty() => options.extend([1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9]),
            1 => options.clear(),
            2 if options.is_empty() => options.extend([1; 4]),
            2 => options[random.random_range(0..4)] ^= 1 << random.random_range(0..8),
            _ => options.extend([8, 10, 0, 0]),
        }
        return options;
    }
    let kind = match (habit, random.random_range(0..400)) {
        (Habit::Blocks, 200..) => 1,
        (_, kind) => kind,
    };
    match kind {
        _ if matches!(habit, Habit::Others) && kind % 8 != 0 => options.extend([30, 4, 0, 0]),
        0 => options.extend([30, 4, 0, 0]),
        1..20 => {
            let blocks = random.random_range(1..=if options.is_empty() { 4 } else { 3 });
            options.extend([1, 1, 5, 2 + 8 * blocks]);
            options.extend((0..8 * blocks).map(|_| random.random::<u8>()));
        }
        20..24 if options.len() == 12 => {
            // Padding of either kind wherever it may be, and now and then of neither.
            options[..2].fill_with(|| [0, 0, 1, 1, 2][random.random_range(0..5)]);
            options.rotate_left(random.random_range(0..3));
        }
        24..27 => options.clear(),
        _ => {}
    }
    options
}

/// An IP header for a segment of `len` bytes.
fn ip_header(is_ipv6: bool, len: usize) -> Vec<u8> {
    let len = len as u16;
    if is_ipv6 {
        let mut header = vec![0x60, 0, 0, 0];
        header.extend(len.to_be_bytes());
        header.extend([6, 64]);
        header.extend(Ipv6Addr::LOCALHOST.octets());
        header.extend(Ipv6Addr::LOCALHOST.octets());
        header
    } else {
        let mut header = vec![0x45, 0];
        header.extend((len + 20).to_be_bytes());
        header.extend([0, 7, 0x40, 0, 64, 6, 0, 0]);
        header.extend(Ipv4Addr::LOCALHOST.octets());
        header.extend(Ipv4Addr::LOCALHOST.octets());
        checksum::recompute_ipv4(&mut header);
        header
    }
}

/// The segment with the right checksum, in an IP packet.
fn in_ip(is_ipv6: bool, mut segment: Vec<u8>) -> Vec<u8> {
    let header = ip_header(is_ipv6, segment.len());
    let len = segment.len() as u16;
    let mut pseudo = header[if is_ipv6 { 8 } else { 12 }..].to_vec();
    pseudo.extend([0, 6]);
    pseudo.extend(len.to_be_bytes());
    segment[16..18].fill(0);
    let sum = checksum::add(checksum::sum(&pseudo), checksum::sum(&segment));
    segment[16..18].copy_from_slice(&(!sum).to_be_bytes());
    [header, segment].concat()
}

/// Bits that are turned; the fields that they are in.
fn damage(packet: &mut Vec<u8>, is_ipv6: bool, random: &mut impl Rng) -> Vec<&'static str> {
    let at = if is_ipv6 { 40 } else { 20 };
    let len = packet.len() - at;
    let header_bits = usize::from(packet[at + 12] >> 4) * 32;
    let mut bits: Vec<usize> = Vec::new();
    match random.random_range(0..24u8) {
        // One bit of the header, evenly.
        0..7 => bits.push(random.random_range(0..header_bits)),
        7..9 => bits.push(random.random_range(0..160)),
        9..12 => bits.push(random.random_range(0..len * 8)),
        12..14 if random.random_ratio(1, 6) => {
            // The data offset, so that it is what it often is.
            let wanted = [5, 8][random.random_range(0..2)];
            bits.extend(
                (0..4).filter(|bit| (packet[at + 12] >> 4 ^ wanted) << bit & 8 != 0).map(|bit| 96 + bit),
            );
        }
        12..14 => bits.extend((0..random.random_range(2..5)).map(|_| random.random_range(0..header_bits))),
        14 => bits.extend([random.random_range(0..header_bits), random.random_range(0..len * 8)]),
        // The sequence number, and something that keeps it from being confirmed.
        15 => {
            bits.extend((0..random.random_range(1..4)).map(|_| random.random_range(32..64)));
            bits.push(random.random_range(0..len * 8));
        }
        // The checksum field of thesis mode.
        16 => packet[at + 16..at + 18].fill(0),
        // What is not hit: a right segment.
        17 | 20.. => {}
        18 if random.random_ratio(1, 2) => {
            // The IP header, and something else.
            let bit = random.random_range(0..at * 8);
            packet[bit / 8] ^= 0x80 >> (bit % 8);
            bits.push(random.random_range(0..len * 8));
        }
        18 => {
            // Cut, with an IP header that knows: as a fragment of nonsense.
            let len = random.random_range(0..30).min(len) as u16;
            packet.truncate(at + usize::from(len));
            if is_ipv6 {
                packet[4..6].copy_from_slice(&len.to_be_bytes());
            } else {
                packet[2..4].copy_from_slice(&(len + 20).to_be_bytes());
                checksum::recompute_ipv4(&mut packet[..20]);
            }
        }
        // The partial checksum of an offload.
        19 => {
            let mut pseudo = packet[if is_ipv6 { 8 } else { 12 }..at].to_vec();
            pseudo.extend([0, 6]);
            pseudo.extend((len as u16).to_be_bytes());
            let sum = checksum::sum(&pseudo);
            packet[at + 16..at + 18].copy_from_slice(&sum.to_be_bytes());
        }
    }
    for bit in &bits {
        packet[at + bit / 8] ^= 0x80 >> (bit % 8);
    }
    // What devices put behind short packets, and now and then behind others.
    if packet.len() < 46 && random.random_ratio(3, 4) {
        packet.resize(random.random_range(45..49), 0);
    } else if random.random_ratio(1, 200) {
        packet.resize(packet.len() + random.random_range(1..9), 0);
    }
    let name = |bit: &usize| match bit {
        bit if *bit < 160 => Field::at(*bit).map_or("-", field_name),
        bit if *bit < header_bits => "options",
        _ => "payload",
    };
    bits.iter().map(name).collect()
}

fn field_name(field: Field) -> &'static str {
    match field {
        Field::SourcePort => "source port",
        Field::DestinationPort => "destination port",
        Field::Sequence => "sequence number",
        Field::Acknowledgment => "acknowledgment number",
        Field::DataOffset => "data offset",
        Field::Reserved => "reserved",
        Field::Cwr => "CWR",
        Field::Ece => "ECE",
        Field::Urg => "URG",
        Field::Ack => "ACK",
        Field::Psh => "PSH",
        Field::Rst => "RST",
        Field::Syn => "SYN",
        Field::Fin => "FIN",
        Field::Window => "window",
        Field::Checksum => "checksum",
        Field::UrgentPointer => "urgent pointer",
    }
}

/// Phases in the outcome's name, so that each is known to have been met often.
fn outcome_name(verdict: Verdict) -> String {
    match verdict {
        Verdict::Accept(how) => {
            let mut name = "accept".to_owned();
            for (is_so, word) in [
                (how.confirmed, " confirmed"),
                (how.approximate, " approximate"),
                (how.guess, " guess"),
                (how.out_of_order, " out-of-order"),
            ] {
                if is_so {
                    name += word;
                }
            }
            name
        }
        Verdict::Discard(reason) => format!("discard {}", reason.name()),
        other => format!("{other:?}").to_lowercase(),
    }
}

/// TL-27, TL-28, TL-30, TL-31, TL-32, TL-35, TL-41: the eBPF programs do what the pure crate does, whose tests hold it to the paper.
#[test]
fn the_twins_do_the_same() {
    let Some(ground) = Ground::new() else { return };
    let done = ground.namespace.enter(|| {
        compare(&ground);
        Ok(())
    });
    done.expect("the namespace is there");
}

fn from_environment(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |value| value.parse().expect("a number"))
}

fn compare(ground: &Ground) {
    let (cases, seed) =
        (from_environment("LITE_TWIN_CASES", 1_000_000), from_environment("LITE_TWIN_SEED", 2001));
    let random = &mut ChaCha12Rng::seed_from_u64(seed);
    let (mut outcomes, mut fields) = (BTreeMap::<String, u64>::new(), BTreeMap::<&str, u64>::new());
    let mut case = 0;
    for (variant, number) in VARIANTS.iter().zip(1..) {
        let mut world = World::new(ground, *variant);
        while case < cases * number / VARIANTS.len() as u64 {
            world.renew(random);
            let is_long = random.random_ratio(1, LONG_ONE_IN);
            for _ in 0..if is_long { PACKETS_OF_A_LONG_GENERATION } else { PACKETS_OF_A_GENERATION } {
                let (number, mut packet) = world.packet(random);
                let hit = damage(&mut packet, variant.is_ipv6, random);
                let verdict = world.judge(number, &packet, case);
                *outcomes.entry(outcome_name(verdict)).or_default() += 1;
                for field in hit {
                    *fields.entry(field).or_default() += 1;
                }
                case += 1;
            }
            world.compare_counters(case);
        }
    }
    println!("{case} packets, seed {seed}");
    for (name, count) in &outcomes {
        println!("{count:>9}  {name}");
    }
    for (name, count) in &fields {
        println!("{count:>9}  {name} hit");
    }
    // A thousandth of all for the rarest, so that ten million packets have 10 000 of each.
    let least = cases / 2000;
    for reason in Reason::ALL {
        let name = format!("discard {}", reason.name());
        assert!(
            outcomes.get(&name).is_some_and(|count| *count > least),
            "{name} was met too seldom: {outcomes:?}"
        );
    }
}

/// TL-35: whatever bytes come, the twins do the same to them, and remember and count the same.
#[test]
fn the_twins_do_the_same_to_wild_bytes() {
    let Some(ground) = Ground::new() else { return };
    let done = ground.namespace.enter(|| {
        compare_wild(&ground);
        Ok(())
    });
    done.expect("the namespace is there");
}

fn compare_wild(ground: &Ground) {
    let (cases, seed) =
        (from_environment("LITE_TWIN_WILD_CASES", 200_000), from_environment("LITE_TWIN_SEED", 2001));
    let random = &mut ChaCha12Rng::seed_from_u64(seed);
    let mut outcomes = BTreeMap::<String, u64>::new();
    let mut case = 0;
    for (variant, number) in VARIANTS.iter().zip(1..) {
        let mut world = World::new(ground, *variant);
        while case < cases * number / VARIANTS.len() as u64 {
            world.renew(random);
            for _ in 0..PACKETS_OF_A_GENERATION {
                let (number, packet) = world.wild(random);
                // The kernel does not take frames that are shorter than an IP header.
                let least = if packet.first().is_some_and(|byte| byte >> 4 == 6) { 40 } else { 20 };
                if packet.len() < least {
                    continue;
                }
                *outcomes.entry(outcome_name(world.judge(number, &packet, case))).or_default() += 1;
                case += 1;
            }
            world.compare_counters(case);
        }
    }
    println!("{case} packets of wild bytes, seed {seed}");
    for (name, count) in &outcomes {
        println!("{count:>9}  {name}");
    }
    for name in ["accept", "discard short", "discard no-connection", "notours", "pass", "notlite"] {
        assert!(
            outcomes.get(name).is_some_and(|count| *count > cases / 1000),
            "{name} was met too seldom: {outcomes:?}"
        );
    }
}

impl World {
    /// Bytes that are no packet, or one that no host would send.
    fn wild(&self, random: &mut impl Rng) -> (usize, Vec<u8>) {
        let (number, mut packet) = self.packet(random);
        let at = if self.variant.is_ipv6 { 40 } else { 20 };
        match random.random_range(0..6) {
            // Nothing but noise.
            0 => {
                packet = vec![0; random.random_range(0..1600)];
                random.fill_bytes(&mut packet);
            }
            // Noise behind a right IP header, and behind none or some bytes of a right TCP header.
            1 | 2 => {
                let mut segment = vec![0; random.random_range(0..1600 - at)];
                random.fill_bytes(&mut segment);
                let known = random.random_range(0..25).min(segment.len()).min(packet.len() - at);
                segment[..known].copy_from_slice(&packet[at..at + known]);
                packet = if segment.len() >= 20 && random.random_ratio(1, 20) {
                    in_ip(self.variant.is_ipv6, segment)
                } else {
                    [ip_header(self.variant.is_ipv6, segment.len()), segment].concat()
                };
            }
            // Cut anywhere, with an IP header that does not know.
            3 => packet.truncate(random.random_range(0..=packet.len())),
            // Bytes that are lost or too many within, with an IP header that knows.
            4 => {
                let mut segment = packet.split_off(at);
                let place = random.random_range(0..segment.len());
                if random.random() {
                    segment.drain(place..random.random_range(place..=segment.len()));
                } else {
                    segment.splice(place..place, (0..random.random_range(1..9)).map(|_| random.random()));
                }
                packet = [ip_header(self.variant.is_ipv6, segment.len()), segment].concat();
            }
            // Bytes overwritten anywhere, the IP header too.
            _ => {
                for _ in 0..random.random_range(1..6) {
                    let end = if random.random() { packet.len() } else { at + 20 };
                    packet[random.random_range(0..end)] = random.random();
                }
            }
        }
        // Fields of the IP header that are free, with a checksum that is right or not.
        if packet.len() >= at && random.random_ratio(1, 4) {
            if self.variant.is_ipv6 {
                packet[1..4].fill_with(|| random.random());
                packet[7] = random.random();
            } else {
                packet[1] = random.random();
                packet[4..6].fill_with(|| random.random());
                packet[8] = random.random();
                if random.random_ratio(3, 4) {
                    checksum::recompute_ipv4(&mut packet[..20]);
                }
            }
        }
        (number, packet)
    }
}
