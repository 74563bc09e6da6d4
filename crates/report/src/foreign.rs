//! Files that are not runs: what they are, and which command reads them.

use std::ffi::OsStr;
use std::path::Path;

/// Returns the kind of the file `path` with these first bytes, and what to do with it; `None` if it
/// may be a summary.
pub(crate) fn kind(path: &Path, start: &[u8]) -> Option<(&'static str, String)> {
    let shown = path.display();
    let capture = |kind| Some((kind, format!("read it with `lasthop analyze {shown}`")));
    match start {
        [0x0a, 0x0d, 0x0d, 0x0a, ..] => return capture("a capture (pcapng)"),
        // With microseconds or nanoseconds, in either byte order.
        [0xa1, 0xb2, 0xc3, 0xd4, ..]
        | [0xd4, 0xc3, 0xb2, 0xa1, ..]
        | [0xa1, 0xb2, 0x3c, 0x4d, ..]
        | [0x4d, 0x3c, 0xb2, 0xa1, ..] => return capture("a capture (pcap)"),
        [b'P', b'A', b'R', b'1', ..] => {
            let what =
                "name the run directory that it belongs to, or the summary beside it (`lasthop link --json`)";
            return Some(("a table (Parquet)", what.to_owned()));
        }
        [0x1f, 0x8b, ..] => return Some(("a gzip file", "unpack it with `gunzip`".to_owned())),
        _ => {}
    }
    let text = start.trim_ascii_start();
    if path.file_name() == Some(OsStr::new(results::directory::MANIFEST))
        || path.file_name() == Some(OsStr::new(results::journal::FILE))
    {
        return Some(("a file of a run directory", "name the directory".to_owned()));
    }
    if path.extension() == Some(OsStr::new("toml")) {
        return Some(("a plan or a profile", format!("run a plan with `lasthop run {shown}`")));
    }
    if text.get(..5).is_some_and(|tag| tag.eq_ignore_ascii_case(b"<!doc")) {
        return Some(("an HTML page", "open it in a browser".to_owned()));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_first_bytes_or_their_names() {
        /// Kind of the file, and beginning of the advice.
        type Found = Option<(&'static str, &'static str)>;
        let cases: [(&str, &[u8], Found); 8] = [
            ("x", b"\x0a\x0d\x0d\x0a\x1c", Some(("a capture (pcapng)", "read it with `lasthop analyze x`"))),
            (
                "x.cap",
                b"\xd4\xc3\xb2\xa1\x02",
                Some(("a capture (pcap)", "read it with `lasthop analyze x.cap`")),
            ),
            ("e.parquet", b"PAR1\x15", Some(("a table (Parquet)", "name the run directory"))),
            ("x.json.gz", b"\x1f\x8b\x08", Some(("a gzip file", "unpack it with `gunzip`"))),
            ("runs/manifest.json", b"{", Some(("a file of a run directory", "name the directory"))),
            ("plan.toml", b"title", Some(("a plan or a profile", "run a plan with `lasthop run plan.toml`"))),
            ("r.html", b"\n<!DOCTYPE html>", Some(("an HTML page", "open it in a browser"))),
            ("x.json", b"{\"seed\"", None),
        ];
        for (path, start, expected) in cases {
            let found = kind(Path::new(path), start);
            let found = found.as_ref().map(|(kind, what)| (*kind, what.as_str()));
            match (found, expected) {
                (Some((kind, what)), Some((is, begins))) => {
                    assert!(kind == is && what.starts_with(begins), "{path}: {kind}, {what}");
                }
                (found, expected) => assert_eq!(found, expected, "{path}"),
            }
        }
    }
}
