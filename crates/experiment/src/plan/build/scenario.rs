//! Building the nodes and links of a cell.

use super::{Fields, PlanError};
use crate::acceptance::Acceptance;
use crate::catalogue::Catalogue;
use crate::parameters::Parameter;
use crate::plan::error::unknown;
use crate::plan::file::{LinkFile, NodeFile, ScenarioFile, SocketsFile};
use crate::plan::text::{Text, is_name};
use crate::roles::remote_sockets::{Carrier, RemoteSockets};
use crate::roles::split_proxy::SplitProxy;
use crate::scenario::{Attach, Link, MOST_NODES, Node, Scenario};
use crate::stack::{Generation, Stack};
use link::Seed;
use link::profile::{LinkProfile, Parameters};
use link::units::Span;
use netlab::plan::{Network, choose_networks};
use std::collections::BTreeMap;

/// MTU of a link if neither plan nor profile sets one.
const USUAL_MTU: u16 = 1500;
/// The smallest IPv4 MTU (RFC 791); every host accepts datagrams of 576 bytes.
const LEAST_MTU: u16 = 68;

pub fn build(fields: &Fields<'_>, file: &ScenarioFile, catalogue: &Catalogue) -> Result<Scenario, PlanError> {
    let mut names: Vec<String> = Vec::new();
    for node in &file.nodes {
        let name = fields.text(&node.name)?;
        check_node_name(fields, &node.name, &name)?;
        if names.contains(&name) {
            return Err(fields.wrong(&node.name, format!("there are two nodes `{name}`")));
        }
        names.push(name);
    }
    let mut add = |name: String| {
        names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        })
    };
    let mut links = Vec::new();
    for link in &file.links {
        let ends = [fields.text(&link.between[0])?, fields.text(&link.between[1])?];
        for (text, name) in link.between.iter().zip(&ends) {
            check_node_name(fields, text, name)?;
        }
        if ends[0] == ends[1] {
            return Err(fields.wrong(
                &link.between[1],
                format!("link from `{}` to itself: its ends must be two different nodes", ends[0]),
            ));
        }
        let name = match &link.name {
            Some(name) => fields.text(name)?,
            None => ends.join("-"),
        };
        let between = ends.map(&mut add);
        links.push(build_link(fields, file, link, name, between, catalogue)?);
    }
    for link in table(fields, &file.table)? {
        let between = link.nodes.map(|node| add(node.to_string()));
        let Row { name, profile, .. } = link;
        let mtu = mtu(fields, file.mtu.as_ref(), None)?;
        links.push(Link { title: name.clone(), name, between, profile, mtu });
    }
    if links.is_empty() {
        return Err(fields.wrong_somewhere(
            "the scenario has no links: add `[[scenario.links]]` with `between = [\"a\", \"b\"]`",
        ));
    }
    if names.len() > MOST_NODES {
        return Err(fields.wrong_somewhere(format!(
            "{} nodes are too many: a scenario has at most {MOST_NODES}",
            names.len()
        )));
    }
    for (place, link) in links.iter().enumerate() {
        if links[..place].iter().any(|other| other.name == link.name) {
            return Err(fields
                .wrong_somewhere(format!("there are two links `{}`: give each its own `name`", link.name)));
        }
    }
    let base = stack(fields, &of_scenario(file), None)?;
    let usual = acceptance(fields, file.lite.as_ref())?.unwrap_or_default();
    let all = names.clone();
    let mut networks = networks(fields, file)?.into_iter();
    let nodes: Vec<Node> = number(&names)
        .into_iter()
        .zip(names)
        .map(|(number, name)| {
            let own = file.nodes.iter().find(|node| fields.text(&node.name).is_ok_and(|its| its == name));
            let stack = match own {
                Some(node) => stack(fields, &of_node(node), Some(&base))?,
                None => base.clone(),
            };
            let lite = acceptance(fields, own.and_then(|node| node.lite.as_ref()))?.unwrap_or(usual);
            let sockets = own.and_then(|node| node.sockets.as_ref());
            let sockets = sockets.map(|file| sockets_of(fields, file, &name, &all)).transpose()?.flatten();
            let proxy = own.and_then(|node| node.proxy.as_ref());
            let proxy = proxy.map(|text| proxy_of(fields, text)).transpose()?.flatten();
            let attach = own.map_or(&[][..], |node| &node.attach);
            let attach = attach.iter().zip(networks.by_ref());
            let attach = attach.map(|(text, network)| Ok(Attach { name: fields.text(text)?, network }));
            let attach = attach.collect::<Result<_, PlanError>>()?;
            Ok(Node { name, number, stack, lite, sockets, proxy, attach })
        })
        .collect::<Result<_, PlanError>>()?;
    check_attachments(fields, file, &links)?;
    check_one_way(fields, file, &nodes)?;
    check_servers(fields, file, &nodes)?;
    let parameters = file.congestion_parameters.iter().map(|(key, value)| parameter(fields, key, value));
    let parameters = parameters.collect::<Result<_, _>>()?;
    let clock_tick = file.clock_tick.as_ref().map(|text| clock_tick(fields, text)).transpose()?;
    Ok(Scenario { nodes, links, parameters, clock_tick })
}

/// Reads the tick of the virtual clock.
fn clock_tick(fields: &Fields<'_>, text: &Text) -> Result<Span, PlanError> {
    let tick: Span = fields.parsed(text)?;
    if (Span::from_nanos(1)..=Span::from_millis(1000)).contains(&tick) {
        Ok(tick)
    } else {
        Err(fields.wrong(text, format!("a clock with a tick of {tick}: expected 1 ns to 1 s")))
    }
}

/// Returns a network for each attachment.
fn networks(fields: &Fields<'_>, file: &ScenarioFile) -> Result<Vec<Network>, PlanError> {
    let count = file.nodes.iter().map(|node| node.attach.len()).sum();
    // No node has an address in these networks.
    choose_networks(&[], count).map_err(|error| fields.wrong_somewhere(error.to_string()))
}

/// Checks that no two attachments are the same, and that none has the name of a link's device.
fn check_attachments(fields: &Fields<'_>, file: &ScenarioFile, links: &[Link]) -> Result<(), PlanError> {
    let mut known: Vec<String> = Vec::new();
    for text in file.nodes.iter().flat_map(|node| &node.attach) {
        let name = fields.text(text)?;
        if name.is_empty() {
            return Err(
                fields.wrong(text, "`attach` is empty: name an interface of this host, such as `eth1`")
            );
        }
        if known.contains(&name) {
            return Err(fields.wrong(text, format!("`{name}` is attached twice: name it at one node")));
        }
        let has_its_name = |(place, link): &(usize, &Link)| link.device(*place) == name;
        if let Some((_, link)) = links.iter().enumerate().find(has_its_name) {
            let message =
                format!("`{name}` is also the name of link `{}`: give the link another `name`", link.name);
            return Err(fields.wrong(text, message));
        }
        known.push(name);
    }
    Ok(())
}

/// Reads a parameter of a congestion control.
fn parameter(fields: &Fields<'_>, key: &str, value: &Text) -> Result<Parameter, PlanError> {
    Parameter::new(key, fields.text(value)?).ok_or_else(|| {
        let message = format!("`{key}` is not a parameter: expected MODULE.PARAMETER, such as newzag.gain");
        fields.wrong(value, message)
    })
}

/// Reads how a node or the scenario treats damaged segments.
fn acceptance(fields: &Fields<'_>, text: Option<&Text>) -> Result<Option<Acceptance>, PlanError> {
    let Some(text) = text else { return Ok(None) };
    let name = fields.text(text)?;
    let known = Acceptance::named(&name);
    known.map(Some).ok_or_else(|| fields.wrong(text, unknown("lite mode", &name, Acceptance::NAMES)))
}

/// Reads the remote sockets of the node `name`; `None` if its sockets are the kernel's.
fn sockets_of(
    fields: &Fields<'_>,
    file: &SocketsFile,
    name: &str,
    nodes: &[String],
) -> Result<Option<RemoteSockets>, PlanError> {
    let carrier = match &file.carrier {
        None => Carrier::Udp,
        Some(text) => match fields.text(text)?.as_str() {
            "none" => return Ok(None),
            given => Carrier::named(given)
                .ok_or_else(|| fields.wrong(text, unknown("carrier", given, Carrier::NAMES)))?,
        },
    };
    let at = fields.text(&file.at)?;
    let known = || nodes.iter().map(String::as_str);
    let place = nodes.iter().position(|node| *node == at);
    let place = place.ok_or_else(|| fields.wrong(&file.at, unknown("node", &at, known())))?;
    if at == name {
        let message = format!("remote sockets of `{name}` at itself: name the node beyond its last hop");
        return Err(fields.wrong(&file.at, message));
    }
    let report_after = file.report_after.as_ref().map(|text| fields.parsed(text)).transpose()?;
    Ok(Some(RemoteSockets { at: place, carrier, report_after }))
}

/// Reads the split proxy of a node.
fn proxy_of(fields: &Fields<'_>, text: &Text) -> Result<Option<SplitProxy>, PlanError> {
    match fields.text(text)?.as_str() {
        "none" => Ok(None),
        name => SplitProxy::named(name)
            .map(Some)
            .ok_or_else(|| fields.wrong(text, unknown("proxy", name, SplitProxy::NAMES))),
    }
}

/// Checks that the nodes with servers of remote sockets have sockets of their own.
fn check_servers(fields: &Fields<'_>, file: &ScenarioFile, nodes: &[Node]) -> Result<(), PlanError> {
    for node in nodes {
        let Some(RemoteSockets { at, .. }) = node.sockets else { continue };
        if nodes[at].sockets.is_some() {
            let message = format!(
                "`{}` has remote sockets at `{}`, which has remote sockets itself: name a node with its own",
                node.name, nodes[at].name
            );
            let own = file.nodes.iter().find(|its| fields.text(&its.name).is_ok_and(|its| its == node.name));
            return Err(match own.and_then(|its| its.sockets.as_ref()) {
                Some(sockets) => fields.wrong(&sockets.at, message),
                None => fields.wrong_somewhere(message),
            });
        }
    }
    Ok(())
}

/// Checks that all nodes that accept damage do it in the same way: a run has a single judge of
/// segments.
fn check_one_way(fields: &Fields<'_>, file: &ScenarioFile, nodes: &[Node]) -> Result<(), PlanError> {
    let mut accepting = nodes.iter().filter(|node| node.lite != Acceptance::Off);
    let Some(first) = accepting.next() else { return Ok(()) };
    let Some(other) = accepting.find(|node| node.lite != first.lite) else { return Ok(()) };
    let message = format!(
        "node `{}` has lite = `{}`, but node `{}` has lite = `{}`: a run has only one lite mode besides `off`, so use the same mode for both, or `off` for one",
        first.name, first.lite, other.name, other.lite
    );
    // They differ, so at least one of them has its own setting.
    let own = |name: &str| {
        let mut nodes = file.nodes.iter().filter(|node| node.lite.is_some());
        nodes.find(|node| fields.text(&node.name).is_ok_and(|its| its == name))?.lite.as_ref()
    };
    Err(match own(&other.name).or_else(|| own(&first.name)) {
        Some(text) => fields.wrong(text, message),
        None => fields.wrong_somewhere(message),
    })
}

/// Returns the numbers of nodes in their addresses: their names if all are numbers, otherwise their
/// order.
fn number(names: &[String]) -> Vec<u8> {
    let own: Option<Vec<u8>> = names.iter().map(|name| own_number(name)).collect();
    own.unwrap_or_else(|| (1..=253).take(names.len()).collect())
}

/// Returns the number that is the name of a node, from 1 to 253 and written in one way only: the
/// nodes `7` and `07` would have the same address.
fn own_number(name: &str) -> Option<u8> {
    name.parse().ok().filter(|number: &u8| (1..=253).contains(number) && number.to_string() == name)
}

fn check_node_name(fields: &Fields<'_>, text: &Text, name: &str) -> Result<(), PlanError> {
    if own_number(name).is_some() || (is_name(name) && !name.contains(['_', '.']) && name != "localhost") {
        return Ok(());
    }
    Err(fields.wrong(text, format!("`{name}` is not a valid node name: use letters, digits and `-`, as in host names, or a number from 1 to 253")))
}

fn build_link(
    fields: &Fields<'_>,
    scenario: &ScenarioFile,
    file: &LinkFile,
    name: String,
    between: [usize; 2],
    catalogue: &Catalogue,
) -> Result<Link, PlanError> {
    let mut titles = Vec::new();
    let mut profile = LinkProfile::default();
    if let Some(text) = &file.profile {
        let (its, link) =
            catalogue.link(&fields.text(text)?).map_err(|error| fields.wrong(text, error.to_string()))?;
        titles.push(its.name);
        profile = link;
    }
    if let Some(text) = &file.loss {
        let (its, loss) =
            catalogue.loss(&fields.text(text)?).map_err(|error| fields.wrong(text, error.to_string()))?;
        titles.push(its.name);
        profile.add_losses(&loss);
    }
    for (text, direction) in [(&file.up, &mut profile.up), (&file.down, &mut profile.down)] {
        let Some(text) = text else { continue };
        let parameters: Parameters = fields.parsed(text)?;
        parameters
            .apply(direction, &mut catalogue.clone())
            .map_err(|error| fields.wrong(text, error.to_string()))?;
    }
    if let Some(text) = &file.arq {
        let arq = fields.text(text)?;
        profile.set_arq(&arq).map_err(|error| fields.wrong(text, error.to_string()))?;
    }
    // Errors of what is below a link layer are reported at the line that causes them.
    if let Some(text) = file.arq.as_ref().or(file.profile.as_ref())
        && profile.arq.is_some()
    {
        profile.build(&Seed::campaign(0)).map_err(|error| fields.wrong(text, error.to_string()))?;
    }
    if titles.is_empty() {
        titles.push(name.clone());
    }
    let mtu = mtu(fields, file.mtu.as_ref().or(scenario.mtu.as_ref()), profile.mtu)?;
    Ok(Link { name, between, profile, title: titles.join("+"), mtu })
}

fn mtu(fields: &Fields<'_>, text: Option<&Text>, of_profile: Option<u16>) -> Result<u16, PlanError> {
    let Some(text) = text else { return Ok(of_profile.unwrap_or(USUAL_MTU)) };
    let mtu: u16 = fields.parsed(text)?;
    if mtu < LEAST_MTU {
        return Err(fields
            .wrong(text, format!("an MTU of {mtu} bytes is too small: IPv4 needs at least {LEAST_MTU}")));
    }
    Ok(mtu)
}

/// A link from a scenario table.
struct Row {
    name: String,
    nodes: [u8; 2],
    profile: LinkProfile,
}

/// Reads links from a scenario table.
///
/// A row and the next one in the opposite direction are the two directions of one link.
fn table(fields: &Fields<'_>, rows: &[[f64; 6]]) -> Result<Vec<Row>, PlanError> {
    let mut links: Vec<Row> = Vec::new();
    let mut open: Vec<(u8, u8, usize)> = Vec::new();
    for (place, &[link, from, to, megabits, milliseconds, percent]) in rows.iter().enumerate() {
        let wrong =
            |what: String| fields.wrong_somewhere(format!("scenario.table, row {}: {what}", place + 1));
        let node = |value: f64| {
            let usable = value.fract() == 0.0 && (1.0..=253.0).contains(&value);
            if usable {
                Ok(value as u8)
            } else {
                Err(wrong(format!("invalid node number {value}: expected 1 to 253")))
            }
        };
        let (from, to) = (node(from)?, node(to)?);
        let loss = if percent == 0.0 { String::new() } else { format!(",loss={percent}%") };
        let parameters = format!("rate={megabits}mbit,delay={milliseconds}ms{loss}");
        let parameters: Parameters = parameters.parse().map_err(|error| wrong(format!("{error}")))?;
        let paired = open.iter().position(|&(a, b, _)| (a, b) == (to, from)).map(|at| open.remove(at).2);
        let direction = if let Some(number) = paired {
            &mut links[number].profile.down
        } else {
            open.push((from, to, links.len()));
            let row = Row { name: format!("link{link}"), nodes: [from, to], profile: LinkProfile::default() };
            links.push(row);
            &mut links.last_mut().expect("just added").profile.up
        };
        parameters.apply(direction, &mut Catalogue::default()).map_err(|error| wrong(error.to_string()))?;
    }
    match open.first() {
        Some((from, to, _)) => Err(fields.wrong_somewhere(format!(
            "scenario.table has a link from {from} to {to} but none from {to} to {from}: add a row for that direction"
        ))),
        None => Ok(links),
    }
}

/// TCP settings that both a scenario and a node may have.
struct StackFields<'a> {
    stack: Option<&'a Text>,
    congestion_control: Option<&'a Text>,
    receive_window: Option<&'a Text>,
    initial_window: Option<&'a Text>,
    sysctls: &'a BTreeMap<String, Text>,
}

fn of_scenario(file: &ScenarioFile) -> StackFields<'_> {
    StackFields {
        stack: file.stack.as_ref(),
        congestion_control: file.congestion_control.as_ref(),
        receive_window: file.receive_window.as_ref(),
        initial_window: file.initial_window.as_ref(),
        sysctls: &file.sysctls,
    }
}

fn of_node(file: &NodeFile) -> StackFields<'_> {
    StackFields {
        stack: file.stack.as_ref(),
        congestion_control: file.congestion_control.as_ref(),
        receive_window: file.receive_window.as_ref(),
        initial_window: file.initial_window.as_ref(),
        sysctls: &file.sysctls,
    }
}

/// Reads the TCP settings of a node, or of the scenario if there is no `base`.
fn stack(fields: &Fields<'_>, file: &StackFields<'_>, base: Option<&Stack>) -> Result<Stack, PlanError> {
    let generation = match file.stack {
        None => None,
        Some(text) => {
            let name = fields.text(text)?;
            let generation = Generation::named(&name);
            Some(generation.ok_or_else(|| fields.wrong(text, unknown("stack", &name, Generation::names())))?)
        }
    };
    let mut stack = match (generation, base) {
        (None, Some(base)) => base.clone(),
        (generation, _) => generation.unwrap_or(Generation::Modern).stack(),
    };
    if let Some(name) = file.congestion_control {
        stack.congestion_control = fields.text(name)?;
    }
    if let Some(window) = file.receive_window {
        stack.receive_window = Some(fields.parsed(window)?);
    }
    if let Some(window) = file.initial_window {
        stack.initial_window = Some(fields.parsed(window)?);
    }
    for (key, value) in file.sysctls {
        if !key.starts_with("net.") {
            return Err(fields.wrong(
                value,
                format!("sysctl `{key}` cannot be set: a node has only the sysctls below `net.`"),
            ));
        }
        stack.sysctls.push((key.clone(), fields.text(value)?));
    }
    Ok(stack)
}
