//! Shortage of file descriptors: new sockets fail, listeners wait, and both recover when
//! descriptors are free again.
//!
//! The limit applies to the process, so each test runs itself once more in a process of its own.

use crate::site::{Site, Turns, at, policy};
use resoa_protocol::message::Operation;
use resoa_protocol::{Errno, RsockId, SocketCall, Value};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;

const ALONE: &str = "RESOA_TEST_ALONE";

/// Returns whether this process runs only this test. If not, runs the test in another process.
fn is_alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let output = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", test, "--test-threads=1"])
        .env(ALONE, "1")
        .output()
        .expect("runs");
    let said =
        [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
    // If no test had that name, the process would succeed without running one.
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    false
}

/// A client with a listener whose queue holds a connection that there is no descriptor for, and
/// with a socket that is connected to a far host.
struct Starved {
    site: Site,
    guest: usize,
    listener: RsockId,
    socket: RsockId,
    to: SocketAddr,
    _far: TcpListener,
    _coming: TcpStream,
    /// The limit before the test.
    before: Rlimit,
}

impl Starved {
    fn new() -> Self {
        let mut site = Site::new(policy(
            "[clients.a]\nkey = \"KEY1\"\nallow = [\"127.0.0.1\"]\naddress = \"127.0.0.1\"\n",
        ));
        let guest = site.guest(1);
        let far = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let to = far.local_addr().expect("is bound");
        let listener = site.stream(guest);
        assert_eq!(site.call(guest, listener, Operation::Bind(at("0.0.0.0:0"))), Ok(Value::Done));
        assert_eq!(site.call(guest, listener, Operation::Listen { backlog: 5 }), Ok(Value::Done));
        let Ok(Value::Address(name)) = site.call(guest, listener, SocketCall::LocalName) else {
            panic!("is bound")
        };
        let socket = site.stream(guest);
        assert_eq!(site.call(guest, socket, Operation::Connect(to)), Ok(Value::Done));
        // Open the connecting socket before the limit is lowered, because the limit applies to new
        // descriptors.
        let coming = std::thread::spawn({
            let address = SocketAddr::new([127, 0, 0, 1].into(), name.port());
            let mine =
                rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None)
                    .expect("room");
            move || rustix::net::connect(&mine, &address).map(|()| TcpStream::from(mine))
        })
        .join()
        .expect("connects");
        let coming = coming.expect("was taken by the kernel");
        let before = getrlimit(Resource::Nofile);
        // All open descriptors have numbers below the next one.
        let next = rustix::io::dup(&far).map(|fd| rustix::fd::AsRawFd::as_raw_fd(&fd)).expect("room");
        setrlimit(Resource::Nofile, Rlimit { current: Some(next as u64), maximum: before.maximum })
            .expect("less");
        site.until(|site| (site.host.incidents().starved > 0).then_some(()));
        assert_eq!(site.connect(guest, to), Err(Errno::ENOBUFS));
        Self { site, guest, listener, socket, to, _far: far, _coming: coming, before }
    }

    fn accepts(&mut self) {
        let accepted = self.site.call(self.guest, self.listener, SocketCall::Accept);
        assert!(matches!(accepted, Ok(Value::Accepted { .. })), "{accepted:?}");
    }
}

/// C57: the client gets ENOBUFS. After a socket has closed, a starved listener takes the waiting
/// connection (8.3).
#[test]
fn no_descriptor_is_left() {
    if !is_alone("shortage::no_descriptor_is_left") {
        return;
    }
    let mut starved = Starved::new();
    let (guest, socket) = (starved.guest, starved.socket);
    let sockets = starved.site.host.sockets();
    setrlimit(Resource::Nofile, starved.before).expect("as it was");
    // The close of a socket triggers the next attempt.
    let closed = starved.site.call(guest, socket, SocketCall::Close { may_wait: true });
    assert_eq!(closed, Ok(Value::Done));
    starved.site.until(|site| (site.host.sockets() >= sockets).then_some(()));
    starved.accepts();
}

/// The same without the close of a socket: a descriptor of a carrier or of another process becomes
/// free, without a notice.
#[test]
fn a_descriptor_that_was_not_a_sockets() {
    if !is_alone("shortage::a_descriptor_that_was_not_a_sockets") {
        return;
    }
    let mut starved = Starved::new();
    setrlimit(Resource::Nofile, starved.before).expect("as it was");
    starved.accepts();
    let to = starved.to;
    assert_eq!(starved.site.connect(starved.guest, to), Ok(Value::Done));
}
