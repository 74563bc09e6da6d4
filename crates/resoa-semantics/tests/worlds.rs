//! The same cases natively and on remote sockets: every difference must be listed in `waivers.toml`
//! (C95 to C97, C105).

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the path of a program that was built next to this one.
fn built(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_BIN_EXE_resoa-semantics")).parent()?;
    Some(folder.join(name)).filter(|path| path.exists())
}

/// Returns the worlds that can be compared here, or the reason why none can.
fn worlds() -> Result<(PathBuf, String), &'static str> {
    if !rustix::process::getuid().is_root() {
        return Err("making namespaces needs root");
    }
    let lasthop = built("lasthop").ok_or("the command lasthop is not built: cargo build -p lasthop")?;
    built("libresoa_preload.so").ok_or("the preload library is not built: cargo build -p resoa-preload")?;
    Ok((lasthop, "preload,seccomp".into()))
}

/// Compares all cases in these worlds. A failure shows the table and the differences.
fn compare(worlds: &str, lasthop: &Path, options: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_resoa-semantics"))
        .args(["compare", "--jobs", "8", "--worlds", worlds, "--lasthop"])
        .arg(lasthop)
        .args(["--waivers", concat!(env!("CARGO_MANIFEST_DIR"), "/waivers.toml")])
        .args(options)
        .output()
        .expect("it starts");
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}\n{errors}");
}

/// One comparison after the other, because each runs as many cases at a time as the machine can
/// take. In the second, every destination is local to the agent (C02).
#[test]
fn remote_sockets_are_as_native_ones() {
    match worlds() {
        Ok((lasthop, worlds)) => {
            compare(&worlds, &lasthop, &[]);
            compare("preload", &lasthop, &["--local"]);
        }
        Err(reason) => skip::skip!("{reason}"),
    }
}
