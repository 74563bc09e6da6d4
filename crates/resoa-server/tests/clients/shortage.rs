//! No descriptors left: new sockets fail, listeners wait, and both go on when there are some again.
//!
//! The limit is the process's, so that the test runs itself once more as a process of its own.

use crate::site::{Site, Turns, at, policy};
use resoa_protocol::{Errno, SocketCall, Value};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

const ALONE: &str = "RESOA_TEST_ALONE";

/// C57: ENOBUFS for the client; a listener that starves takes what waits once there is room (8.3).
#[test]
fn no_descriptor_is_left() {
    if std::env::var_os(ALONE).is_none() {
        let output = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "shortage::no_descriptor_is_left", "--test-threads=1"])
            .env(ALONE, "1")
            .output()
            .expect("runs");
        let said =
            [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
        // Without a test of that name, all that there are would be well.
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let mut site =
        Site::new(policy("[clients.a]\nkey = \"KEY1\"\nallow = [\"127.0.0.1\"]\naddress = \"127.0.0.1\"\n"));
    let guest = site.guest(1);
    let far = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let to = far.local_addr().expect("is bound");
    let listener = site.stream(guest);
    assert_eq!(site.call(guest, listener, SocketCall::Bind(at("0.0.0.0:0"))), Ok(Value::Done));
    assert_eq!(site.call(guest, listener, SocketCall::Listen { backlog: 5 }), Ok(Value::Done));
    let Ok(Value::Address(name)) = site.call(guest, listener, SocketCall::LocalName) else {
        panic!("is bound")
    };
    let socket = site.stream(guest);
    assert_eq!(site.call(guest, socket, SocketCall::Connect(to)), Ok(Value::Done));
    // It comes while there is room at the far host and none at the server: the limit is for new descriptors.
    let coming = std::thread::spawn({
        let address = std::net::SocketAddr::new([127, 0, 0, 1].into(), name.port());
        let mine =
            rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None)
                .expect("room");
        move || rustix::net::connect(&mine, &address).map(|()| TcpStream::from(mine))
    })
    .join()
    .expect("connects");
    let before = getrlimit(Resource::Nofile);
    // 3 are standard, and whatever is open has a number below the next one.
    let next = rustix::io::dup(&far).map(|fd| rustix::fd::AsRawFd::as_raw_fd(&fd)).expect("room");
    setrlimit(Resource::Nofile, Rlimit { current: Some(next as u64), maximum: before.maximum })
        .expect("less");
    site.until(|site| (site.host.incidents().starved > 0).then_some(()));
    assert_eq!(site.connect(guest, to), Err(Errno::ENOBUFS));
    let sockets = site.host.sockets();
    setrlimit(Resource::Nofile, before).expect("as it was");
    // A socket that goes is when it is tried again.
    assert_eq!(site.call(guest, socket, SocketCall::Close { may_wait: true }), Ok(Value::Done));
    drop(far);
    site.until(|site| (site.host.sockets() >= sockets).then_some(()));
    assert!(matches!(site.call(guest, listener, SocketCall::Accept), Ok(Value::Accepted { .. })));
    drop(coming.expect("was taken by the kernel"));
}
