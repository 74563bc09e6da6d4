//! Any message of a local program to the agent of remote sockets is a request or is refused. Covers
//! the addresses that programs pass.

use resoa_calls::{address, ancillary, datagram, receive_request};
use resoa_protocol::control_messages;
use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::sync::OnceLock;

/// A connection between a program and the agent.
fn pair() -> &'static (UnixDatagram, UnixDatagram) {
    static PAIR: OnceLock<(UnixDatagram, UnixDatagram)> = OnceLock::new();
    PAIR.get_or_init(|| UnixDatagram::pair().expect("descriptors"))
}

/// One input.
pub fn run(octets: &[u8]) {
    let (program, agent) = pair();
    if !octets.is_empty() && octets.len() < 60_000 {
        program.send(octets).expect("room");
        match receive_request(agent) {
            Ok(found) => assert!(found.is_some()),
            Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidData),
        }
    }
    // AF_INET and AF_INET6
    for domain in [2, 10] {
        let _ = address::to_bind(octets, || Ok::<_, i32>(domain));
    }
    if let Ok(Some(address)) = address::read(octets) {
        assert_eq!(
            address::read(&address::written(address)).map(|read| read.map(|read| read.port())),
            Ok(Some(address.port()))
        );
    }
    if let Some((to, ancillary, payload)) = datagram::split(octets) {
        assert!(ancillary.records().count() <= ancillary.octets().len() / 3);
        if let Some(to) = to {
            let again = [&datagram::said(to, &ancillary)[..], payload].concat();
            assert!(datagram::split(&again).is_some_and(|(to, beside, same)| {
                to.is_some() && beside == ancillary && same == payload
            }));
        }
    }
    // Control messages as a program lays them out, for either version of IP.
    for to in ["192.0.2.1:9", "[2001:db8::1]:9", "[::ffff:192.0.2.1]:9"] {
        if let Ok(said) = ancillary::said(octets, to.parse().expect("an address")) {
            let (control, is_cut) = control_messages::laid_out(&said, usize::MAX);
            assert!(!is_cut);
            assert_eq!(control_messages::read(&control), said);
        }
    }
}
