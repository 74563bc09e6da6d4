//! What any program of the host can send to the agent of remote sockets is a request or is refused; and addresses that programs give.
#![no_main]

use libfuzzer_sys::fuzz_target;
use resoa_calls::{address, datagram, receive_request};
use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::sync::OnceLock;

/// A connection, as a program and the agent have it.
fn pair() -> &'static (UnixDatagram, UnixDatagram) {
    static PAIR: OnceLock<(UnixDatagram, UnixDatagram)> = OnceLock::new();
    PAIR.get_or_init(|| UnixDatagram::pair().expect("descriptors"))
}

fuzz_target!(|octets: &[u8]| {
    let (program, agent) = pair();
    if !octets.is_empty() && octets.len() < 60_000 {
        program.send(octets).expect("room");
        match receive_request(agent) {
            Ok(found) => assert!(found.is_some()),
            Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidData),
        }
    }
    let _ = address::to_bind(octets);
    if let Ok(Some(address)) = address::read(octets) {
        assert_eq!(
            address::read(&address::written(address)).map(|read| read.map(|read| read.port())),
            Ok(Some(address.port()))
        );
    }
    if let Some((to, payload)) = datagram::split(octets) {
        assert_eq!(payload.len() + datagram::HEADER, octets.len());
        let again = [&datagram::header(to)[..], payload].concat();
        assert!(datagram::split(&again).is_some_and(|(again, _)| again.is_some() == to.is_some()));
    }
});
