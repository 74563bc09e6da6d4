//! Over QUIC, on the loopback interface.

use resoa_carrier::keys::SecretKey;
use resoa_carrier::{Allowed, AnyCarrier, Place};
use resoa_protocol::lhp::{Connection, Ended, Indication, LastHop, Provider, Service};
use resoa_server::FinHold;

pub type Carried = AnyCarrier;

/// A server's and a client's end, the connection that will be, and where it leads.
pub fn pair() -> (AnyCarrier, AnyCarrier, Connection, Vec<u8>) {
    let [ours, theirs] = [(); 2].map(|()| SecretKey::generate().expect("random octets"));
    let place: Place = "quic:127.0.0.1:0".parse().expect("a place");
    let (server, place) = place.serve(&ours, &Allowed::keys([theirs.public()].into())).expect("loopback");
    let (mut client, address) = place.reach(&theirs, Some(ours.public())).expect("descriptors");
    let link = client.register(Service::Reliable, Provider { id: 5, protocol: 0 }).expect("always");
    (server, client, link, address)
}

/// FINs are not held.
pub fn hold() -> Option<FinHold> {
    None
}

/// The connection is lost; what the client will not be told by its end.
#[expect(
    clippy::unnecessary_wraps,
    reason = "a carrier within a process tells its end itself, and the tests are the same"
)]
pub fn cut(client: &mut AnyCarrier, link: Connection) -> Option<Indication> {
    client.reset(link);
    Some(Indication::Disconnected(Ended::Closed))
}
