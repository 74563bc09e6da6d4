//! Over memory.

use resoa_carrier::memory::Memory;
use resoa_protocol::lhp::{Connection, Identity, Indication, LastHop, Provider, Service};
use resoa_server::FinHold;

pub type Carried = Memory;

/// Octets that it takes before it says stop.
const ROOM: usize = 1 << 20;

/// Who the client is.
const IDENTITY: Identity = Identity(Vec::new());

/// A server's and a client's end, the connection that will be, and where it leads.
pub fn pair() -> (Memory, Memory, Connection, Vec<u8>) {
    let server = Memory::server(ROOM).expect("descriptors");
    let mut client = server.client(IDENTITY).expect("descriptors");
    let link = client.register(Service::Reliable, Provider { id: 1, protocol: 0 }).expect("always");
    (server, client, link, Vec::new())
}

/// The server is open; nothing is to be given up.
pub fn opened() {}

/// FINs are not held.
pub fn hold() -> Option<FinHold> {
    None
}

/// The connection is lost; what the client will not be told by its end.
pub fn cut(client: &mut Memory, link: Connection) -> Option<Indication> {
    client.cut(link);
    None
}
