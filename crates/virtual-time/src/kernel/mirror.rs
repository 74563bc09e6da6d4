//! The Debian mirror that this machine uses, from apt's sources in either of their formats.

use std::fs;
use std::path::Path;

/// The mirror if apt's sources name none.
const DEFAULT: &str = "http://deb.debian.org/debian";

/// Parts of the suite names of archives other than the main one; a mirror need not have these
/// archives.
const OTHER_ARCHIVES: [&str; 2] = ["-security", "/updates"];

/// A source to fetch packages from.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PackageSource {
    uri: String,
    suite: String,
}

/// Returns the mirror in apt's sources below `etc` (`/etc/apt`) for a machine of the Debian release
/// `codename`.
///
/// If no source has that release, returns the default mirror.
#[must_use]
pub fn of_machine(etc: &Path, codename: Option<&str>) -> String {
    let mut places = Vec::new();
    if let Ok(text) = fs::read_to_string(etc.join("sources.list")) {
        places.extend(one_line(&text));
    }
    let entries = fs::read_dir(etc.join("sources.list.d")).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.sort();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("list") => places.extend(one_line(&text)),
            Some("sources") => places.extend(deb822(&text)),
            _ => {}
        }
    }
    mirror(&places, codename)
}

/// Returns the first of these sources that is a mirror of the release.
fn mirror(places: &[PackageSource], codename: Option<&str>) -> String {
    let debian = places.iter().find(|place| {
        let main = !OTHER_ARCHIVES.iter().any(|other| place.suite.contains(other));
        let release = codename.is_some_and(|codename| place.suite.split('-').next() == Some(codename));
        let path = place.uri.trim_end_matches('/');
        main && release && path.ends_with("/debian") && !path.starts_with("cdrom:")
    });
    debian.map_or_else(|| DEFAULT.to_owned(), |place| place.uri.trim_end_matches('/').to_owned())
}

/// Parses `deb [options] URI SUITE COMPONENT...` lines.
fn one_line(text: &str) -> Vec<PackageSource> {
    let place = |line: &str| {
        let line = line.split('#').next()?.trim();
        let rest = line.strip_prefix("deb")?;
        if !rest.starts_with([' ', '\t', '[']) {
            return None; // deb-src
        }
        let rest = rest.trim_start();
        let rest = if rest.starts_with('[') { rest.split_once(']')?.1 } else { rest };
        let mut words = rest.split_whitespace();
        Some(PackageSource { uri: words.next()?.to_owned(), suite: words.next()?.to_owned() })
    };
    text.lines().filter_map(place).collect()
}

/// Parses stanzas of `Field: values` with indented continuation lines.
fn deb822(text: &str) -> Vec<PackageSource> {
    let mut places = Vec::new();
    let lines = text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>();
    for stanza in lines.split(|line| line.trim().is_empty()) {
        let field = |name: &str| {
            let mut values = Vec::new();
            let mut within = false;
            for line in stanza {
                let rest = if line.starts_with([' ', '\t']) {
                    within.then_some(*line)
                } else {
                    let found = line.split_once(':').filter(|(key, _)| key.trim().eq_ignore_ascii_case(name));
                    within = found.is_some();
                    found.map(|(_, value)| value)
                };
                values.extend(rest.unwrap_or_default().split_whitespace());
            }
            values
        };
        if field("Enabled").iter().any(|value| value.eq_ignore_ascii_case("no"))
            || !field("Types").contains(&"deb")
        {
            continue;
        }
        for uri in field("URIs") {
            for suite in field("Suites") {
                places.push(PackageSource { uri: uri.to_owned(), suite: suite.to_owned() });
            }
        }
    }
    places
}

/// Returns the Debian release in `os-release`; `None` on other systems.
#[must_use]
pub fn codename(os_release: &str) -> Option<String> {
    let field = |name: &str| {
        let value = os_release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
        Some(value.trim_matches('"').to_owned())
    };
    (field("ID")? == "debian").then(|| field("VERSION_CODENAME"))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(places: &[PackageSource]) -> String {
        mirror(places, Some("bookworm"))
    }

    #[test]
    fn a_line_with_options_and_a_comment() {
        let text = "\
# deb http://old.example/debian bookworm main
deb-src http://src.example/debian bookworm main
deb [arch=amd64 signed-by=/k.gpg] https://packages.example/tool bookworm main
deb http://security.example/debian-security bookworm-security main
deb [ arch=amd64 ] http://mirror.example/debian/ bookworm main contrib # near
";
        assert_eq!(chosen(&one_line(text)), "http://mirror.example/debian");
    }

    #[test]
    fn stanzas_with_comments_continued_lines_and_several_suites() {
        let text = "\
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Enabled: no

Types: deb deb-src
# a comment within
URIs:
 http://mirror.example/debian
suites: bookworm bookworm-updates
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
";
        assert_eq!(chosen(&deb822(text)), "http://mirror.example/debian");
    }

    #[test]
    fn security_other_archives_and_other_releases_are_not_the_mirror() {
        let text = "\
deb http://a.example/debian-security bookworm-security main
deb http://b.example/debian trixie main
deb http://c.example/node bookworm main
deb cdrom:[Debian]/debian bookworm main
";
        assert_eq!(chosen(&one_line(text)), DEFAULT);
        assert_eq!(mirror(&one_line("deb http://m.example/debian bookworm main"), None), DEFAULT);
    }

    #[test]
    fn both_formats_are_read_from_where_apt_reads_them() {
        let etc = tempfile::tempdir().expect("a folder");
        fs::create_dir(etc.path().join("sources.list.d")).expect("a folder");
        let parts = etc.path().join("sources.list.d");
        fs::write(
            parts.join("debian.sources"),
            "Types: deb\nURIs: http://m.example/debian\nSuites: bookworm\n",
        )
        .expect("written");
        fs::write(parts.join("other.list.save"), "deb http://no.example/debian bookworm main")
            .expect("written");
        assert_eq!(of_machine(etc.path(), Some("bookworm")), "http://m.example/debian");
        fs::write(etc.path().join("sources.list"), "deb http://first.example/debian bookworm main")
            .expect("written");
        assert_eq!(of_machine(etc.path(), Some("bookworm")), "http://first.example/debian");
    }

    #[test]
    fn the_release_is_that_of_debian_only() {
        assert_eq!(codename("ID=debian\nVERSION_CODENAME=bookworm\n").as_deref(), Some("bookworm"));
        assert_eq!(codename("ID=\"debian\"\nVERSION_CODENAME=\"trixie\"\n").as_deref(), Some("trixie"));
        assert_eq!(codename("ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n"), None);
    }
}
