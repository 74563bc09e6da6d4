//! Counters of the links in every run: a table in columns, because a campaign has thousands of
//! rows.

use crate::page::known_runs;
use results::Directory;
use serde::Serialize;
use std::collections::BTreeSet;

/// The table; each list has an entry per row.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub(crate) struct Links {
    /// Reasons for losses that occur: the columns of `lost`.
    reasons: Vec<String>,
    /// Index of the run.
    run: Vec<usize>,
    /// Name and direction of the link.
    way: Vec<String>,
    packets: Vec<u64>,
    bytes: Vec<u64>,
    delivered_bytes: Vec<u64>,
    /// Packets lost, by reason.
    lost: Vec<Vec<u64>>,
    damaged: Vec<u64>,
    duplicated: Vec<u64>,
    reordered: Vec<u64>,
    /// Mean delay in milliseconds.
    delay_ms: Vec<Option<f64>>,
    /// Mean time in the queue in milliseconds.
    waiting_ms: Vec<Option<f64>>,
}

pub(crate) fn all(directory: &Directory) -> Links {
    let ways = || {
        known_runs(directory)
            .enumerate()
            .flat_map(|(run, (_, record, _))| record.links.iter().map(move |way| (run, way)))
    };
    let reasons: BTreeSet<&String> = ways().flat_map(|(_, way)| way.lost.keys()).collect();
    let mut links =
        Links { reasons: reasons.iter().map(|reason| (*reason).clone()).collect(), ..Links::default() };
    let milliseconds = |nanoseconds: u64| nanoseconds as f64 / 1e6;
    for (run, way) in ways() {
        links.run.push(run);
        links.way.push(format!("{} {}", way.link, way.direction));
        links.packets.push(way.packets);
        links.bytes.push(way.bytes);
        links.delivered_bytes.push(way.delivered_bytes);
        links.lost.push(reasons.iter().map(|reason| way.lost.get(*reason).copied().unwrap_or(0)).collect());
        links.damaged.push(way.damaged);
        links.duplicated.push(way.duplicated);
        links.reordered.push(way.reordered);
        links.delay_ms.push(way.delay_mean_ns.map(milliseconds));
        links.waiting_ms.push(way.waiting_mean_ns.map(milliseconds));
    }
    links
}
