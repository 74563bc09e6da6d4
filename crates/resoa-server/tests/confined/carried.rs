//! Over TCP on the loopback interface, confined.

use resoa_carrier::tcp::{KeepAlive, Tcp};
use resoa_protocol::lhp::{Connection, Ended, Identity, Indication, LastHop, Provider, Service};
use resoa_server::FinHold;
use resoa_server::confinement::{Confinement, Needs};
use std::cell::{Cell, RefCell};
use std::net::Ipv4Addr;

pub type Carried = Tcp;

/// Who the client is.
const IDENTITY: Identity = Identity(Vec::new());

thread_local! {
    static CONFINED: Cell<bool> = const { Cell::new(false) };
    /// What holds FINs for the first server of the thread: no other can be loaded once it is confined.
    static HOLD: RefCell<Option<FinHold>> = const { RefCell::new(None) };
}

/// A server's and a client's end, the connection that will be, and where it leads. The thread is confined from its first one on.
pub fn pair() -> (Tcp, Tcp, Connection, Vec<u8>) {
    let is_first = !CONFINED.replace(true);
    if is_first && rustix::process::geteuid().is_root() {
        HOLD.set(Some(FinHold::attach(&["lo"]).expect("FINs are held")));
    }
    let server = Tcp::server((Ipv4Addr::LOCALHOST, 0).into(), KeepAlive::default()).expect("loopback");
    let mut client = Tcp::client(IDENTITY, KeepAlive::default()).expect("descriptors");
    let link = client.register(Service::Reliable, Provider { id: 2, protocol: 0 }).expect("always");
    let address = server.address().expect("listens").to_string();
    if is_first {
        Confinement::enter_here(&Needs { fin_hold: true, ..Needs::default() }, true).expect("the kernel can");
        assert!(std::fs::read("/etc/passwd").is_err(), "it is in force");
    }
    (server, client, link, address.into_bytes())
}

/// FINs are held, if this user may; by the first server.
pub fn hold() -> Option<FinHold> {
    HOLD.take()
}

/// The connection is lost; what the client will not be told by its end.
#[expect(
    clippy::unnecessary_wraps,
    reason = "a carrier within a process tells its end itself, and the tests are the same"
)]
pub fn cut(client: &mut Tcp, link: Connection) -> Option<Indication> {
    client.reset(link);
    Some(Indication::Disconnected(Ended::Closed))
}
