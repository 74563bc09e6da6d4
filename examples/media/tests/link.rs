//! The receiver over a link that damages bits, in virtual time: what arrives undamaged, what
//! arrives damaged, and that the receiver reports which.
//!
//! Needs `lasthop` and its kernel (`lasthop kernel build`, which `make test` does once), and is
//! skipped without them.

use media_examples::receive::Account;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with a picture and a sound to send.
struct Lab {
    folder: tempfile::TempDir,
    lasthop: PathBuf,
}

impl Lab {
    /// Creates a lab; returns `None` and prints why if that is impossible here.
    fn new() -> Option<Self> {
        let possible = Command::new("unshare").args(["--net", "--mount", "--pid", "--fork", "true"]).output();
        if !possible.is_ok_and(|output| output.status.success()) {
            skip::skip!("making namespaces needs root");
            return None;
        }
        let receiver = Path::new(env!("CARGO_BIN_EXE_lite-receive"));
        let lasthop = receiver.with_file_name("lasthop");
        if !lasthop.exists() {
            skip::skip!("lasthop is not built: `cargo build -p lasthop`");
            return None;
        }
        let shown = Command::new(&lasthop).args(["kernel", "show", "--json"]).output().expect("lasthop runs");
        let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap_or_default();
        if std::env::var_os("LASTHOP_KERNEL").is_none() && shown["built"] != true {
            skip::skip!("the kernel of the virtual clock is not built: `lasthop kernel build`");
            return None;
        }
        let lab = Self { folder: tempfile::tempdir().expect("a folder"), lasthop };
        let made =
            Command::new(env!("CARGO_BIN_EXE_lite-media-report")).arg("make").arg(lab.folder.path()).output();
        assert!(made.expect("it runs").status.success());
        Some(lab)
    }

    fn sent(&self, file: &str) -> Vec<u8> {
        fs::read(self.folder.path().join(file)).expect("made")
    }

    /// Receives a file over the link; returns it with the receiver's account.
    fn receive(&self, file: &str, down: &str, options: &[&str]) -> (Vec<u8>, Account) {
        let kept = self.folder.path().join("kept");
        let _ = fs::remove_dir_all(&kept);
        let output = Command::new(&self.lasthop)
            .current_dir(self.folder.path())
            .args([
                "link",
                "--quiet",
                "--clock",
                "virtual",
                "--profile",
                "umts",
                "--seed",
                "1",
                "--down",
                down,
            ])
            .args(["--serve", "exec python3 -m http.server 80 2>/dev/null", "--keep", "kept", "--"])
            .arg(&self.lasthop)
            .args([
                "lite",
                "run",
                "--quiet",
                "--on-request",
                "--",
                "sh",
                "-c",
                r#""$@" --out "$LASTHOP_KEEP/media""#,
                "-",
            ])
            .args([env!("CARGO_BIN_EXE_lite-receive"), &format!("http://host.lasthop/{file}"), "--json"])
            .args(options)
            .output()
            .expect("lasthop runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let account = serde_json::from_slice(&output.stdout).expect("an account");
        (fs::read(kept.join("media")).expect("a file"), account)
    }
}

/// With this seed, 1e-5 causes no damage that TCP's checksum misses.
const DAMAGE: &str = "ber=1e-5,damage=flip";

#[test]
fn damage_is_where_it_is_said_to_be_and_nowhere_else() {
    let Some(lab) = Lab::new() else { return };
    for (file, header) in [("picture.jpg", None), ("sound.wav", Some(44))] {
        let sent = lab.sent(file);
        let (whole, off) = lab.receive(file, DAMAGE, &["--lite", "off"]);
        assert!(whole == sent, "{file} without Lite");
        assert_eq!(off.segments.expect("Lite is there for whoever asks").accepted, 0);

        let (damaged, on) = lab.receive(file, DAMAGE, &[]);
        assert_eq!((damaged.len(), on.connections), (sent.len(), 1));
        assert!(on.segments.expect("asked for").accepted > 5);
        assert!(header.is_none_or(|header| header == on.header_bytes));
        let wrong: Vec<u64> =
            (0..sent.len()).filter(|&at| sent[at] != damaged[at]).map(|at| at as u64).collect();
        assert!(!wrong.is_empty() && wrong[0] >= on.header_bytes as u64, "{file}: {wrong:?}");
        for at in wrong {
            assert!(on.damaged_ranges.iter().any(|range| range.contains(&at)), "{file}: byte {at}");
        }
        assert!(on.nanoseconds < off.nanoseconds, "{file}: {} and {} ns", on.nanoseconds, off.nanoseconds);
    }
}

/// A header that ends behind the room reserved for it.
#[test]
fn a_long_header_takes_another_connection_and_comes_whole() {
    let Some(lab) = Lab::new() else { return };
    let (damaged, account) = lab.receive("picture.jpg", "ber=1e-4,damage=flip", &["--header-room", "300"]);
    assert_eq!(account.connections, 2);
    let sent = lab.sent("picture.jpg");
    assert!(damaged[..account.header_bytes] == sent[..account.header_bytes]);
    assert!(damaged != sent);
}

#[test]
fn what_bears_no_damage_is_refused() {
    let Some(lab) = Lab::new() else { return };
    fs::write(lab.folder.path().join("page.html"), "<p>words</p>").expect("written");
    let link = Command::new(&lab.lasthop)
        .current_dir(lab.folder.path())
        .args(["link", "--quiet", "--clock", "virtual", "--seed", "1"])
        .args(["--serve", "exec python3 -m http.server 80 2>/dev/null", "--"])
        .arg(&lab.lasthop)
        .args(["lite", "run", "--quiet", "--on-request", "--", env!("CARGO_BIN_EXE_lite-receive")])
        .args(["http://host.lasthop/page.html", "--out", "/tmp/page"])
        .output()
        .expect("lasthop runs");
    assert_eq!(link.status.code(), Some(1));
    let said = String::from_utf8_lossy(&link.stderr);
    assert!(said.contains("content type `text/html` does not tolerate damage"), "{said}");
}
