//! A carrier of remote sockets parses or refuses all outside input: datagrams of strangers, TCP
//! framing, QUIC streams, and messages while their order is restored. The first byte selects the
//! case.

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
