//! Choosing the source to build from: the pinned one, or the newest of the same major version in
//! the archive.

use super::recipe::Source;

/// A package in the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub package: String,
    /// Its version.
    pub version: String,
}

impl Candidate {
    /// Returns `package version`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", self.package, self.version)
    }

    /// Parses the output of `apt-cache madison`: lines of `package | version | where`. Ignores
    /// other lines, such as warnings.
    #[must_use]
    pub fn parse_all(lines: &[String]) -> Vec<Self> {
        let candidate = |line: &String| {
            let mut fields = line.split('|').map(str::trim);
            let (package, version) = (fields.next()?, fields.next()?);
            numbers(package)?;
            Some(Self { package: package.to_owned(), version: version.to_owned() })
        };
        lines.iter().filter_map(candidate).collect()
    }
}

/// Returns 7 and 2 for `linux-source-7.2`; `None` for anything else (`linux-source`,
/// `linux-source-7.2-rt`).
#[must_use]
pub fn numbers(package: &str) -> Option<(u32, u32)> {
    let (major, minor) = package.strip_prefix("linux-source-")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Returns the sources to try, in this order.
///
/// If the archive has the pinned source, it is the only one. Otherwise they are all sources of its
/// major version, newest first.
#[must_use]
pub fn to_try(pinned: &Source, there: &[Candidate]) -> Vec<Candidate> {
    let exact = there.iter().find(|found| found.package == pinned.package && found.version == pinned.version);
    if let Some(exact) = exact {
        return vec![exact.clone()];
    }
    let major = numbers(&pinned.package).map(|(major, _)| major);
    let mut others: Vec<_> = there
        .iter()
        .filter(|found| numbers(&found.package).map(|(major, _)| major) == major)
        .cloned()
        .collect();
    // madison lists the newest version of a package first, and the sort is stable.
    others.sort_by_key(|found| std::cmp::Reverse(numbers(&found.package)));
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pinned() -> Source {
        Source {
            package: "linux-source-7.2".into(),
            version: "7.2.12-1".into(),
            suite: "s".into(),
            size: 0,
            sha256: String::new(),
            compile_lines: 0,
        }
    }

    fn tried(lines: &str) -> Vec<String> {
        let lines: Vec<_> = lines.lines().map(str::to_owned).collect();
        to_try(&pinned(), &Candidate::parse_all(&lines)).iter().map(Candidate::name).collect()
    }

    #[test]
    fn the_pinned_version_is_taken_though_newer_ones_are_there() {
        let there = "\
 linux-source-7.3 | 7.3.1-1 | http://m.example/debian s/main amd64 Packages
 linux-source-7.2 | 7.2.13-1 | http://m.example/debian s/main amd64 Packages
 linux-source-7.2 | 7.2.12-1 | http://m.example/debian s/main amd64 Packages";
        assert_eq!(tried(there), ["linux-source-7.2 7.2.12-1"]);
    }

    #[test]
    fn without_it_the_newest_of_the_same_major_version_comes_first() {
        let there = "\
W: a warning | of | apt
 linux-source-6.12 | 6.12.9-1 | x
 linux-source-7.2 | 7.2.14-1 | x
 linux-source-7.2 | 7.2.13-1 | x
 linux-source-7.10 | 7.10.1-1 | x
 linux-source-8.0 | 8.0.1-1 | x
 linux-source-7.3-rt | 7.3.9-1 | x
 linux-source-7.3 | 7.3.1-1 | x";
        assert_eq!(
            tried(there),
            [
                "linux-source-7.10 7.10.1-1",
                "linux-source-7.3 7.3.1-1",
                "linux-source-7.2 7.2.14-1",
                "linux-source-7.2 7.2.13-1"
            ]
        );
    }

    #[test]
    fn an_archive_without_any_gives_nothing() {
        assert_eq!(tried("N: Unable to locate package"), [""; 0]);
    }
}
