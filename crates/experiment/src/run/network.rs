//! The network of a run: links, nodes, recorder, and the event loop between them.

use super::Files;
use crate::capacity;
use crate::plan::Experiment;
use crate::recording::Recording;
use crate::scenario::{self, Scenario};
use capture::{CaptureTo, Header, LinkId, LinkInfo, Recorder, WallTime, WayInfo};
use emulator::guest::Form;
use emulator::host::{Host, Planned};
use emulator::kernel::Segments;
use link::arq::hop::Watch;
use link::units::{BitRate, ByteCount};
use link::{Direction, Seed};
use netlab::mesh::{Hop, LinkOptions, Mesh, NodeOptions};
use netlab::offload::{self, Offloads};
use netlab::{Namespace, sysctl};
use packet::Layer;
use std::collections::BTreeMap;
use std::os::fd::AsFd;

/// Capacity of a device's queue towards the emulator in packets: so large that only the model drops
/// packets.
const DEVICE_QUEUE: u32 = 10_000;

/// A link that is ready to run.
pub struct Ready {
    planned: Planned,
    whole_segments: bool,
}

/// Builds all links, each with its own seed.
///
/// `watch` says what is recorded of link layers.
pub fn links(scenario: &Scenario, seed: &Seed, watch: Watch) -> Result<Vec<Ready>, String> {
    let cut = scenario.nodes.iter().any(|node| node.stack.cuts_segments());
    let build = |link: &scenario::Link| {
        let spec = link.profile.spec();
        let planned = spec.and_then(|spec| Planned::build(spec, seed.link(&link.name), watch));
        let planned = planned.map_err(|error| format!("link `{}`: {error}", link.name))?;
        // The judge of damaged segments needs each by itself, with a complete checksum.
        let judged = link.between.iter().any(|&end| scenario.accepts(end));
        let whole_segments = !(cut || judged || planned.link.changes_bytes());
        Ok(Ready { planned, whole_segments })
    };
    scenario.links.iter().map(build).collect()
}

/// Builds nodes, devices and routes. `namespaces` are those that were made for nodes before.
pub fn build(
    scenario: &Scenario,
    ready: &[Ready],
    mut namespaces: BTreeMap<usize, Namespace>,
) -> Result<Mesh, String> {
    let nodes: Vec<_> = scenario
        .nodes
        .iter()
        .enumerate()
        .map(|(place, node)| NodeOptions {
            address: node.address(),
            address6: node.address6(),
            sysctls: Vec::new(),
            metrics: node.stack.metrics(),
            namespace: namespaces.remove(&place),
            networks: node.attach.iter().flat_map(|attach| attach.network.blocks()).collect(),
        })
        .collect();
    let links: Vec<_> = scenario
        .links
        .iter()
        .zip(ready)
        .enumerate()
        .map(|(place, (link, ready))| LinkOptions {
            name: link.device(place),
            between: link.between,
            mtu: link.mtu,
            whole_segments: ready.whole_segments,
            queue_length: DEVICE_QUEUE,
        })
        .collect();
    let hops: Vec<_> = scenario.hops().iter().map(|hop| Hop { at: hop.at, to: hop.to, by: hop.by }).collect();
    let build = || -> netlab::Result<Mesh> {
        let mesh = Mesh::build(&nodes, &links, &hops)?;
        // The bytes in flight over all links together are an upper bound for any path.
        let on_the_way: u64 =
            scenario.links.iter().map(|link| link.profile.bandwidth_delay_product().get()).sum();
        for (place, node) in scenario.nodes.iter().enumerate() {
            let namespace = mesh.node(place);
            sysctl::socket_buffers(namespace, ByteCount::new(on_the_way))?;
            for (key, value) in node.stack.sysctls() {
                sysctl::write(namespace, &key, &value)?;
            }
        }
        for (ends, link) in mesh.ends().iter().zip(&scenario.links) {
            for (end, node) in ends.iter().zip(link.between) {
                let cuts = scenario.nodes[node].stack.cuts_segments();
                if cuts || scenario.accepts(node) {
                    let off = Offloads {
                        generic_segmentation: cuts.then_some(false),
                        generic_receive: Some(false),
                        ..Offloads::default()
                    };
                    offload::set(mesh.node(node), end.name(), off)?;
                }
            }
        }
        Ok(mesh)
    };
    build().map_err(|error| error.to_string())
}

/// Starts the recorder of fates and packets; `started` is the start of the run in nanoseconds since
/// 1970.
pub fn recording(
    experiment: &Experiment,
    ready: &[Ready],
    seed: u64,
    files: &Files,
    started: u64,
) -> Result<Recording, String> {
    let links = experiment.scenario.links.iter().zip(ready).enumerate();
    let room = capacity::ROOM / (2 * ready.len().max(1));
    let links = links.map(|(place, (link, ready))| {
        let way = |direction| WayInfo {
            profile: link.profile.described(direction),
            bits_per_second: link.profile.rate(direction).map(BitRate::as_bits_per_second),
            stages: ready.planned.link.stage_names(direction).to_vec(),
            capacity: capacity::of(&ready.planned.link, direction, Layer::Ip, capture::Time::ZERO, room)
                .into_iter()
                .collect(),
        };
        LinkInfo {
            id: LinkId(place as u16),
            name: link.name.clone(),
            layer: Layer::Ip,
            mtu: link.mtu.into(),
            up: way(Direction::Up),
            down: way(Direction::Down),
        }
    });
    let started = WallTime::from_nanos(started);
    let links: Vec<_> = links.collect();
    let header = Header::new(env!("CARGO_PKG_VERSION"), started, seed, links.clone());
    let has_link_layer = ready.iter().any(|ready| ready.planned.link.has_medium());
    let options = capture::RecorderOptions {
        capture: files.capture().map(CaptureTo::Path),
        capture_links: Some(experiment.capture.links.iter().map(|&place| LinkId(place as u16)).collect()),
        snap_length: experiment.capture.snap_length,
        events: files.events(),
        link_layer: files.link_layer().filter(|_| has_link_layer),
        blocks: files.blocks().filter(|_| has_link_layer),
        ..capture::RecorderOptions::default()
    };
    let recorder = Recorder::start(header, options).map_err(|error| error.to_string())?;
    Ok(Recording::new(recorder, links, files.wants_bytes()).watching(files.watch()))
}

/// Adds all links to the event loop: ways 2n and 2n + 1 are up and down of link n, as
/// [`Recording`] requires.
pub fn connect(
    emulator: &mut Host<Recording>,
    scenario: &Scenario,
    mesh: &Mesh,
    ready: Vec<Ready>,
) -> std::io::Result<()> {
    for ((link, ends), ready) in scenario.links.iter().zip(mesh.ends()).zip(ready) {
        let segments = if ready.whole_segments { Segments::Whole } else { Segments::Split };
        let ends = [ends[0].as_fd(), ends[1].as_fd()];
        emulator.add_link(ready.planned, ends, Form { layer: Layer::Ip, segments }, link.mtu)?;
    }
    Ok(())
}
