//! Snapshots of help texts and of error messages.

use std::process::Command;

/// Returns output, errors and exit status of `lasthop` with these arguments.
fn lasthop(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_lasthop"))
        .args(arguments)
        .env("LASTHOP_STATE_DIR", folder.path())
        .output()
        .expect("the binary runs");
    let status = output.status.code().map_or("killed".to_owned(), |code| code.to_string());
    format!(
        "{}{}status {status}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[test]
fn help() {
    insta::assert_snapshot!("help", lasthop(&["--help"]));
    insta::assert_snapshot!("help_run", lasthop(&["run", "--help"]));
    insta::assert_snapshot!("help_merge", lasthop(&["merge", "--help"]));
    insta::assert_snapshot!("help_link", lasthop(&["link", "--help"]));
    insta::assert_snapshot!("help_analyze", lasthop(&["analyze", "--help"]));
    insta::assert_snapshot!("help_retracer", lasthop(&["retracer", "--help"]));
    insta::assert_snapshot!("help_retracer_make", lasthop(&["retracer", "make", "--help"]));
    insta::assert_snapshot!("help_retracer_blocks", lasthop(&["retracer", "blocks", "--help"]));
    insta::assert_snapshot!("help_fit", lasthop(&["fit", "--help"]));
    insta::assert_snapshot!("help_cc", lasthop(&["cc", "--help"]));
    insta::assert_snapshot!("help_cc_load", lasthop(&["cc", "load", "--help"]));
    insta::assert_snapshot!("help_resoa", lasthop(&["resoa", "--help"]));
    insta::assert_snapshot!("help_resoa_serve", lasthop(&["resoa", "serve", "--help"]));
    insta::assert_snapshot!("help_resoa_pair", lasthop(&["resoa", "pair", "--help"]));
    insta::assert_snapshot!("help_kernel", lasthop(&["kernel", "--help"]));
    insta::assert_snapshot!("help_kernel_build", lasthop(&["kernel", "build", "--help"]));
}

/// The contents of a directory that is not a state directory stay, whichever command looks for
/// left-overs there.
#[test]
fn a_folder_of_documents_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let letters = folder.path().join("letters");
    std::fs::create_dir(&letters).expect("made");
    std::fs::write(letters.join("letter"), "dear").expect("written");
    for arguments in [&["clean"][..], &["link", "--", "true"], &["link", "list"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_lasthop"))
            .args(arguments)
            .env("LASTHOP_STATE_DIR", folder.path())
            .output()
            .expect("the binary runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{arguments:?}");
        assert!(
            said.contains("contains other files, such as \"letters\"; set LASTHOP_STATE_DIR to"),
            "{said}"
        );
    }
    assert!(letters.join("letter").exists());
}

/// An ordinary user is told which rights a command needs, not which call failed.
#[test]
fn an_ordinary_user_is_told_what_is_needed() {
    use std::os::unix::fs::chown;
    const USER: u32 = 65_534;
    let folder = tempfile::tempdir().expect("a folder");
    if chown(folder.path(), Some(USER), Some(USER)).is_err() {
        skip::skip!("only root becomes another user");
        return;
    }
    let interface = std::fs::read_dir("/sys/class/net").expect("interfaces").flatten();
    let interface = interface.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let Some(interface) = interface.into_iter().find(|name| name != "lo") else {
        skip::skip!("there is no interface but the loopback");
        return;
    };
    let group = format!("--cgroup={}", folder.path().display());
    let cases: [&[&str]; 5] = [
        &["tcp-lite", "status"],
        &["tcp-lite", "run", "-i", &interface, "--", "true"],
        &["tcp-lite", "attach", "-i", &interface, &group],
        &["cc", "watch"],
        &["cc", "load", "newzag"],
    ];
    for case in cases {
        let output = Command::new("setpriv")
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all", "--"])
            .arg(env!("CARGO_BIN_EXE_lasthop"))
            .args(case)
            .env("LASTHOP_STATE_DIR", folder.path().join("state"))
            .output()
            .expect("setpriv runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if said.starts_with("setpriv:") {
            skip::skip!("{said}");
            return;
        }
        assert!(!said.contains("network namespace") && !output.status.success(), "{case:?}: {said}");
        // Where no BPF file system is mounted, everybody can see that nothing is attached.
        let is_told = said.contains("run as root, or with CAP_") || said.contains("TCP Lite is not attached");
        assert!(is_told, "{case:?}: {said}");
    }
}

#[test]
fn profiles() {
    insta::assert_snapshot!("profiles", lasthop(&["profiles"]));
    insta::assert_snapshot!("profile_lite_4", lasthop(&["profiles", "lite-4"]));
}

/// Errors in arguments of `lasthop cc` are reported before the kernel is asked for anything.
#[test]
fn wrong_congestion_controls() {
    let cases: [&[&str]; 10] = [
        &["cc", "load", "newzga"],
        &["cc", "load", "cubic"],
        &["cc", "load", "newzag", "gian=5"],
        &["cc", "load", "newzag", "gain=9"],
        &["cc", "load", "newzag", "gain=4", "gain=5"],
        &["cc", "load", "newzag", "gain"],
        &["cc", "load", "newzag", "--as", "new-zag"],
        &["cc", "load", "newzag", "--as", "reno"],
        &["cc", "load", "newzag", "--namespace", "lab"],
        &["cc", "load", "newzag", "--default", "--namespace", "no-such-namespace"],
    ];
    let said: Vec<_> =
        cases.iter().map(|case| format!("$ lasthop {}\n{}", case.join(" "), lasthop(case))).collect();
    insta::assert_snapshot!("wrong_congestion_controls", said.join("\n\n"));
    insta::assert_snapshot!("cc_info", lasthop(&["cc", "info", "spike"]));
}

/// Errors in arguments of `lasthop resoa` tell what would be right, before anything is opened or
/// written.
#[test]
fn wrong_remote_sockets() {
    let folder = tempfile::tempdir().expect("a folder");
    let policy = folder.path().join("policy.toml");
    std::fs::write(&policy, "[clients.laptop]\nkey = \"abc\"\n").expect("written");
    let policy = policy.to_str().expect("a path");
    let cases: [&[&str]; 16] = [
        &["resoa", "serve"],
        &["resoa", "serve", "--listen", "plian:127.0.0.1:4000"],
        &["resoa", "serve", "--listen", "plain:192.0.2.1:4000"],
        &["resoa", "serve", "--listen", "192.0.2.1"],
        &["resoa", "serve", "--listen", "127.0.0.1:0"],
        &["resoa", "serve", "--listen", "tcp:127.0.0.1:0"],
        &["resoa", "serve", "--listen", "tcp:127.0.0.1:0", "--policy", policy],
        &["resoa", "serve", "--policy", policy, "--check"],
        &["resoa", "serve", "--listen", "plain:127.0.0.1:0", "--key", "/nowhere/key"],
        &["resoa", "serve", "--listen", "plain:127.0.0.1:0", "--user", "root"],
        &["resoa", "serve", "--listen", "plain:127.0.0.1:0", "--user", "nobody-of-that-name"],
        &["resoa", "pair"],
        &["resoa", "pair", "--policy", "/nowhere/policy.toml", "--key", "/nowhere/key"],
        &["resoa", "pair", "resoa-client laptop aFCDD0ZZpPza9tbt1930scw1eXDGXQU3CC-Bt0JnzQQ"],
        &[
            "resoa",
            "pair",
            "resoa-client laptop aFCDD0ZZpPza9tbt1930scw1eXDGXQU3CC-Bt0JnzQQ 43e41148",
            "--policy",
            policy,
        ],
        &["resoa", "status", "--server", "/nowhere/resoa.sock"],
    ];
    let said: Vec<_> =
        cases.iter().map(|case| format!("$ lasthop {}\n{}", case.join(" "), lasthop(case))).collect();
    let said = said.join("\n\n").replace(policy, "POLICY");
    insta::assert_snapshot!("wrong_resoa", said);
}

#[test]
fn wrong_input_says_what_would_be_right() {
    let cases: [&[&str]; 12] = [
        &["link", "--profile", "umtss", "--", "true"],
        &["link", "--profile", "lite-4", "--", "true"],
        &["link", "--loss", "gsm", "--", "true"],
        &["link", "--arq", "lapb", "--", "true"],
        &["link", "--arq", "llp", "--", "true"],
        &["link", "--profile", "gsm", "--arq", "rlp:delay=1s", "--", "true"],
        &["link", "--down", "rat=2mbit", "--", "true"],
        &["link", "--down", "rate=2", "--", "true"],
        &["link", "--up", "loss=150%", "--", "true"],
        &["link", "--up", "jitter=5ms", "--", "true"],
        &["link", "--down", "trace=no-such-file", "--", "true"],
        &["link", "set", "0000", "down", "rate=1mbit"],
    ];
    let said: Vec<_> =
        cases.iter().map(|case| format!("$ lasthop {}\n{}", case.join(" "), lasthop(case))).collect();
    insta::assert_snapshot!("wrong_input", said.join("\n\n"));
}

#[test]
fn a_profile_is_fitted_to_a_trace_and_can_be_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    // Two of ten blocks are lost, always together: bursts of 20 ms every 100 ms.
    std::fs::write(path("frames.txt"), "0000110000".repeat(50)).expect("a trace");
    let said = lasthop(&["fit", "--block", "10ms", &path("frames.txt")]).replace(&path(""), "");
    insta::assert_snapshot!("fit", said);
    let profile = said.split_inclusive('\n').take_while(|line| !line.starts_with("good")).collect::<String>();
    std::fs::write(path("mine.toml"), profile).expect("a profile");
    assert!(lasthop(&["profiles", &path("mine.toml")]).ends_with("status 0"));
}

/// LL-09, LL-12, LL-14: a synthetic trace that is marked as synthetic, its replay compared with its
/// even trace, the fit, and the result of `fit` for a heavy tail.
#[test]
fn traces_are_made_and_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let run = |arguments: &[&str]| lasthop(arguments).replace(&path(""), "");
    let recipe = ["--duration", "10min", "--bler", "2%", "--burst", "4", "--seed", "3"];
    let make = |name: &str, law: &str| {
        let output = path(name);
        run(&[&["retracer", "make", "--law", law, "-o", &output], &recipe[..]].concat())
    };
    assert_eq!(make("a.blocks", "heavy-tailed"), "status 0");
    assert_eq!(make("m.blocks", "markov"), "status 0");
    let head: String = std::fs::read_to_string(path("a.blocks"))
        .expect("a trace")
        .lines()
        .take_while(|line| line.starts_with('#'))
        .flat_map(|line| [line, "\n"])
        .collect();
    insta::assert_snapshot!("retracer_made", head);
    let set = run(&["retracer", "make", "c", "--duration", "1s"]);
    insta::assert_snapshot!("retracer_made_set", set);

    let (trace, figure) = (path("a.blocks"), path("a.svg"));
    insta::assert_snapshot!(
        "retracer",
        run(&["retracer", "--even", "--frames", "1-8,16,32", &trace, "--plot", &figure])
    );
    assert!(std::fs::read_to_string(&figure).expect("a figure").contains("a.blocks, even"));
    insta::assert_snapshot!(
        "retracer_every_start",
        run(&["retracer", "--start", "all", "--frames", "1,4", "--mtu", "576", "--headers", "52", &trace])
    );
    insta::assert_snapshot!(
        "retracer_json",
        run(&["retracer", "--json", "--frames", "2,3", "--mtu", "576", &trace])
    );
    insta::assert_snapshot!(
        "retracer_csv",
        run(&["retracer", "--csv", "--frames", "2,3", "--mtu", "576", &trace])
    );
    insta::assert_snapshot!(
        "retracer_concatenated",
        run(&["retracer", "--concatenate", "--frames", "1", &trace, &path("m.blocks")])
    );

    // The even trace as a file equals the one that --even replays.
    let even = run(&["retracer", "even", &trace]);
    std::fs::write(path("e.blocks"), even.trim_end_matches("status 0")).expect("a file");
    let row = |name: &str| {
        let said = run(&["retracer", "--csv", "--even", "--frames", "7", &path(name)]);
        said.lines()
            .nth(5)
            .and_then(|line| line.split_once("link,"))
            .map(|row| row.1.to_owned())
            .expect("a row")
    };
    assert_eq!(row("a.blocks"), row("e.blocks"));

    // Two states fit the Markov chain, and not the heavy tail.
    insta::assert_snapshot!("fit_markov", run(&["fit", &path("m.blocks")]));
    insta::assert_snapshot!("fit_heavy_tailed", run(&["fit", &trace]));
    let wrong = run(&["fit", "--block", "10ms", &trace]);
    assert!(
        wrong.contains("a.blocks:3: block-period `20ms`: differs from the requested block length"),
        "{wrong}"
    );
}

/// LL-36: block traces can be made from any RLP trace, and from bits.
#[test]
fn blocks_are_made_of_other_traces() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let run = |arguments: &[&str]| lasthop(arguments).replace(&path(""), "");
    std::fs::write(path("a.rlp"), "# format: rlp\n# origin: measured\n0 R OK - - -\n20000 R ERAS - - -\n")
        .expect("a file");
    std::fs::write(path("a.bits"), "# format: bit-errors\n10 1 9 3 17\n").expect("a file");
    std::fs::write(path("a.blocks"), "0001\n").expect("a file");
    std::fs::write(path("bad.blocks"), "1111\n").expect("a file");
    let poor = "# block-period: 20ms\n# signal-strength: 1-2\n0100000000\n";
    std::fs::write(path("poor.blocks"), poor).expect("a file");
    // Only one of these two states a signal strength.
    let traces = [path("poor.blocks"), path("a.blocks")];
    let of_signal = |bars: &str| {
        run(&["retracer", "--signal", bars, "--frames", "1", "--mtu", "296", &traces[0], &traces[1]])
    };
    insta::assert_snapshot!("retracer_by_signal", of_signal("1-3"));
    insta::assert_snapshot!("retracer_by_another_signal", of_signal("2-4") + &of_signal("3-6"));
    insta::assert_snapshot!("retracer_blocks_of_rlp", run(&["retracer", "blocks", &path("a.rlp")]));
    let bits = ["retracer", "blocks", "--bits", "10", "--correct", "1", &path("a.bits")];
    insta::assert_snapshot!("retracer_blocks_of_bits", run(&bits));
    let bare = run(&["retracer", "--frames", "1", "--mtu", "296", &path("a.blocks")]);
    insta::assert_snapshot!("retracer_bare", bare);
    insta::assert_snapshot!(
        "retracer_nothing",
        run(&["retracer", "--frames", "1-2", "--mtu", "296", &path("bad.blocks")])
    );
    let none = path("none.blocks");
    let (rlp, of_bits, blocks) = (path("a.rlp"), path("a.bits"), path("a.blocks"));
    let cases: [&[&str]; 11] = [
        &["retracer"],
        &["retracer", &none],
        &["retracer", &of_bits],
        &["retracer", "--frames", "5-3", &rlp],
        &["retracer", "--overhead", "30", &rlp],
        &["retracer", "--start", "2", &rlp],
        &["retracer", "--mtu", "40", &rlp],
        &["retracer", "blocks", &of_bits],
        &["retracer", "blocks", &blocks],
        &["retracer", "make", "F"],
        &["retracer", "make", "A", "--bler", "60%", "--burst", "1"],
    ];
    let said: Vec<_> =
        cases.iter().map(|case| format!("$ lasthop {}\n{}", case.join(" "), run(case))).collect();
    insta::assert_snapshot!("wrong_retracer", said.join("\n\n").replace(&path(""), ""));
}

/// LL-30 to LL-32: the model with the specification's figures, and timers on the round-trip times
/// of a capture.
#[test]
fn retransmission_timers() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    insta::assert_snapshot!("help_rto", lasthop(&["rto", "--help"]));
    insta::assert_snapshot!("help_rto_model", lasthop(&["rto", "model", "--help"]));
    insta::assert_snapshot!("help_rto_capture", lasthop(&["rto", "capture", "--help"]));
    let figure = path("model.svg");
    insta::assert_snapshot!("rto_model", lasthop(&["rto", "model", "--load", "40", "--plot", &figure]));
    assert!(std::fs::read_to_string(&figure).expect("a figure").contains("RTO, eifel"));
    let every = ["rto", "model", "--load", "8", "--rate", "9600bit", "--segment", "512"];
    let every = [&every[..], &["--timer", "lite,lite-ticks,rfc6298,linux,eifel"]].concat();
    insta::assert_snapshot!("rto_model_every_timer", lasthop(&every));
    insta::assert_snapshot!("rto_model_json", lasthop(&["rto", "model", "--load", "8", "--json"]));
    let rows =
        ["rto", "model", "--load", "4", "--cycles", "1", "--timer", "lite-ticks,eifel", "--tick", "250ms"];
    insta::assert_snapshot!("rto_model_csv", lasthop(&[&rows[..], &["--csv"]].concat()));
    let constant = ["rto", "model", "--receiver-limited", "--load", "8", "--cycles", "60"];
    insta::assert_snapshot!("rto_model_receiver_limited", lasthop(&constant));

    let captures =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../capture-analysis/tests/captures");
    let capture = captures.join("errors.pcapng").display().to_string();
    let run = |arguments: &[&str]| lasthop(arguments).replace(&format!("{}/", captures.display()), "");
    let figure = path("capture.svg");
    let text = ["rto", "capture", "--interface", "1", &capture, "--plot", &figure];
    insta::assert_snapshot!("rto_capture", run(&text));
    assert!(std::fs::read_to_string(&figure).expect("a figure").contains("RTO, linux"));
    let json = ["rto", "capture", "--json", "--interface", "1", "--timer", "linux", &capture];
    insta::assert_snapshot!("rto_capture_json", run(&json));
    let csv = ["rto", "capture", "--csv", "--interface", "1", "--timer", "lite,eifel", &capture];
    let csv = run(&csv);
    insta::assert_snapshot!("rto_capture_csv", csv.split_inclusive('\n').take(6).collect::<String>());
    // The samples equal those of `lasthop analyze`.
    let trace = run(&["analyze", "--json", "--interface", "1", &capture]);
    let trace: serde_json::Value =
        serde_json::from_str(trace.lines().next().expect("a line")).expect("an object");
    let count = |name: &str| csv.lines().filter(|line| line.contains(name)).count() as u64;
    for (way, name) in [(0, ",a2b,"), (1, ",b2a,")] {
        assert_eq!(trace["directions"][way]["round_trips"]["count"].as_u64(), Some(count(name)), "{name}");
    }

    let oneway = captures.join("oneway.pcap").display().to_string();
    let none = path("none.pcap");
    let cases: [&[&str]; 7] = [
        &["rto", "model", "--load", "7"],
        &["rto", "model", "--pipe", "21"],
        &["rto", "model", "--timer", "vegas"],
        &["rto", "model", "--service-time", "0s"],
        &["rto", "model", "--rate", "9600bit"],
        &["rto", "capture", &oneway],
        &["rto", "capture", &none],
    ];
    let said: Vec<_> =
        cases.iter().map(|case| format!("$ lasthop {}\n{}", case.join(" "), run(case))).collect();
    let said = said.join("\n\n").replace(&path(""), "").replace(&format!("{}/", captures.display()), "");
    insta::assert_snapshot!("wrong_rto", said);
}
