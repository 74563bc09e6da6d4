//! Any carrier that a place names. If it needs keys, both ends have some. FINs are not held.

use resoa_carrier::keys::SecretKey;
use resoa_carrier::{Allowed, AnyCarrier, CarrierAddress};
use resoa_protocol::lhp::{Connection, DisconnectReason, Indication, LastHop, Provider, Service};
use resoa_server::FinHold;

pub type Carried = AnyCarrier;

/// Returns the server's and the client's end, the connection to be made, and the server's address.
/// `between` replaces the place that the client connects to.
pub fn pair(
    place: &str,
    between: impl FnOnce(CarrierAddress) -> CarrierAddress,
) -> (Carried, Carried, Connection, Vec<u8>) {
    let [ours, theirs] = [(); 2].map(|()| SecretKey::generate().expect("random octets"));
    let place: CarrierAddress = place.parse().expect("a place");
    let allowed =
        if place.is_secure() { Allowed::keys([theirs.public()].into()) } else { Allowed::anybody() };
    let (server, place) = place.serve(&ours, &allowed).expect("loopback");
    let (mut client, address) = between(place).reach(&theirs, Some(ours.public())).expect("descriptors");
    let link = client.register(Service::Reliable, Provider { id: 2, protocol: 0 }).expect("always");
    (server, client, link, address)
}

/// Called after the server was created. Without confinement it does nothing.
#[allow(dead_code, reason = "some tests are confined")]
pub fn opened() {}

#[allow(dead_code, reason = "some tests hold them")]
pub fn hold() -> Option<FinHold> {
    None
}

/// Cuts the connection. Returns the indication that the client does not get from its own end.
#[expect(
    clippy::unnecessary_wraps,
    reason = "a carrier within a process tells its end itself, and the tests are the same"
)]
pub fn cut(client: &mut Carried, link: Connection) -> Option<Indication> {
    client.reset(link);
    Some(Indication::Disconnected(DisconnectReason::Closed))
}
