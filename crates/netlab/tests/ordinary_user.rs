//! A link of an ordinary user: in a user namespace, without a network or with one through pasta.
//!
//! /dev/net/tun may be accessible to root only. So the tests mount a device node that everybody can
//! open over it, in a mount namespace of their own.

mod ground;

use ground::{Caller, Finished, Running};
use netlab::process::ProcessId;
use netlab::state::{Made, State};
use netlab::{Namespace, address, interface, route, veth};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command};

/// Path of the state of a user's only link, for a shell behind it.
const STATE: &str = "$LASTHOP_STATE_DIR/1/state.json";
/// The user nobody, who owns nothing.
const USER: u32 = 65_534;

struct User {
    directory: tempfile::TempDir,
}

impl User {
    /// Returns `None` where no device node can be created.
    fn new() -> Option<Self> {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).expect("readable");
        ground::behind_for_all(directory.path());
        let states = directory.path().join("states");
        std::fs::create_dir(&states).expect("made");
        std::os::unix::fs::chown(&states, Some(USER), Some(USER)).expect("given away");
        let node = directory.path().join("tun");
        let made = Command::new("mknod").args(["-m", "666"]).arg(&node).args(["c", "10", "200"]).status();
        // On a file system mounted nodev, the node can be created but not opened.
        if !made.is_ok_and(|status| status.success()) || std::fs::File::open(&node).is_err() {
            skip::skip!("no device node can be made in {}", directory.path().display());
            return None;
        }
        Some(Self { directory })
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Runs `behind` with `arguments` as the user, with the node `tun` mounted at /dev/net/tun.
    fn behind(&self, caller: &Caller, tun: &Path, arguments: &[&str]) -> Finished {
        Finished::of(self.start(caller, tun, arguments))
    }

    fn start(&self, caller: &Caller, tun: &Path, arguments: &[&str]) -> Child {
        let script = "mount --make-rprivate / && mount --bind $0 /dev/net/tun && \
                      exec setpriv --reuid $1 --regid $1 --clear-groups -- \"${@:2}\"";
        let mut command = caller.command("unshare");
        command.args(["--mount", "bash", "-c", script]).arg(tun).arg(USER.to_string());
        command.arg(self.path().join("behind")).args(arguments);
        command.env("LASTHOP_STATE_DIR", self.path().join("states"));
        command.spawn().expect("unshare")
    }

    fn left(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path().join("states")).expect("a directory").flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name != "lock")
            .collect()
    }
}

#[test]
fn a_private_network_with_two_ends() {
    need_root!();
    let Some(user) = User::new() else { return };
    let caller = Caller::new();
    let script = "id -u; echo $LASTHOP_HOST; grep CapEff /proc/self/status; grep -c host.lasthop /etc/hosts; \
                  exec 3<>/dev/tcp/host.lasthop/9 || echo refused; touch made";
    let work = user.path().join("work");
    std::fs::create_dir(&work).expect("made");
    std::os::unix::fs::chown(&work, Some(USER), Some(USER)).expect("given away");
    let script = format!("cd {}; {script}", work.display());
    let finished = user.behind(&caller, &user.path().join("tun"), &["--no-pasta", "bash", "-c", &script]);
    let expected = format!("{USER}\n100.64.0.1\nCapEff:\t0000000000000000\n1\nrefused\n");
    assert_eq!(finished.output, expected, "{}", finished.errors);
    assert_eq!(finished.code(), 0);
    // Files belong to the user, as without a link.
    let owner = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(work.join("made")).expect("the file"));
    assert_eq!(owner, USER);
    assert!(user.left().is_empty(), "{:?}", user.left());
    caller.is_clean();
}

#[test]
fn the_network_through_pasta() {
    need_root!();
    if !ground::has("pasta") {
        return;
    }
    let Some(user) = User::new() else { return };
    let caller = Caller::new();
    let internet = Namespace::new().expect("a namespace");
    network(&caller.namespace, &internet);
    // pasta shows the caller's loopback address as the address of the default gateway, 203.0.113.1.
    serve(&caller.namespace, "127.0.0.1:8000", "the caller");
    serve(&internet, "203.0.113.9:80", "the internet");
    let ask = |host: &str, port: u16| format!("exec 3<>/dev/tcp/{host}/{port} && cat <&3");
    let script =
        format!("{}; {}; echo $LASTHOP_HOST; cat {STATE}", ask("host.lasthop", 8000), ask("203.0.113.9", 80));
    let finished = user.behind(&caller, &user.path().join("tun"), &["bash", "-c", &script]);
    let (said, state) = finished.output.split_at(finished.output.find('{').expect("a state"));
    assert_eq!(said, "the caller\nthe internet\n203.0.113.1\n", "{}", finished.errors);
    assert_eq!(finished.code(), 0);
    assert!(user.left().is_empty(), "{:?}", user.left());
    assert!(!pasta_of(state).is_alive(), "pasta is still there");
    caller.is_clean();
}

/// The caller answers echo requests itself; beyond the caller they need a right that the
/// administrator grants.
#[test]
fn ping_through_pasta() {
    need_root!();
    if !ground::has("pasta") || !ground::has("ping") {
        return;
    }
    let Some(user) = User::new() else { return };
    let caller = Caller::new();
    let internet = Namespace::new().expect("a namespace");
    network(&caller.namespace, &internet);
    let sysctl = "net.ipv4.ping_group_range";
    // First the kernel's default, which permits nobody; then a range that includes the user.
    for (range, host, is_told) in [
        ("1 0", "host.lasthop", true),
        ("0 100000", "host.lasthop", false),
        ("0 100000", "203.0.113.9", false),
    ] {
        netlab::sysctl::write(&caller.namespace, sysctl, range).expect("written");
        // One reply out of five is enough on a busy machine.
        let script = format!("ping -n -c 5 -i 0.2 -W 10 {host}");
        let finished = user.behind(&caller, &user.path().join("tun"), &["sh", "-c", &script]);
        assert_eq!(finished.code(), 0, "{range}, {host}: {finished:?}");
        let told = finished
            .errors
            .contains("ping reaches no further than host.lasthop: net.ipv4.ping_group_range (1 0)");
        assert_eq!(told, is_told, "{}", finished.errors);
    }
    assert!(user.left().is_empty(), "{:?}", user.left());
}

#[test]
fn killing_the_main_process_ends_pasta_too() {
    need_root!();
    if !ground::has("pasta") {
        return;
    }
    let Some(user) = User::new() else { return };
    let caller = Caller::new();
    let internet = Namespace::new().expect("a namespace");
    network(&caller.namespace, &internet);
    let link =
        Running::of(user.start(&caller, &user.path().join("tun"), &["sh", "-c", "echo $$; sleep 600"]));
    let state = std::fs::read_to_string(user.path().join("states/1/state.json")).expect("a state");
    let pasta = pasta_of(&state);
    assert!(pasta.is_alive());
    link.signal(rustix::process::Signal::KILL);
    ground::until(|| {
        let left = user.left();
        if left.is_empty() && !pasta.is_alive() { Ok(()) } else { Err(format!("pasta, or {left:?}")) }
    });
    assert!(!Path::new(&format!("/proc/{}", link.program)).exists());
}

/// Returns the pasta process that a state lists.
fn pasta_of(state: &str) -> ProcessId {
    let state: State = serde_json::from_str(state).expect("a state");
    let listed = state.made.iter().find_map(|made| match made {
        Made::Process { process, what } if what == "pasta" => Some(*process),
        _ => None,
    });
    listed.unwrap_or_else(|| panic!("no pasta in {state:?}"))
}

fn network(caller: &Namespace, internet: &Namespace) {
    let near = veth::End { namespace: caller, name: "near", hardware_address: [2, 0, 0, 0, 1, 1] };
    let far = veth::End { namespace: internet, name: "far", hardware_address: [2, 0, 0, 0, 1, 2] };
    veth::pair(near, far).expect("a cable");
    for (namespace, name, addresses) in
        [(caller, "near", &["203.0.113.2"][..]), (internet, "far", &["203.0.113.1", "203.0.113.9"][..])]
    {
        let index = interface::find(namespace, name).expect("the end").index;
        interface::change(namespace, index, &interface::Change::up()).expect("up");
        for own in addresses {
            let address = own.parse().expect("an address");
            address::add(namespace, address::Address { index, address, prefix_length: 24 })
                .expect("an address");
        }
        let subnet = route::Prefix { address: "203.0.113.0".parse().expect("an address"), length: 24 };
        route::add(namespace, &route::Route::on_link(subnet, index, route::Metrics::default()))
            .expect("a route");
        if name == "near" {
            let via = "203.0.113.1".parse().expect("an address");
            let out =
                route::Route::by_way_of(route::Prefix::DEFAULT_V4, via, index, route::Metrics::default());
            route::add(namespace, &out).expect("a default route");
        }
    }
}

/// Sends `text` to the first client that connects.
fn serve(namespace: &Namespace, address: &str, text: &'static str) {
    let listener = namespace.enter(|| Ok(TcpListener::bind(address).expect("free"))).expect("entered");
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a connection");
        writeln!(client, "{text}").expect("said");
        client.shutdown(std::net::Shutdown::Write).expect("said all");
        let _ = client.read(&mut [0]);
    });
}

#[test]
fn a_device_file_of_roots_is_an_error_with_a_way_out() {
    use std::os::unix::fs::PermissionsExt;
    need_root!();
    let Some(user) = User::new() else { return };
    let caller = Caller::new();
    let node = user.path().join("tun");
    std::fs::set_permissions(&node, std::fs::Permissions::from_mode(0o600)).expect("changed");
    let finished = user.behind(&caller, &node, &["--no-pasta", "true"]);
    assert_eq!(finished.code(), 125);
    let expected =
        "cannot open /dev/net/tun: permission denied (mode 0600); as root: chmod 0666 /dev/net/tun";
    assert!(finished.errors.contains(expected), "{}", finished.errors);
    assert!(user.left().is_empty(), "{:?}", user.left());
}
