//! The kernel's eBPF objects of a control group: links and programs by their ids, which the kernel
//! does not soon reuse.

use libbpf_rs::query::{LinkInfoIter, LinkTypeInfo, ProgInfoIter, ProgInfoQueryOptions};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// An unpinned object is gone a moment later (RCU), on a busy machine somewhat later.
const PATIENCE: Duration = Duration::from_secs(20);

/// Links and the programs that they attach.
#[derive(Debug)]
pub struct Objects {
    pub links: BTreeSet<u32>,
    pub programs: BTreeSet<u32>,
}

/// Returns the links to the group with this id, and the links to interfaces whose programs share a
/// map with those.
pub fn of_group(group: u64) -> Objects {
    let links: Vec<_> = LinkInfoIter::default().collect();
    let to_group = |info: &LinkTypeInfo| matches!(info, LinkTypeInfo::Cgroup(to) if to.cgroup_id == group);
    let options = || ProgInfoQueryOptions::default().include_map_ids(true);
    let maps_of = |program: u32| {
        let mut all = ProgInfoIter::with_query_opts(options());
        all.find(|info| info.id == program)
            .map_or_else(BTreeSet::new, |info| info.map_ids.into_iter().collect())
    };
    let of_group = links.iter().filter(|link| to_group(&link.info));
    let maps: BTreeSet<u32> = of_group.flat_map(|link| maps_of(link.prog_id)).collect();
    let ours = links.iter().filter(|link| match link.info {
        LinkTypeInfo::Tcx(_) => !maps.is_disjoint(&maps_of(link.prog_id)),
        _ => to_group(&link.info),
    });
    let (links, programs) = ours.map(|link| (link.id, link.prog_id)).unzip();
    Objects { links, programs }
}

/// Waits until the group has only these links.
pub fn wait_for_links(group: u64, links: &BTreeSet<u32>) {
    let end = Instant::now() + PATIENCE;
    loop {
        let left = of_group(group).links;
        if left == *links {
            return;
        }
        assert!(Instant::now() < end, "links {left:?} instead of {links:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Objects {
    /// Waits until all of these are gone.
    pub fn wait_until_gone(&self) {
        let end = Instant::now() + PATIENCE;
        loop {
            let links: Vec<u32> =
                LinkInfoIter::default().map(|link| link.id).filter(|id| self.links.contains(id)).collect();
            let programs: Vec<u32> =
                ProgInfoIter::default().map(|info| info.id).filter(|id| self.programs.contains(id)).collect();
            if links.is_empty() && programs.is_empty() {
                return;
            }
            assert!(Instant::now() < end, "links {links:?} and programs {programs:?} are left");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
