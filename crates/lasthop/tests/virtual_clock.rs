//! Tests of the virtual clock as a user meets it: identical bytes, an unchanged host, and guests
//! that fail.
//!
//! These tests need the kernel (`lasthop kernel build`, which `make test` does once) and are
//! skipped without it.

mod lab;

use lab::plan::{KEEP_ALL, air, download, program, web_server};
use lab::{Lab, VIRTUAL, command_lines, json, shown_kernel, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

fn plan(workloads: &str) -> String {
    air("profile = \"gsm\"\nloss = \"lite-4\"", &[KEEP_ALL, workloads].concat())
}

/// Returns a plan with one program, on the mobile.
fn on_mobile(command: &str) -> String {
    program("program", "mobile", command)
}

fn bulk() -> String {
    plan(&download("20kB"))
}

/// Returns programs that draw random numbers, read the time, choose ports, and look at files that
/// other users of the guest may see.
fn programs() -> String {
    let fetch = "umask; ls -ld / /lasthop; curl -sv -o got http://{address.server}/file && sha256sum got && date +%s.%N && env | sort && cat /proc/self/maps | tail -n 3";
    web_server("server", 20_000) + &program("fetch", "mobile", fetch)
}

/// Returns all files that runs wrote to a run directory.
fn files(out: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for folder in ["captures", "events", "logs", "."] {
        for entry in fs::read_dir(out.join(folder)).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_file() && (folder != "." || name == "results.parquet") {
                all.insert(format!("{folder}/{name}"), fs::read(entry.path()).expect("a file"));
            }
        }
    }
    all
}

#[test]
fn the_same_seed_gives_the_same_bytes_wherever_and_whoever() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let Some(elsewhere) = Lab::with_virtual_clock() else { return };
    let plan = plan(&programs());
    let folder = elsewhere.path("a/longer/name/for/a/folder");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("plan.toml"), &plan).expect("a plan");
    let first = lab.run(&plan, VIRTUAL);
    assert!(first.status.success(), "{}", text(&first.stderr));
    // Another directory, environment, working directory and limits, with other work at the same
    // time.
    let mut beside =
        Command::new("sh").args(["-c", "while [ -d /proc/$PPID ]; do :; done"]).spawn().expect("a shell");
    let second = elsewhere.command(&plan, &[VIRTUAL, &["--out", "there", "--jobs", "1"]].concat());
    // The hard limits too, because a smaller stack than the guest's own was an error.
    let second = Command::new("sh")
        .args(["-c", "umask 077; ulimit -s 4096; ulimit -n 512; exec \"$0\" \"$@\""])
        .arg(second.get_program())
        .args(second.get_args())
        .current_dir(&folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
        .env("HOME", std::env::var("HOME").unwrap_or_default())
        .envs(std::env::vars_os().filter(|(name, _)| name == "LASTHOP_KERNEL" || name == "LASTHOP_CACHE"))
        .env("LANG", "de_DE.UTF-8")
        .env("TZ", "Pacific/Auckland")
        .env("MUCH", "x".repeat(30_000))
        .output();
    beside.kill().and_then(|()| beside.wait()).expect("ended");
    let second = second.expect("lasthop runs");
    assert!(second.status.success(), "{}", text(&second.stderr));
    let (one, other) = (files(&lab.path("out")), files(&folder.join("there")));
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    assert!(one.len() >= 5, "a capture, an event log, two logs, the rows: {:?}", one.keys());
    for (name, bytes) in &one {
        assert!(*bytes == other[name], "{name} differs: {} and {} bytes", bytes.len(), other[name].len());
    }
}

#[test]
fn another_seed_gives_another_run() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let capture = |seed: &str, out: &str| {
        lab.succeed(&bulk(), &[VIRTUAL, &["--seed", seed, "--out", out]].concat());
        fs::read(lab.path(out).join("captures/c000-r00.pcapng")).expect("a capture")
    };
    assert_ne!(capture("1", "one"), capture("2", "two"));
}

#[test]
fn runs_are_verified() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let output = lab.succeed(&bulk(), &[VIRTUAL, &["--verify", "-n", "2"]].concat());
    let said = text(&output.stdout);
    assert!(said.ends_with("verified: each of the 2 runs was done twice, and no byte differs\n"), "{said}");
    let manifest: Value =
        serde_json::from_slice(&fs::read(lab.path("out/manifest.json")).expect("a manifest")).expect("JSON");
    assert_eq!((&manifest["clock"], &manifest["guest"]["verified"]), (&"virtual".into(), &true.into()));
    assert_eq!(manifest["guest"]["hz"], 1000);
    // The directory shared by host and guest is the only difference between the two times.
    let leaking = plan(&program("leak", "mobile", "stat -c %y /lasthop/work/order.json"));
    let output = lab.run(&leaking, &[VIRTUAL, &["--verify", "--out", "leaking"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("not repeatable: logs/c000-r00-leak.log: byte "), "{said}");
    let said = text(&output.stdout);
    let told = "not verified: 0 runs gave the same bytes twice, 1 differed, 0 were not done twice\n";
    assert!(said.ends_with(told), "{said}");
}

/// E: "the guest must not be able to change the host's files".
#[test]
fn the_host_stays_as_it_was() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let precious = lab.path("precious");
    fs::write(&precious, "mine").expect("written");
    let file = precious.display();
    let vandal = format!(
        r"
        echo spoilt > {file}; cat {file}; rm -f {file}
        mkdir /tmp/host && mount -t hostfs none -o / /tmp/host
        echo spoilt > /tmp/host{file}; rm -f /tmp/host{file}; mount -o remount,rw /tmp/host; echo spoilt > /tmp/host{file}
        touch /tmp/host/etc/lasthop-was-here; mkdir /tmp/host/lasthop-was-here; true"
    );
    lab.succeed(&plan(&program("vandal", "mobile", &vandal)), VIRTUAL);
    let said = fs::read_to_string(lab.path("out/logs/c000-r00-vandal.log")).expect("a log");
    assert!(said.starts_with("spoilt\n"), "there it can write where it wants: {said}");
    assert!(said.contains("Read-only file system"), "{said}");
    assert_eq!(fs::read_to_string(&precious).expect("still there"), "mine");
    assert!(!Path::new("/etc/lasthop-was-here").exists() && !Path::new("/lasthop-was-here").exists());
}

#[test]
fn time_that_stands_still_is_noticed() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let busy = plan(&on_mobile("sleep 2; while :; do :; done"));
    let output = lab.run(&busy, &[VIRTUAL, &["--patience", "3"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("virtual time stands still at "), "{said}");
    assert!(lab.processes().is_empty(), "{:?}", lab.processes());
}

/// D2: a Java program gave other bytes if another one had started or ended on the host, because
/// each reads the files of all.
#[test]
fn java_programs_of_the_host_are_not_seen() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let folder = Path::new("/tmp/hsperfdata_root");
    fs::create_dir_all(folder).expect("a folder");
    let file = tempfile::NamedTempFile::new_in(folder).expect("a file of another program");
    let look = ["link", "--quiet", "--clock", "virtual", "--", "ls", "-a", "/tmp/hsperfdata_root"];
    let output = lab.lasthop(&look).output().expect("lasthop runs");
    assert_eq!(text(&output.stdout), ".\n..\n", "{}: {}", file.path().display(), text(&output.stderr));
}

/// D2: programs in the guest failed one by one, with messages that did not tell whose limit was
/// reached.
#[test]
fn too_few_open_files_are_named() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let command = lab.lasthop(&["link", "--clock", "virtual", "--", "true"]);
    let output = Command::new("sh")
        .args(["-c", "ulimit -n 64; exec \"$0\" \"$@\""])
        .arg(command.get_program())
        .args(command.get_args())
        .output()
        .expect("a shell");
    let said = text(&output.stderr);
    assert!(
        !output.status.success() && said.contains("the limit of open files is 64 (ulimit -Hn)"),
        "{said}"
    );
}

#[test]
fn a_guest_that_crashes_shows_its_console() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let crash = plan(&on_mobile("echo 2 > /proc/sys/vm/panic_on_oom; tail /dev/zero"));
    let output = lab.run(&crash, &[VIRTUAL, &["--guest-memory", "96"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("the guest's kernel ended without a result"), "{said}");
    assert!(said.contains("panic"), "{said}");
}

#[test]
fn a_guest_without_memory_says_so() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let hungry = plan(&on_mobile("tail /dev/zero; true"));
    // The run itself continues without the program, and would seem to be good.
    let output = lab.run(&hungry, &[VIRTUAL, &["--guest-memory", "96"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(
        said.contains("the guest ran out of memory (96 MiB): give it more with --guest-memory"),
        "{said}"
    );
}

/// A guest's programs may have 1024 file descriptors unless a run asks for more.
#[test]
fn hundreds_of_connections() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let flows = r#"
        [[workloads]]
        name = "flows"
        kind = "bulk"
        from = "server"
        to = "mobile"
        duration = "4s"
        connections = 700
    "#;
    lab.succeed(&air(r#"down = "rate=100mbit,delay=1ms""#, flows), VIRTUAL);
    assert_eq!(lab.journal()[0]["connections"].as_array().map(Vec::len), Some(700));
}

#[test]
fn a_campaign_goes_on_with_what_it_was_begun_with() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    lab.succeed(&bulk(), &[VIRTUAL, &["--guest-memory", "256"]].concat());
    let resume = |arguments: &[&str]| {
        let output = lab.lasthop(&["run", "--resume", "out"]).args(arguments).output().expect("lasthop runs");
        (output.status.code(), text(&output.stderr))
    };
    let (status, said) = resume(&["--guest-memory", "512"]);
    assert_eq!(status, Some(1));
    let told = "out was started with --guest-memory 256 MiB, not 512 MiB: continue it with the same, or start a new campaign";
    assert!(said.contains(told), "{said}");
    let (status, said) = resume(&["--clock", "real"]);
    assert_eq!(status, Some(1));
    assert!(said.contains("continue it with --clock virtual"), "{said}");
    for same in [&[][..], VIRTUAL, &["--clock", "virtual", "--guest-memory", "256"]] {
        assert_eq!(resume(same).0, Some(0), "nothing is left to do");
    }
}

#[test]
fn nothing_is_left_of_a_guest_whose_caller_was_killed() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let marker = format!("lasthop-virtual-{}", std::process::id());
    let idle = plan(&on_mobile(&format!("while :; do :; done # {marker}")));
    let mut child = lab
        .command(&idle, VIRTUAL)
        .args(["--seed", "987654321"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("lasthop runs");
    lab.wait_until("a guest", |_| !kernels().is_empty());
    let ours = kernels();
    child.kill().and_then(|()| child.wait()).expect("killed");
    lab.wait_until("its end", |_| kernels().iter().all(|kernel| !ours.contains(kernel)));
}

/// Returns the command lines of kernels that were booted with the seed 987654321 of the test above.
fn kernels() -> Vec<String> {
    let own = format!("um_seed={}", link::Seed::campaign(987_654_321).run(0).guest());
    command_lines().filter(|line| line.contains(&own)).collect()
}

/// The kernel says at boot what is wrong with a library that is not of this release.
#[test]
fn another_library_is_refused() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let with = |library: &Path| {
        let mut command = lab.lasthop(&["link", "--clock", "virtual", "--", "true"]);
        let output = command.env("LASTHOP_LINK_LIBRARY", library).output().expect("lasthop runs");
        assert_eq!(output.status.code(), Some(125));
        text(&output.stderr)
    };
    let preload = Path::new(env!("CARGO_BIN_EXE_lasthop")).with_file_name("libresoa_preload.so");
    let said = with(&preload);
    assert!(said.contains("has no lasthop_link_interface: it is not of this release"), "{said}");
    fs::write(lab.path("file"), "no library").expect("written");
    let said = with(&lab.path("file"));
    assert!(said.contains("lasthop_link: /lasthop/link: "), "{said}");
    let said = with(&lab.path("nowhere"));
    assert!(said.contains("LASTHOP_LINK_LIBRARY: there is no file "), "{said}");
}

#[test]
fn one_program_in_a_guest() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    fs::write(lab.path("page"), "hello from the far end\n").expect("written");
    let link = |arguments: &[&str], command: &str| {
        lab.lasthop(&["link", "--clock", "virtual", "--seed", "7", "--profile", "gsm"])
            .args(arguments)
            .args(["--", "sh", "-c", command])
            .output()
            .expect("lasthop runs")
    };
    let serve = ["--serve", "python3 -m http.server 80 2>/dev/null"];
    let fetch = "curl -s http://host.lasthop/page; sleep 7200; echo kept > $LASTHOP_KEEP/file; exit 5";
    let with = |capture: &'static str| {
        [&serve[..], &["--capture", capture, "--keep", "kept", "--json", "one.json"]].concat()
    };
    let output = link(&with("one.pcapng"), fetch);
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "hello from the far end\n");
    assert!(text(&output.stderr).contains("lasthop: 7200."), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(lab.path("kept/file")).expect("kept"), "kept\n");
    assert_eq!(json(&lab.path("one.json"))["clock"], "virtual", "and so says its report");
    let again = link(&with("other.pcapng"), fetch);
    assert_eq!(text(&again.stdout), text(&output.stdout));
    let capture = |name| fs::read(lab.path(name)).expect("a capture");
    assert!(capture("one.pcapng") == capture("other.pcapng"), "the same packets");
}

/// Virtual time needs no root.
#[test]
fn an_ordinary_user() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let folder = lab.path("theirs");
    fs::create_dir(&folder).expect("a folder");
    let program = Path::new(env!("CARGO_BIN_EXE_lasthop"));
    let library = "liblasthop_link.so";
    fs::copy(program, lab.path("lasthop")).expect("a copy");
    fs::copy(program.with_file_name(library), lab.path(library)).expect("a copy");
    let built = || shown_kernel()["kernel"]["path"].as_str().expect("a path").to_owned();
    fs::copy(std::env::var("LASTHOP_KERNEL").unwrap_or_else(|_| built()), lab.path("linux")).expect("a copy");
    fs::write(folder.join("plan.toml"), bulk()).expect("a plan");
    let open = Command::new("chmod").args(["-R", "a+rwX"]).arg(lab.path(".")).status().expect("chmod runs");
    assert!(open.success());
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(lab.path("lasthop"))
        .args(["run", "plan.toml", "--clock", "virtual", "--out", "out"])
        .current_dir(&folder)
        .env("LASTHOP_KERNEL", lab.path("linux"))
        .output()
        .expect("setpriv runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let root = lab.run(&bulk(), VIRTUAL);
    assert!(root.status.success(), "{}", text(&root.stderr));
    let capture = |path: &Path| fs::read(path.join("captures/c000-r00.pcapng")).expect("a capture");
    assert!(capture(&folder.join("out")) == capture(&lab.path("out")), "root's packets are the same");
}
