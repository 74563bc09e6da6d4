//! Segments without data that imitate the last one that the kernel has sent: the acknowledgement of
//! a held FIN, and RST.

use super::connection::Connection;
use super::records::Hold;
use packet::{Headers, Layer, Tcp, checksum};
use std::net::IpAddr;

/// Length of a TCP header without options, in bytes.
const FIXED: usize = 20;
/// Offsets of the flags and of the checksum in the TCP header.
const FLAGS: usize = 13;
const CHECKSUM: usize = 16;
const IPV4: usize = 20;
const IPV6: usize = 40;
const PROTOCOL: u8 = 6;

/// Builds the acknowledgement of the FIN.
pub(super) fn acknowledgement(connection: &Connection, hold: &Hold) -> Vec<u8> {
    // A host that negotiated time stamps may drop a segment without them (RFC 7323 section 3.2).
    let stamps = stamps(&hold.tcp).map_or_else(Vec::new, |stamps| [&[1, 1, 8, 10], stamps].concat());
    whole(connection, hold, Tcp::ACK, hold.fin.wrapping_add(1), &stamps)
}

/// Builds an RST that looks as if the FIN had not arrived. Its sequence number is the one that the
/// far host expects (RFC 5961 section 3.2).
pub(super) fn reset(connection: &Connection, hold: &Hold) -> Vec<u8> {
    whole(connection, hold, Tcp::RST | Tcp::ACK, hold.fin, &[])
}

/// Finds the eight bytes of the time stamps in a TCP header.
fn stamps(header: &[u8; 60]) -> Option<&[u8]> {
    let mut options = &header[FIXED..header.len().min(usize::from(header[12] >> 4) * 4).max(FIXED)];
    loop {
        match *options {
            [8, 10, ref rest @ ..] => return rest.get(..8),
            [1, ref rest @ ..] => options = rest,
            [0, ..] => return None,
            [_, length @ 2..=u8::MAX, ..] => options = options.get(usize::from(length)..)?,
            _ => return None,
        }
    }
}

fn whole(connection: &Connection, hold: &Hold, flags: u8, acknowledgment: u32, options: &[u8]) -> Vec<u8> {
    let length = FIXED + options.len();
    let mut packet = Vec::with_capacity(IPV6 + length);
    match (connection.local.ip().to_canonical(), connection.peer.ip().to_canonical()) {
        (IpAddr::V4(local), IpAddr::V4(peer)) => {
            packet.extend([0x45, hold.first_word[1]]);
            packet.extend(((IPV4 + length) as u16).to_be_bytes());
            // The packet must not be fragmented, so it needs no identification (RFC 6864 section
            // 4.1).
            packet.extend([0, 0, 0x40, 0, hold.hops, PROTOCOL, 0, 0]);
            packet.extend(local.octets());
            packet.extend(peer.octets());
            checksum::recompute_ipv4(&mut packet);
        }
        (local, peer) => {
            packet.extend(hold.first_word);
            packet.extend((length as u16).to_be_bytes());
            packet.extend([PROTOCOL, hold.hops]);
            for address in [local, peer] {
                match address {
                    IpAddr::V4(address) => packet.extend(address.to_ipv6_mapped().octets()),
                    IpAddr::V6(address) => packet.extend(address.octets()),
                }
            }
        }
    }
    let start = packet.len();
    packet.extend(connection.local.port().to_be_bytes());
    packet.extend(connection.peer.port().to_be_bytes());
    packet.extend(hold.next.to_be_bytes());
    packet.extend(acknowledgment.to_be_bytes());
    packet.extend([(length as u8 / 4) << 4, flags]);
    packet.extend(&hold.tcp[14..16]);
    packet.extend([0; 4]);
    packet.extend(options);
    debug_assert_eq!(packet[start + FLAGS], flags);
    let headers = Headers::parse(Layer::Ip, &packet).expect("it was just written");
    let pseudo = checksum::pseudo_header(&packet, &headers, length);
    packet[start + CHECKSUM..start + CHECKSUM + 2].copy_from_slice(&pseudo.to_be_bytes());
    let is_inside = checksum::complete(&mut packet, start, CHECKSUM);
    debug_assert!(is_inside);
    packet
}

#[cfg(test)]
mod tests {
    use super::super::records::State;
    use super::*;
    use packet::Segment;
    use packet::checksum::ChecksumStatus;
    use packet::segment::Content;

    const ENDS: [(&str, &str); 3] = [
        ("192.0.2.1:1000", "192.0.2.2:2000"),
        ("[2001:db8::1]:1000", "[2001:db8::2]:2000"),
        ("[::ffff:192.0.2.1]:1000", "[::ffff:192.0.2.2]:2000"),
    ];

    fn hold(local: &str, options: &[u8]) -> Hold {
        let mut tcp = [0; 60];
        tcp[12] = ((FIXED + options.len()) as u8 / 4) << 4;
        tcp[FLAGS] = Tcp::ACK | Tcp::PSH;
        tcp[14..16].copy_from_slice(&[1, 2]);
        tcp[20..20 + options.len()].copy_from_slice(options);
        let first_word = if local.starts_with("[2") { [0x60, 0x21, 0x22, 0x23] } else { [0x45, 0x28, 0, 0] };
        Hold { seen_ns: 0, fin: u32::MAX, state: State::Held, next: 77, first_word, hops: 61, tcp }
    }

    fn read(packet: &[u8]) -> Segment {
        let headers = Headers::parse(Layer::Ip, packet).expect("IP");
        assert_eq!(checksum::verify(packet, &headers), ChecksumStatus::Right);
        assert!(!headers.is_ipv4() || checksum::is_ipv4_right(&packet[..20]));
        match Segment::read(packet) {
            Ok(Content::Tcp(segment)) => segment,
            other => panic!("{other:?}"),
        }
    }

    /// 8.3: the acknowledgement is a copy of the last held segment with the number corrected, time
    /// stamps included. The number wraps around to 0.
    #[test]
    fn it_looks_like_the_one_that_was_held() {
        let options = [1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6];
        for (local, peer) in ENDS {
            let connection =
                Connection { local: local.parse().expect("one"), peer: peer.parse().expect("one") };
            let hold = hold(local, &options);
            let octets = acknowledgement(&connection, &hold);
            let segment = read(&octets);
            assert_eq!(segment.source, connection.local.ip().to_canonical());
            assert_eq!(segment.destination, connection.peer.ip().to_canonical());
            assert_eq!((segment.source_port, segment.destination_port), (1000, 2000));
            assert_eq!(segment.tcp, Tcp { sequence: 77, acknowledgment: 0, flags: Tcp::ACK });
            assert_eq!((segment.window, segment.payload), (0x102, 0));
            assert_eq!(segment.options.timestamps, Some((5, 6)));
            let (word, hops) = if connection.local.ip().to_canonical().is_ipv4() {
                (vec![0x45, 0x28], octets[8])
            } else {
                (vec![0x60, 0x21, 0x22, 0x23], octets[7])
            };
            assert_eq!((&octets[..word.len()], hops), (&word[..], 61));
        }
    }

    /// C68: the RST has the sequence number that the far host expects next, and does not
    /// acknowledge the FIN.
    #[test]
    fn reset_is_where_it_is_expected() {
        for (local, peer) in ENDS {
            let connection =
                Connection { local: local.parse().expect("one"), peer: peer.parse().expect("one") };
            let segment = read(&reset(&connection, &hold(local, &[])));
            let flags = Tcp::RST | Tcp::ACK;
            assert_eq!(segment.tcp, Tcp { sequence: 77, acknowledgment: u32::MAX, flags });
        }
    }

    #[test]
    fn time_stamps_are_found_among_other_options() {
        let with = |options: &[u8]| stamps(&hold("192.0.2.1:1", options).tcp).map(<[u8]>::to_vec);
        let sack = [1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        let ours = [1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8];
        let found = Some(vec![1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(with(&ours), found);
        assert_eq!(with(&[sack, ours].concat()), found);
        assert_eq!(with(&[ours, sack].concat()), found);
        assert_eq!(with(&sack), None);
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[0, 0, 0, 0, 8, 10, 1, 1]), None);
        assert_eq!(with(&[254, 0, 8, 10]), None);
        assert_eq!(with(&[1, 1, 8, 10]), None);
    }
}
