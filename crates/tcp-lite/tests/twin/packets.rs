//! Packets, mostly as the other host of a connection would send them.

use crate::world::{Connection, Habit, World};
use header_repair::SocketView;
use packet::{Field, TcpHeader, checksum};
use rand::{Rng, RngExt};
use std::net::{Ipv4Addr, Ipv6Addr};

/// A packet for both twins.
pub struct Given {
    /// The connection for which it was made.
    pub connection: usize,
    pub packet: Vec<u8>,
    /// The fields that are damaged.
    pub hit: Vec<&'static str>,
}

impl World {
    /// Returns a packet, mostly as the other host of one of the connections would send it.
    pub fn packet(&self, random: &mut impl Rng) -> (usize, Vec<u8>) {
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
            // About as far as the window permits.
            36 => {
                let most = self.variant.window() / connection.size;
                base.wrapping_add(connection.size * random.random_range(most - 2..most + 2))
            }
            // An old number that damage has brought forward, often that of the oldest position
            // compared.
            37 => {
                let behind = if random.random() { 32 } else { random.random_range(1..34) };
                base.wrapping_sub(connection.size * behind) ^ 1 << random.random_range(20..32)
            }
            // A mix of the bits of an expected number and of the oldest position: equally near to
            // both, or nearer to one of them.
            38 => {
                let (oldest, either) = (base.wrapping_sub(connection.size * 32), random.random::<u32>());
                (base & either | oldest & !either) ^ 1 << random.random_range(20..32)
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
        // Sometimes not a data segment of an established connection.
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

    /// Makes two fields differ equally from their known values, so that the checksum is right with
    /// either restored.
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
        // A window is confirmed if a single bit differs.
        let by = if random.random() { 1 << random.random_range(0..11) } else { random.random_range(1..2000) };
        // The checksum is that of the first field's known value and the second field's value as
        // sent.
        let sent = header.with(first.0, first.1).with(second.0, second.1.wrapping_add(by));
        let change =
            checksum::add(sent.with(Field::Checksum, 0).sum(), !header.with(Field::Checksum, 0).sum());
        let sum = checksum::add(!(header.get(Field::Checksum) as u16), change);
        sent.with(first.0, first.1.wrapping_add(by)).with(Field::Checksum, u32::from(!sum)).write(segment);
    }
}

/// Returns an acknowledgment number, mostly a plausible one or one at the limits of plausibility.
fn acknowledgment(view: &SocketView, track: &header_repair::Track, random: &mut impl Rng) -> u32 {
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

/// Returns options, mostly as the connection carries them.
fn options(track: &header_repair::Track, habit: Habit, random: &mut impl Rng) -> Vec<u8> {
    let mut options = if track.header_len == 32 {
        let [held, echoed] =
            [4, 8].map(|at| u32::from_be_bytes(track.options[at..at + 4].try_into().expect("four bytes")));
        let ahead = match (habit, random.random_range(0..10)) {
            (Habit::Jumps, 0..8) => random.random_range(100_000..100_010),
            // About as far as is plausible, or slightly further.
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
    // Two such segments in a row stop repairs; the next that fits allows them again.
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
            // Padding of either kind wherever it may be, and sometimes a byte that is not padding.
            options[..2].fill_with(|| [0, 0, 1, 1, 2][random.random_range(0..5)]);
            options.rotate_left(random.random_range(0..3));
        }
        24..27 => options.clear(),
        _ => {}
    }
    options
}

/// Returns an IP header for a segment of `len` bytes.
pub fn ip_header(is_ipv6: bool, len: usize) -> Vec<u8> {
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

/// Returns the segment with a right checksum in an IP packet.
pub fn in_ip(is_ipv6: bool, mut segment: Vec<u8>) -> Vec<u8> {
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
