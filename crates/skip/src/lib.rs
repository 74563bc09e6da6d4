//! Tests that cannot run on this machine.
//!
//! Rust's test harness has no result "skipped" that a test can choose while it runs, so a test that
//! finds no root, BTF or guest kernel would pass as `ok`. [`skip!`] fails it instead, unless
//! the environment variable [`LIST`] names a file: then the test passes, and its name and the
//! reason are appended to that file. `make test` sets the variable, prints the list and counts it.
#![forbid(unsafe_code)]

use std::fmt::{Arguments, Write as _};
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;
use std::thread;

/// Environment variable with the path of the file that lists skipped tests, one line each.
pub const LIST: &str = "LASTHOP_SKIPPED";

/// Skips the calling test, or a part of it, with a reason in the syntax of `format!`.
///
/// It does not return from the test: write `return skip!("…")`, or let the test end.
///
/// # Panics
/// If [`LIST`] is not set, or its file cannot be written.
#[macro_export]
macro_rules! skip {
    ($($reason:tt)+) => { $crate::skip(env!("CARGO_PKG_NAME"), format_args!($($reason)+)) };
}

/// Skips a test of `package`; see [`skip!`].
///
/// # Panics
/// As [`skip!`] does.
#[doc(hidden)]
#[expect(clippy::panic, reason = "this is how a test fails")]
pub fn skip(package: &str, reason: Arguments) {
    let Some(list) = std::env::var_os(LIST) else {
        panic!(
            "this test cannot run here: {reason}. `make test` counts such tests as skipped; so does {LIST}=FILE"
        );
    };
    let thread = thread::current();
    // With --test-threads=1 tests run in the main thread, which does not have their names.
    let test = thread.name().filter(|name| *name != "main");
    if let Err(error) = append(Path::new(&list), package, test, reason) {
        panic!("cannot append to the list of skipped tests {} ({LIST}): {error}", list.display());
    }
}

/// Appends a line in one write, since tests of several processes share the file.
fn append(list: &Path, package: &str, test: Option<&str>, reason: Arguments) -> io::Result<()> {
    let mut line = format!("{package} ");
    if let Some(test) = test {
        let _ = write!(line, "{test} ");
    }
    let _ = writeln!(line, "skipped: {reason}");
    OpenOptions::new().append(true).create(true).open(list)?.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::{LIST, append};
    use std::process::Command;

    #[test]
    fn each_skip_is_a_line_of_the_list() {
        let list = std::env::temp_dir().join(format!("lasthop-skip-{}", std::process::id()));
        append(&list, "netlab", Some("ground::one"), format_args!("needs {}", "root")).expect("appended");
        append(&list, "netlab", None, format_args!("no BTF")).expect("appended");
        let text = std::fs::read_to_string(&list).expect("a list");
        std::fs::remove_file(&list).expect("removed");
        assert_eq!(text, "netlab ground::one skipped: needs root\nnetlab skipped: no BTF\n");
    }

    /// Started again by the next test.
    #[test]
    #[ignore = "started by plain_cargo_test_fails_a_skip"]
    fn skips() {
        skip!("it needs {}", "root");
    }

    #[test]
    fn plain_cargo_test_fails_a_skip() {
        let tests = std::env::current_exe().expect("this program");
        let run = |list: Option<&str>| {
            let mut command = Command::new(&tests);
            command.args(["--exact", "tests::skips", "--ignored"]).env_remove(LIST);
            command.envs(list.map(|list| (LIST, list))).output().expect("runs")
        };
        let plain = run(None);
        assert!(!plain.status.success());
        assert!(String::from_utf8_lossy(&plain.stdout).contains("this test cannot run here: it needs root."));
        assert!(run(Some("/dev/null")).status.success());
        let unwritable = run(Some("/nowhere/list"));
        assert!(String::from_utf8_lossy(&unwritable.stdout).contains("cannot append to the list"));
    }
}
