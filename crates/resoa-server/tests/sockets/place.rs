//! Over any carrier that a place names. Where keys are asked for, both ends have some; FINs are not
//! held.

use resoa_carrier::keys::SecretKey;
use resoa_carrier::{Allowed, AnyCarrier, Place};
use resoa_protocol::lhp::{Connection, Ended, Indication, LastHop, Provider, Service};
use resoa_server::FinHold;

pub type Carried = AnyCarrier;

/// A server's and a client's end, the connection that will be, and where it leads: `between` says
/// where the client goes if it wants to go to a place.
pub fn pair(place: &str, between: impl FnOnce(Place) -> Place) -> (Carried, Carried, Connection, Vec<u8>) {
    let [ours, theirs] = [(); 2].map(|()| SecretKey::generate().expect("random octets"));
    let place: Place = place.parse().expect("a place");
    let allowed =
        if place.is_secure() { Allowed::keys([theirs.public()].into()) } else { Allowed::anybody() };
    let (server, place) = place.serve(&ours, &allowed).expect("loopback");
    let (mut client, address) = between(place).reach(&theirs, Some(ours.public())).expect("descriptors");
    let link = client.register(Service::Reliable, Provider { id: 2, protocol: 0 }).expect("always");
    (server, client, link, address)
}

/// The server is open; nothing is to be given up.
#[allow(dead_code, reason = "some tests are confined")]
pub fn opened() {}

#[allow(dead_code, reason = "some tests hold them")]
pub fn hold() -> Option<FinHold> {
    None
}

/// The connection is lost; what the client will not be told by its end.
#[expect(
    clippy::unnecessary_wraps,
    reason = "a carrier within a process tells its end itself, and the tests are the same"
)]
pub fn cut(client: &mut Carried, link: Connection) -> Option<Indication> {
    client.reset(link);
    Some(Indication::Disconnected(Ended::Closed))
}
