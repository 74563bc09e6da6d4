//! Parts of plans that several tests need.

/// Returns a plan with a link "air" between a mobile and a server, with these properties, and the
/// rest of the plan.
pub fn air(link: &str, rest: &str) -> String {
    format!(
        "seed = 7\n[scenario]\n[[scenario.links]]\nname = \"air\"\nbetween = [\"mobile\", \"server\"]\n{link}\n{rest}\n"
    )
}

/// Keeps all packets and fates of each run.
pub const KEEP_ALL: &str = "[capture]\nkeep = \"all\"\n";

/// Returns a TCP download of this size from server to mobile; more fields of the workload can
/// follow.
pub fn download(bytes: &str) -> String {
    format!(
        "[[workloads]]\nname = \"download\"\nkind = \"bulk\"\nfrom = \"server\"\nto = \"mobile\"\nbytes = \"{bytes}\"\n"
    )
}

/// Datagrams of 200 bytes (228 with headers) from server to mobile, one every 2 ms for three
/// seconds.
pub const FLOW: &str = r#"
[[workloads]]
name = "flow"
kind = "datagrams"
from = "server"
to = "mobile"
rate = "800kbit"
size = "200B"
duration = "3s"
"#;

/// Returns a program at a node; more fields of the workload can follow.
pub fn program(name: &str, node: &str, command: &str) -> String {
    format!(
        "[[workloads]]\nname = \"{name}\"\nkind = \"command\"\nnode = \"{node}\"\ncommand = '''\n{command}'''\n"
    )
}

/// Returns a web server at a node, with a file of this many random bytes.
pub fn web_server(node: &str, bytes: u32) -> String {
    let command = format!(
        "head -c {bytes} /dev/urandom > file && exec python3 -m http.server 80 --bind {{address.{node}}}"
    );
    program("server", node, &command) + "listens = 80\nbackground = true\n"
}
