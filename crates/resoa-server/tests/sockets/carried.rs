//! Carrier over memory.

use resoa_carrier::memory::Memory;
use resoa_protocol::lhp::{Connection, Identity, Indication, LastHop, Provider, Service};
use resoa_server::FinHold;

pub type Carried = Memory;

/// Bytes that it takes before it says stop.
const ROOM: usize = 1 << 20;

/// Identity of the client.
const IDENTITY: Identity = Identity(Vec::new());

/// Returns the server's and the client's end, the connection to be made, and the server's address.
pub fn pair() -> (Memory, Memory, Connection, Vec<u8>) {
    let server = Memory::server(ROOM).expect("descriptors");
    let mut client = server.client(IDENTITY).expect("descriptors");
    let link = client.register(Service::Reliable, Provider { id: 1, protocol: 0 }).expect("always");
    (server, client, link, Vec::new())
}

/// Called after the server was created. Without confinement it does nothing.
pub fn opened() {}

/// No FIN hold.
pub fn hold() -> Option<FinHold> {
    None
}

/// Cuts the connection. Returns the indication that the client does not get from its own end.
pub fn cut(client: &mut Memory, link: Connection) -> Option<Indication> {
    client.cut(link);
    None
}
