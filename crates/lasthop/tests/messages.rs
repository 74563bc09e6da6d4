//! What the command says when it is asked for help or for the impossible.

use std::process::Command;

/// Output, errors and status of `lasthop` with these arguments.
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
    insta::assert_snapshot!("help_link", lasthop(&["link", "--help"]));
    insta::assert_snapshot!("help_trace", lasthop(&["trace", "--help"]));
    insta::assert_snapshot!("help_cc", lasthop(&["cc", "--help"]));
    insta::assert_snapshot!("help_cc_load", lasthop(&["cc", "load", "--help"]));
    insta::assert_snapshot!("help_kernel", lasthop(&["kernel", "--help"]));
    insta::assert_snapshot!("help_kernel_build", lasthop(&["kernel", "build", "--help"]));
}

#[test]
fn profiles() {
    insta::assert_snapshot!("profiles", lasthop(&["profiles"]));
    insta::assert_snapshot!("profile_lite_4", lasthop(&["profiles", "lite-4"]));
}

/// What is wrong with what was asked of `lasthop cc` is said before the kernel is asked for anything.
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
    // Two blocks lost out of ten, always together: bursts of 20 ms every 100 ms.
    std::fs::write(path("frames.txt"), "0000110000".repeat(50)).expect("a trace");
    let said = lasthop(&["fit", "--block", "10ms", &path("frames.txt")]).replace(&path(""), "");
    insta::assert_snapshot!("fit", said);
    let profile = said.split_inclusive('\n').take_while(|line| !line.starts_with("good")).collect::<String>();
    std::fs::write(path("mine.toml"), profile).expect("a profile");
    assert!(lasthop(&["profiles", &path("mine.toml")]).ends_with("status 0"));
}
