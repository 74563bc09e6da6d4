//! Whatever comes to a carrier of remote sockets from outside is read or refused: what strangers
//! send over datagrams, the framing of TCP, the streams of QUIC, and messages as their order is
//! found out. The first octet says which.

use resoa_carrier::fuzz;

/// One input.
pub fn run(octets: &[u8]) {
    let Some((which, octets)) = octets.split_first() else { return };
    match which % 4 {
        0 => fuzz::packet(octets),
        1 => fuzz::framing(octets),
        2 => fuzz::streams(octets),
        _ => fuzz::order(octets),
    }
}
