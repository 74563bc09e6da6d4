//! Tests of the applications in experiments/applications: unmodified programs of today, whose
//! figures a run records.

mod lab;

use lab::{Lab, VIRTUAL, json};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Returns whether programs are installed, or skips the test.
fn installed(programs: &[&str]) -> bool {
    let need = root().join("examples/applications/need");
    let asked = std::process::Command::new(need).args(programs).output().expect("a shell");
    if !asked.status.success() {
        skip::skip!("{}", lab::text(&asked.stderr).trim());
    }
    asked.status.success()
}

/// Runs cells of one of the plans once; returns the figures of each by its transport.
fn figures(lab: &Lab, plan: &str, only: &str) -> BTreeMap<String, Value> {
    let plan = root().join("experiments/applications").join(plan);
    let plan = plan.to_str().expect("a path");
    let arguments = [&["run", plan, "--only", only, "-n", "1", "--out", "out"], VIRTUAL].concat();
    let output = lab.lasthop(&arguments).output().expect("lasthop runs");
    assert!(output.status.success(), "{}{}", lab::text(&output.stdout), lab::text(&output.stderr));
    let manifest = json(&lab.path("out/manifest.json"));
    let cells = manifest["cells"].as_array().expect("cells");
    let system = |run: &Value| {
        let cell = cells.iter().find(|cell| cell["number"] == run["run"]["cell"]).expect("a cell");
        let levels = cell["levels"].as_array().expect("levels");
        let level = levels.iter().find(|level| level["factor"] == "system").expect("a transport");
        level["level"].as_str().expect("a name").to_owned()
    };
    let figures = |run: &Value| {
        assert_eq!(run["run"]["verdict"], "good", "{:#}", run["run"]["reasons"]);
        let rows = run["connections"].as_array().expect("rows");
        rows.iter().find(|row| row["workload"] == "client").expect("the client")["figures"].clone()
    };
    lab.journal().iter().map(|run| (system(run), figures(run))).collect()
}

/// git clones the same repository natively, through a split proxy and on remote sockets, and the
/// run records how long each took.
#[test]
fn git_runs_unchanged_with_every_proxy() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let needed = ["git=git", "python3=python3", "openssl=openssl", "haproxy=haproxy", "nft=nftables"];
    let web = ["lighttpd=lighttpd", "/usr/lib/lighttpd/mod_openssl.so=lighttpd-mod-openssl"];
    if !installed(&[&needed[..], &web].concat()) {
        return;
    }
    let found = figures(&lab, "git.toml", "hop=starlink,system=cubic,split cubic,sockets udp");
    let systems: Vec<_> = found.keys().map(String::as_str).collect();
    assert_eq!(systems, ["cubic", "sockets udp", "split cubic"]);
    for (system, figures) in &found {
        // Names, TCP, TLS, and two requests: at least four round trips of 84 ms.
        let time = figures["clone_s"].as_f64().expect("a time");
        assert!((0.3..30.0).contains(&time), "{system}: {time}");
        assert_eq!(figures["pack_bytes"], found["cubic"]["pack_bytes"], "{system}");
    }
    // A metric like any other.
    let report = lab.lasthop(&["report", "--json", "out"]).output().expect("lasthop runs");
    let report: Value = serde_json::from_slice(&report.stdout).expect("JSON");
    assert_eq!(report["units"]["figure.clone_s"], "s");
    for cell in report["cells"].as_array().expect("cells") {
        assert_eq!(cell["figure.clone_s"]["count"], 1, "{cell:#}");
    }
}

/// A run whose program is missing names the Debian package.
#[test]
fn a_missing_program_is_named_with_its_package() {
    let Some(lab) = Lab::new() else { return };
    let need = root().join("examples/applications/need");
    let plan = format!(
        "[[scenario.links]]\nbetween = [\"a\", \"b\"]\n[[workloads]]\nname = \"w\"\nkind = \"command\"\n\
         node = \"a\"\ncommand = \"{} sh=dash no-such-program=no-such-package\"\n",
        need.display()
    );
    let output = lab.run(&plan, &[]);
    assert!(!output.status.success());
    let said = format!("{}{}", lab::text(&output.stdout), lab::text(&output.stderr));
    assert!(said.contains("missing Debian packages: apt-get install no-such-package"), "{said}");
}
