//! Tests of `lasthop resoa` from pairing to the end: a server as a command, with an authenticated
//! client, a policy that changes while it runs, and queries of its state.

use resoa_carrier::keys::{PublicKey, SecretKey};
use resoa_carrier::{AnyCarrier, Carrier, CarrierAddress, wait_for};
use resoa_protocol::lhp::{Connection, DisconnectReason, Indication, LastHop, Provider, Service};
use resoa_protocol::message::{AddressMode, Body, Control, Create, Family, Operation, Reply, RsockType};
use resoa_protocol::{Errno, Message, RsockId, Target, Xid};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Time after which something is taken never to happen.
const PATIENCE: Duration = Duration::from_mins(1);

fn lasthop(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    command.current_dir(folder);
    command
}

/// Returns the standard output of a command that must succeed.
fn output(folder: &Path, arguments: &[&str]) -> String {
    let output = lasthop(folder).args(arguments).output().expect("the binary runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

/// A running server and its messages.
struct Server {
    child: Child,
    said: Receiver<String>,
}

impl Server {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut child = lasthop(folder)
            .args(["resoa", "serve"])
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let (tell, said) = channel();
        let errors = child.stderr.take().expect("is piped");
        std::thread::spawn(move || {
            BufReader::new(errors).lines().map_while(Result::ok).try_for_each(|line| tell.send(line))
        });
        Self { child, said }
    }

    /// Returns the rest of the first line that contains `what`.
    fn says(&self, what: &str) -> String {
        let mut others = Vec::new();
        loop {
            let line = self
                .said
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|end| panic!("never says `{what}`, but {others:#?} ({end})"));
            if let Some((_, rest)) = line.split_once(what) {
                return rest.to_owned();
            }
            others.push(line);
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().cast_signed()).expect("a number");
        kill_process(pid, signal).expect("it runs");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client that exchanges messages directly.
struct Guest {
    carrier: AnyCarrier,
    link: Connection,
    last: u32,
}

impl Guest {
    fn reach(place: &CarrierAddress, key: &SecretKey, server: PublicKey) -> Self {
        let (mut carrier, address) = place.reach(key, Some(server)).expect("descriptors");
        let link = carrier.register(Service::Reliable, Provider { id: 0, protocol: 0 }).expect("always");
        carrier.connect(link, &address);
        Self { carrier, link, last: 0 }
    }

    fn next(&mut self) -> Indication {
        loop {
            let mut happened = Vec::new();
            self.carrier.poll(&mut happened);
            if let Some((_, indication)) = happened.into_iter().next() {
                return indication;
            }
            assert!(wait_for(&[&self.carrier], PATIENCE), "nothing comes");
        }
    }

    fn ask(&mut self, message: &Message) -> Body {
        let _ = self.carrier.send(self.link, &message.encode());
        match self.next() {
            Indication::Data(octets) => Message::decode(&octets).expect("a message").body,
            other => panic!("{other:?}"),
        }
    }

    fn register(&mut self) {
        assert_eq!(self.next(), Indication::Connected);
        let mode = AddressMode::Any;
        let register = Control::Register { version: 1, mode, receive_space: 1 << 20, resume: false };
        let answer = self.ask(&Message::control(register));
        assert!(matches!(answer, Body::Control(Control::Registered(Ok(_)))), "{answer:?}");
    }

    fn connect(&mut self, to: SocketAddr) -> Result<Reply, Errno> {
        self.last += 1;
        let create = Some(Create { family: Family::V4, kind: RsockType::Stream });
        let body = Body::Request { xid: Xid(self.last), create, operation: Operation::Connect(to) };
        match self.ask(&Message { target: Target::Socket(RsockId(self.last)), body }) {
            Body::Response { outcome, .. } => outcome,
            other => panic!("{other:?}"),
        }
    }
}

/// Checks a server's description of its confinement.
fn is_confined(said: &str) {
    let user = if geteuid().is_root() { "nobody" } else { "uid " };
    assert!(said.starts_with(user) && said.contains(", Landlock for files"), "{said}");
    if said.contains("(cannot enter an empty one: ") {
        skip::skip!("{said}");
    } else {
        let root = if geteuid().is_root() { "an empty" } else { "the host's" };
        assert!(said.contains(&format!(", {root} root directory, ")), "{said}");
    }
}

/// Two people, each at a terminal, introduce a server and a client to each other. The server
/// follows its policy, reads it again, reports its state, and tells its clients when it ends. It is
/// confined all the time.
fn from_pairing_to_the_end(carrier: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    // A server started by root runs as another user, which must be able to read the policy again.
    fs::set_permissions(at, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let offer = output(
        at,
        &[
            "resoa",
            "pair",
            "--policy",
            "p.toml",
            "--key",
            "s.key",
            "--at",
            &format!("{carrier}127.0.0.1:1"),
            "--name",
            "laptop",
        ],
    );
    let answer = output(at, &["resoa", "pair", &offer, "--out", "laptop.toml"]);
    output(at, &["resoa", "pair", "--policy", "p.toml", &answer]);
    fs::set_permissions(at.join("p.toml"), fs::Permissions::from_mode(0o644)).expect("it is ours");
    assert!(output(at, &["resoa", "serve", "--policy", "p.toml", "--check"]).contains("laptop"));

    let server = Server::start(
        at,
        &[
            "--listen",
            &format!("{carrier}127.0.0.1:0"),
            "--key",
            "s.key",
            "--policy",
            "p.toml",
            "--status",
            "status",
            "--metrics",
            "127.0.0.1:0",
        ],
    );
    let metrics = server.says("metrics at http://");
    let said = server.says("confined to ");
    is_confined(&said);
    let (place, key) = server
        .says("listening at ")
        .split_once(", key ")
        .map(|(place, key)| (place.to_owned(), key.to_owned()))
        .expect("both");
    assert!(place.starts_with(if carrier.is_empty() { "udp:" } else { carrier }), "{place}");
    let (place, key): (CarrierAddress, PublicKey) =
        (place.parse().expect("a place"), key.parse().expect("a key"));
    assert_eq!(key, SecretKey::read(&at.join("s.key")).expect("a key").public());

    let stranger = SecretKey::generate().expect("random octets");
    assert!(matches!(Guest::reach(&place, &stranger, key).next(), Indication::Disconnected(_)));

    let mut guest = Guest::reach(&place, &SecretKey::read(&at.join("laptop.key")).expect("a key"), key);
    guest.register();
    let far = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let to = far.local_addr().expect("is bound");
    assert_eq!(guest.connect(to), Err(Errno::ENETUNREACH), "the server's loopback is not among any");

    let mut policy = fs::read_to_string(at.join("p.toml")).expect("a policy");
    fs::write(at.join("p.toml"), policy.clone() + "allow = [\"127.0.0.1/8\"]\n").expect("written");
    server.signal(Signal::HUP);
    assert!(server.says("p.toml:").contains("write 127.0.0.0/8 for the network"));
    server.says("the policy is unchanged");
    policy.push_str("allow = [\"127.0.0.0/8\"]\n");
    fs::write(at.join("p.toml"), policy).expect("written");
    server.signal(Signal::HUP);
    server.says("the policy was read again");
    assert!(matches!(guest.connect(to), Ok(Reply::Connected { .. })));

    let status: serde_json::Value =
        serde_json::from_str(&output(at, &["resoa", "status", "--server", "status", "--json"]))
            .expect("JSON");
    let status = &status["server"];
    assert_eq!(status["clients"][0]["name"], "laptop");
    assert_eq!(
        (&status["refusals"]["loopback"], &status["clients"][0]["sockets"]["open"]),
        (&1.into(), &1.into())
    );
    assert!(output(at, &["resoa", "status", "--server", "status"]).contains("laptop"));
    let mut scrape = TcpStream::connect(metrics.trim_end_matches("/metrics")).expect("listens");
    scrape.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").expect("is taken");
    let mut text = String::new();
    scrape.read_to_string(&mut text).expect("text");
    assert!(
        text.starts_with("HTTP/1.1 200 OK\r\n") && text.contains("lasthop_resoa_sockets{state=\"open\"} 1\n"),
        "{text}"
    );

    server.signal(Signal::TERM);
    server.says("all sockets are reset");
    assert!(matches!(guest.next(), Indication::Disconnected(_)));
    let mut connection = far.accept().expect("was connected").0;
    assert_eq!(connection.read(&mut [0]).expect_err("RST").kind(), std::io::ErrorKind::ConnectionReset);
    let mut server = server;
    assert!(server.child.wait().expect("ends").success());
    // It could remove its socket only with the right to remove the files beside it.
    assert!(at.join("status").exists());
    let next = Server::start(at, &["--listen", "plain:127.0.0.1:0", "--status", "status"]);
    next.says("listening at ");
    assert!(output(at, &["resoa", "status", "--server", "status"]).contains("no client is connected"));
}

/// A killed server is followed by another with the same key at the same port. The client's
/// connection then ends with a reset, and not with half a minute of silence: over datagrams by a
/// message that only a server with this key can send, over TCP by the kernel. The client can then
/// connect again.
fn killed_and_back(carrier: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::set_permissions(at, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let [server_key, client_key] = [(), ()].map(|()| SecretKey::generate().expect("random octets"));
    server_key.write(&at.join("s.key")).expect("a new file");
    let policy = format!("[clients.a]\nkey = \"{}\"\n", client_key.public());
    fs::write(at.join("p.toml"), policy).expect("room");
    let serve = |listen: &str| {
        let server = Server::start(
            at,
            &["--listen", listen, "--key", "s.key", "--policy", "p.toml", "--status", "status"],
        );
        let said = server.says("listening at ");
        (server, said.split_once(", key ").expect("both").0.to_owned())
    };
    let (mut server, place) = serve(&format!("{carrier}127.0.0.1:0"));
    let (at_place, key): (CarrierAddress, _) = (place.parse().expect("a place"), server_key.public());
    let mut guest = Guest::reach(&at_place, &client_key, key);
    guest.register();
    server.child.kill().expect("it runs");
    server.child.wait().expect("has ended");
    let (_next, again) = serve(&place);
    assert_eq!(again, place);
    let _ = guest.carrier.send(guest.link, &Message::control(Control::StillAlive { reply: false }).encode());
    // Plain TCP cannot distinguish a FIN from an end that a program intended.
    let end = guest.next();
    assert!(
        matches!(end, Indication::Disconnected(DisconnectReason::Reset | DisconnectReason::Closed)),
        "{end:?}"
    );
    let mut guest = Guest::reach(&at_place, &client_key, key);
    guest.register();
}

#[test]
fn killed_over_tcp() {
    killed_and_back("tcp:");
}

#[test]
fn killed_over_plain_tcp() {
    killed_and_back("plain:");
}

#[test]
fn killed_over_udp() {
    killed_and_back("udp:");
}

#[test]
fn killed_over_quic() {
    killed_and_back("quic:");
}

/// The server reports at once that SIGHUP will not be able to read the policy. After SIGHUP it
/// reports as which user it read the policy.
#[test]
fn a_policy_that_the_user_may_not_read() {
    if !geteuid().is_root() {
        skip::skip!("only root becomes another user");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("p.toml"), "").expect("room");
    fs::set_permissions(at.join("p.toml"), fs::Permissions::from_mode(0o600)).expect("it is ours");
    let arguments = ["--listen", "plain:127.0.0.1:0", "--policy", "p.toml", "--status", "status"];
    let server = Server::start(at, &arguments);
    assert!(server.says("SIGHUP cannot change the policy: p.toml: ").contains("user nobody"));
    server.says("listening at ");
    server.signal(Signal::HUP);
    assert!(server.says("p.toml: ").contains("(read as nobody)"));
    server.says("the policy is unchanged");
}

/// A server started at a terminal does not keep it: it has no controlling terminal and reads
/// nothing from it, and Ctrl-C still ends the server.
#[test]
fn a_server_at_a_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let serve = format!(
        "sh -c 'echo pid $$; exec {} resoa serve --listen plain:127.0.0.1:0 --status status'; true",
        env!("CARGO_BIN_EXE_lasthop")
    );
    // script(1) makes the shell the leader of a session with a terminal, and types its input.
    let started = Command::new("script")
        .args(["-q", "-f", "-c", &serve, "/dev/null"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut terminal) = started else {
        skip::skip!("script(1) of util-linux is not installed");
        return;
    };
    let mut lines = BufReader::new(terminal.stdout.take().expect("is piped")).lines().map_while(Result::ok);
    let pid = lines.find_map(|line| Some(line.strip_prefix("pid ")?.trim().to_owned())).expect("it is said");
    assert!(lines.any(|line| line.contains("listening at ")), "it serves");
    let process = Path::new("/proc").join(&pid);
    let stat = fs::read_to_string(process.join("stat")).expect("it runs");
    let (_, fields) = stat.rsplit_once(") ").expect("a name in brackets");
    // After the name: state, parent, group, session, terminal.
    assert_eq!(fields.split(' ').nth(4), Some("0"), "{stat}");
    assert_eq!(fs::read_link(process.join("fd/0")).expect("it runs"), Path::new("/dev/null"));
    for descriptor in ["1", "2"] {
        let info = fs::read_to_string(process.join("fdinfo").join(descriptor)).expect("it runs");
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).expect("it has some");
        assert!(flags.ends_with('1'), "for writing alone: {flags}");
    }
    terminal.stdin.as_ref().expect("is piped").write_all(b"\x03").expect("it is read");
    assert!(lines.any(|line| line.contains("all sockets are reset")), "it ends");
    terminal.wait().expect("it ends with the shell");
}

/// Over the default carrier, of an address without a carrier.
#[test]
fn over_the_default() {
    from_pairing_to_the_end("");
}

#[test]
fn over_tcp() {
    from_pairing_to_the_end("tcp:");
}

#[test]
fn over_quic() {
    from_pairing_to_the_end("quic:");
}
