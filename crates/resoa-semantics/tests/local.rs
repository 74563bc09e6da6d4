//! Dual protocol stack mode with an unmodified program (C02): the preload library, an agent with
//! rules, a server, and services that report their host.
//!
//! ```text
//!  host 10.98.1.1 ──────── 10.98.1.2 server 10.98.2.1 ──────── 10.98.2.2 far
//!  program, agent, service            service                  service
//! ```
//!
//! The host has no route to the far network, so connections there came through the server.

use netlab::route::{self, Metrics, Prefix, Route};
use netlab::{Namespace, address, interface, veth};
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

/// Port of all services.
const PORT: u16 = 5000;

/// Returns the path of a program that was built next to this one.
fn built(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_BIN_EXE_resoa-semantics")).parent()?;
    Some(folder.join(name)).filter(|path| path.exists())
}

/// A process that is killed when this is dropped.
struct Kept(Child);

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Configures one end of a cable. The network is the third byte of the address, the host the last.
fn plug(namespace: &Namespace, name: &str, network: u8, host: u8) -> netlab::Result<()> {
    let index = interface::find(namespace, name)?.index;
    interface::change(namespace, index, &interface::Change::up())?;
    let address = IpAddr::V4(Ipv4Addr::new(10, 98, network, host));
    address::add(namespace, address::Address { index, address, prefix_length: 24 })?;
    let prefix = Prefix { address: [10, 98, network, 0].into(), length: 24 };
    route::add(namespace, &Route::on_link(prefix, index, Metrics::default()))
}

fn cable(one: (&Namespace, &str), other: (&Namespace, &str), network: u8) -> netlab::Result<()> {
    let end = |(namespace, name), last| veth::End {
        namespace,
        name,
        hardware_address: [2, 0, 0, 98, network, last],
    };
    veth::pair(end(one, 1), end(other, 2))?;
    plug(one.0, one.1, network, 1)?;
    plug(other.0, other.1, network, 2)
}

/// Starts a service at all addresses of a host. It reports its host and the peer's address.
fn serve(namespace: &Namespace, name: &'static str) {
    let listener =
        namespace.enter(|| Ok(TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)))).expect("a namespace");
    let listener = listener.expect("free");
    thread::spawn(move || {
        while let Ok((mut stream, peer)) = listener.accept() {
            let _ = writeln!(stream, "{name} saw {}", peer.ip());
        }
    });
}

/// Starts a command in a namespace, and waits until its output contains `word`.
fn start(namespace: &Namespace, command: &mut Command, word: &str) -> Kept {
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    let child = namespace.enter(|| Ok(command.spawn())).expect("a namespace").expect("it starts");
    let mut child = Kept(child);
    let mut said = BufReader::new(child.0.stderr.take().expect("a pipe"));
    let mut text = String::new();
    while !text.contains(word) {
        assert!(said.read_line(&mut text).expect("text") > 0, "it ends without `{word}`: {text}");
    }
    // Later output is discarded, so that the process does not block on it.
    thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    child
}

/// C02: a program reaches destinations that are local by rule on its own host, and all others
/// through the server, including loopback addresses without a rule.
#[test]
fn programs_go_by_rule() {
    let is_root = rustix::process::getuid().is_root();
    let (true, Some(lasthop), Some(_)) = (is_root, built("lasthop"), built("libresoa_preload.so")) else {
        skip::skip!("it needs root, and lasthop and resoa-preload built");
        return;
    };
    let [host, server, far] = [(); 3].map(|()| Namespace::new().expect("root may make one"));
    for (namespace, name) in [(&host, "host"), (&server, "server"), (&far, "far")] {
        interface::loopback_up(namespace).expect("it has one");
        serve(namespace, name);
    }
    cable((&host, "host0"), (&server, "server0"), 1).expect("a cable");
    cable((&server, "server1"), (&far, "far0"), 2).expect("a cable");
    let folder = tempfile::tempdir().expect("a folder");
    let agent_at = folder.path().join("agent");
    let mut serving = Command::new(&lasthop);
    let policy = folder.path().join("policy.toml");
    std::fs::write(&policy, "[defaults]\nallow = [\"any\", \"127.0.0.0/8\"]\n").expect("room");
    serving
        .args(["resoa", "serve", "--insecure", "--listen", "plain:10.98.1.2:4000", "--policy"])
        .arg(&policy);
    serving.arg("--status").arg(folder.path().join("status"));
    let _server = start(&server, &mut serving, "listening at");
    let mut attending = Command::new(&lasthop);
    attending.args(["resoa", "agent", "--server", "plain:10.98.1.2:4000", "--listen"]).arg(&agent_at);
    attending.args(["--local", "127.0.0.1", "--local", "10.98.1.0/24"]);
    let _agent = start(&host, &mut attending, "registered at");
    for (destination, expected) in [
        ("127.0.0.1", "host saw 127.0.0.1"),
        ("localhost", "host saw 127.0.0.1"),
        ("10.98.1.1", "host saw 10.98.1.1"),
        ("10.98.1.2", "server saw 10.98.1.1"),
        ("127.0.0.2", "server saw 127.0.0.1"),
        ("10.98.2.2", "far saw 10.98.2.1"),
    ] {
        let script = format!("exec 3<>/dev/tcp/{destination}/{PORT} && cat <&3");
        let mut program = Command::new(&lasthop);
        program.args(["resoa", "run", "--agent"]).arg(&agent_at).args(["--", "bash", "-c", &script]);
        let output = host.enter(|| Ok(program.output())).expect("a namespace").expect("it starts");
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(text.trim_end(), expected, "{destination}");
    }
}
