//! The kernel's `struct_ops` objects: links, programs and maps by their ids, which the kernel does
//! not soon reuse.

use congestion::algorithms::CATALOGUE;
use libbpf_rs::MapType;
use libbpf_rs::ProgramType;
use libbpf_rs::query::{LinkInfoIter, LinkTypeInfo, MapInfoIter, ProgInfoIter};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// An unpinned object is gone a moment later (RCU), on a busy machine somewhat later.
const PATIENCE: Duration = Duration::from_secs(20);

/// All such objects of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objects {
    pub links: BTreeSet<u32>,
    pub programs: BTreeSet<u32>,
    pub maps: BTreeSet<u32>,
}

/// Returns the objects that exist now. Maps of parameters are arrays, and so are many other maps;
/// ours begin with the algorithm's name, truncated to fit.
pub fn now() -> Objects {
    let is_structure = |info: &LinkTypeInfo| matches!(info, LinkTypeInfo::StructOps(_));
    let links = LinkInfoIter::default().filter(|link| is_structure(&link.info)).map(|link| link.id);
    let programs = ProgInfoIter::default().filter(|program| program.ty == ProgramType::StructOps);
    let maps = MapInfoIter::default().filter(|map| {
        let name = map.name.to_string_lossy();
        let of = name.strip_suffix(".rodata");
        map.ty == MapType::StructOps
            || of.is_some_and(|of| CATALOGUE.iter().any(|known| known.name.starts_with(of)))
    });
    Objects {
        links: links.collect(),
        programs: programs.map(|program| program.id).collect(),
        maps: maps.map(|map| map.id).collect(),
    }
}

/// Waits until no objects exist that did not exist before.
pub fn wait_until_only(before: &Objects) {
    let end = Instant::now() + PATIENCE;
    loop {
        let now = now();
        let left =
            |now: &BTreeSet<u32>, before: &BTreeSet<u32>| now.difference(before).copied().collect::<Vec<_>>();
        let (links, programs) = (left(&now.links, &before.links), left(&now.programs, &before.programs));
        let maps = left(&now.maps, &before.maps);
        if links.is_empty() && programs.is_empty() && maps.is_empty() {
            return;
        }
        assert!(Instant::now() < end, "links {links:?}, programs {programs:?}, maps {maps:?} are left");
        std::thread::sleep(Duration::from_millis(20));
    }
}
