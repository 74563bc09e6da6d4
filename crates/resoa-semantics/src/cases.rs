//! The cases: functions that make socket calls and record their results. The expected results are
//! those of the same function on the host's own sockets.

mod abandoned;
mod ancillary;
mod binding;
mod boundaries;
mod called;
mod closing;
mod connecting;
mod datagrams;
mod descriptors;
mod error_queue;
mod fast_open;
mod flow;
mod handed;
mod joined;
mod listening;
mod lookups;
mod mapped;
pub mod messages;
mod multicast;
mod options;
mod pointers;
mod polling;
pub mod processes;
mod resets;
mod signals;
mod tables;
mod transfer;
mod udp;
mod udp_options;
mod udp_reading;
mod urgent;
mod walked;

use crate::near::Near;
use crate::sys::call;

/// IP versions that a case runs with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Families {
    /// IPv4, because the case does not depend on addresses.
    One,
    /// IPv6, because the case is about a feature of IPv6 only.
    Six,
    /// Both versions.
    Both,
}

/// Definition of a case.
pub struct Case {
    pub name: &'static str,
    /// Rows of the specification.
    pub rows: &'static str,
    pub families: Families,
    pub run: fn(&mut Near),
}

/// A case for one IP version, with its full name, such as `closing/unread.6`.
pub struct Named {
    pub name: String,
    pub rows: &'static str,
    /// `AF_INET` or `AF_INET6`.
    pub family: i32,
    pub run: fn(&mut Near),
}

macro_rules! cases {
    ($($rows:literal $families:ident: $($name:ident),+;)*) => {
        /// The cases of this file.
        pub const CASES: &[super::Case] = &[$($(
            super::Case { name: stringify!($name), rows: $rows, families: super::Families::$families, run: $name },
        )+)*];
    };
}
use cases;

/// Returns all cases, in the order of the files.
pub fn all() -> Vec<Named> {
    let files: [(&str, &[Case]); 32] = [
        ("connecting", connecting::CASES),
        ("abandoned", abandoned::CASES),
        ("fast_open", fast_open::CASES),
        ("binding", binding::CASES),
        ("listening", listening::CASES),
        ("transfer", transfer::CASES),
        ("messages", messages::CASES),
        ("flow", flow::CASES),
        ("polling", polling::CASES),
        ("closing", closing::CASES),
        ("resets", resets::CASES),
        ("urgent", urgent::CASES),
        ("options", options::CASES),
        ("descriptors", descriptors::CASES),
        ("processes", processes::CASES),
        ("tables", tables::CASES),
        ("signals", signals::CASES),
        ("datagrams", datagrams::CASES),
        ("ancillary", ancillary::CASES),
        ("joined", joined::CASES),
        ("udp", udp::CASES),
        ("udp", udp_reading::CASES),
        ("udp_options", udp_options::CASES),
        ("error_queue", error_queue::CASES),
        ("multicast", multicast::CASES),
        ("boundaries", boundaries::CASES),
        ("lookups", lookups::CASES),
        ("mapped", mapped::CASES),
        ("pointers", pointers::CASES),
        ("walked", walked::CASES),
        ("handed", handed::CASES),
        ("called", called::CASES),
    ];
    let mut all = Vec::new();
    for (file, cases) in files {
        for case in cases {
            let families: &[(i32, u8)] = match case.families {
                Families::One => &[(libc::AF_INET, 4)],
                Families::Six => &[(libc::AF_INET6, 6)],
                Families::Both => &[(libc::AF_INET, 4), (libc::AF_INET6, 6)],
            };
            for (family, version) in families {
                all.push(Named {
                    name: format!("{file}/{}.{version}", case.name),
                    rows: case.rows,
                    family: *family,
                    run: case.run,
                });
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Results are joined by the names of the cases, so these are unique.
    #[test]
    fn names_are_given_once() {
        let all = all();
        let names: BTreeSet<_> = all.iter().map(|case| &case.name).collect();
        assert_eq!(names.len(), all.len());
        assert!(all.len() > 120, "{}", all.len());
    }
}
