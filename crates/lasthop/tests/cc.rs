//! Tests of `lasthop cc` in the running kernel: loading with parameters, listing, setting a
//! namespace's default, unloading.

use serde_json::Value;
use std::process::{Command, Output};

/// A name that no other process uses. Its congestion control is unloaded when the test ends,
/// however it ends.
struct Name(String);

impl Drop for Name {
    fn drop(&mut self) {
        let _ = lasthop(&["cc", "unload", &self.0]);
    }
}

fn lasthop(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lasthop")).args(arguments).output().expect("the binary runs")
}

/// Returns standard output and standard error of a command that must succeed.
fn said(arguments: &[&str]) -> (String, String) {
    let output = lasthop(arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn loaded_listed_made_a_default_and_unloaded() {
    if !rustix::process::geteuid().is_root() || !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
        skip::skip!("it needs root and a kernel that describes itself");
        return;
    }
    let name = Name(format!("cc_{:x}", std::process::id()));
    // A process in a network namespace of its own.
    let mut somebody =
        Command::new("unshare").args(["--net", "sleep", "60"]).spawn().expect("unshare is installed");
    let pid = somebody.id().to_string();
    let path = format!("/proc/{pid}/ns/net");
    let own = std::fs::read_link("/proc/self/ns/net").expect("a namespace");
    while std::fs::read_link(&path).is_ok_and(|its| its == own) {
        std::thread::yield_now();
    }
    let (_, notice) =
        said(&["cc", "load", "newzag", "gain=5", "--as", &name.0, "--default", "--namespace", &pid]);
    assert!(notice.contains(&format!("`{}` (newzag) is loaded with gain=5", name.0)), "{notice}");
    assert!(notice.contains(&format!("new connections of the namespace {pid} use it")), "{notice}");

    let (list, _) = said(&["cc", "list", "--json"]);
    let list: Value = serde_json::from_str(&list).expect("JSON");
    let loaded = list["loaded"].as_array().expect("root may look");
    let ours = loaded.iter().find(|one| one["name"] == *name.0).expect("it is listed");
    let parameters = serde_json::json!({ "gain": 5, "per_ack": 0, "quantum_us": 0, "wireless_percent": 80 });
    assert_eq!((&ours["algorithm"], &ours["parameters"]), (&"newzag".into(), &parameters));
    assert_eq!(ours["users"], 1, "the namespace");
    assert!(list["allowed"].as_array().expect("a list").contains(&name.0.as_str().into()), "{list}");
    let (text, _) = said(&["cc", "list"]);
    assert!(text.contains(&format!("{:<10} newzag gain=5 quantum_us=0", name.0)), "{text}");
    let (info, _) = said(&["cc", "info", &name.0, "--json"]);
    let info: Value = serde_json::from_str(&info).expect("JSON");
    assert_eq!((&info["name"], &info["loaded"]), (&"newzag".into(), ours));

    let (_, notice) = said(&["cc", "unload", &name.0]);
    assert!(notice.contains("1 connection or namespace still uses it"), "{notice}");
    let again = lasthop(&["cc", "unload", &name.0]);
    assert_eq!(again.status.code(), Some(1));
    somebody.kill().expect("it sleeps");
    somebody.wait().expect("it was ours");
}

/// A kernel without a description of its types loads no congestion control, and the message says
/// so.
#[test]
fn a_kernel_without_types() {
    const HIDE: &str = "mount -t tmpfs none /sys/kernel/btf && exec \"$0\" cc load newzag --as hidden";
    if !rustix::process::geteuid().is_root() {
        skip::skip!("it needs root");
        return;
    }
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", HIDE, env!("CARGO_BIN_EXE_lasthop")])
        .output()
        .expect("unshare is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("this kernel cannot load congestion controls as eBPF: it has no BTF ("), "{said}");
    assert_eq!(output.status.code(), Some(1));
}

/// If a congestion control cannot become the default, it is not loaded either.
#[test]
fn half_of_what_was_asked_for_is_nothing() {
    if !rustix::process::geteuid().is_root() || !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
        skip::skip!("it needs root and a kernel that describes itself");
        return;
    }
    let name = Name(format!("half_{:x}", std::process::id()));
    // A file that is not a namespace.
    let output =
        lasthop(&["cc", "load", "newzag", "--as", &name.0, "--default", "--namespace", "/proc/self/status"]);
    assert_eq!(output.status.code(), Some(1));
    let available = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    assert!(!available.expect("a list").contains(&name.0));
}
