//! Undoing what a state lists, in reverse order.
//!
//! Objects may be gone already, as a namespace takes its tables with it; this is no error. A
//! failure is reported and does not prevent the rest from being undone.

use super::{Locked, Made, Registry, State};
use crate::attachment::detach;
use crate::cgroup::{self, Cgroup};
use crate::{Error, Namespace, interface, nat, process, sysctl};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(5);

/// Undoes all that `state` lists and removes its directory; returns one line for each object
/// undone.
///
/// `held` are the run's namespaces, for callers that keep them open. Others are found if a process
/// is in them.
pub(super) fn undo(registry: &Registry, locked: &Locked, state: &State, held: &[Namespace]) -> Vec<String> {
    let mut lines = Vec::new();
    let outside = state.outside.and_then(super::NamespaceId::find);
    let places = Places { held, outside: outside.as_ref() };
    if let Some(inside) = state.inside {
        for process in process::of_run(&state.id, inside) {
            if process.kill(PATIENCE) {
                lines.push(format!("killed process {} of link {}", process.pid, state.id));
            }
        }
    }
    for made in state.made.iter().rev() {
        match undo_one(registry, locked, state, places, made) {
            Ok(line) => lines.extend(line),
            Err(error) => lines.push(format!("link {}: {error}", state.id)),
        }
    }
    let directory = registry.path().join(&state.id);
    match locked.folder.remove_all(&state.id) {
        Ok(()) => lines.push(format!("removed {}", directory.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => lines.push(format!("cannot remove {}: {error}", directory.display())),
    }
    registry.leave_nothing(locked);
    lines
}

/// The namespaces of a run.
#[derive(Clone, Copy)]
struct Places<'a> {
    /// Those of its own that are kept open.
    held: &'a [Namespace],
    /// That of the caller, if it still exists.
    outside: Option<&'a Namespace>,
}

impl Places<'_> {
    /// Returns a namespace of the run, if it still exists.
    fn find(self, id: super::NamespaceId) -> Option<Namespace> {
        match self.held.iter().find(|namespace| id.is(namespace)) {
            Some(held) => held.try_clone().ok(),
            None => id.find(),
        }
    }
}

fn undo_one(
    registry: &Registry,
    _locked: &Locked,
    state: &State,
    places: Places<'_>,
    made: &Made,
) -> crate::Result<Option<String>> {
    match (made, places.outside) {
        _ if !is_ours(state, made) => {
            let what = format!("the state lists {made:?}, which lasthop never creates");
            Err(Error::missing(what, "check it, and undo it by hand"))
        }
        (Made::Table { name }, Some(outside)) => {
            Ok(nat::remove(outside, name)?.then(|| format!("removed the nftables table {name}")))
        }
        (Made::Sysctl { key, former }, Some(outside)) => {
            if needed_by_others(registry, state, key)? || sysctl::read(outside, key)? == *former {
                return Ok(None);
            }
            sysctl::write(outside, key, former)?;
            Ok(Some(format!("set {key} back to {former}")))
        }
        (Made::FirewallRules { device }, Some(outside)) => {
            let removed = nat::firewall::remove(outside, device)?;
            Ok((removed > 0).then(|| format!("removed {removed} rules for {device} from the firewall")))
        }
        // The namespace is gone, and its tables, rules and sysctls with it. No interface can be
        // moved back to it.
        (
            Made::Table { .. }
            | Made::FirewallRules { .. }
            | Made::Sysctl { .. }
            | Made::MovedInterface { .. },
            None,
        ) => Ok(None),
        (Made::MovedInterface { interface, is_up, namespace }, Some(outside)) => {
            // Without that namespace, the kernel has moved it back.
            let Some(from) = places.find(*namespace) else { return Ok(None) };
            let moved = detach(&from, outside, interface, *is_up)?;
            Ok(moved.then(|| format!("moved the interface {interface} back")))
        }
        (Made::VethPair { interface: name, namespace }, _) => {
            let Some(its) = places.find(*namespace) else { return Ok(None) };
            let Ok(found) = interface::find(&its, name) else { return Ok(None) };
            interface::remove(&its, found.index)?;
            Ok(Some(format!("removed the interface {name} and its other end")))
        }
        (Made::Cgroup { path }, _) => {
            let group = Cgroup::existing(path.clone());
            if !path.exists() {
                return Ok(None);
            }
            group.kill()?;
            group.remove()?;
            Ok(Some(format!("removed the control group {}", path.display())))
        }
        (Made::Process { process, what }, _) => {
            Ok(process.kill(PATIENCE).then(|| format!("killed {what} (process {})", process.pid)))
        }
    }
}

/// Returns whether runs make such objects: a wrong state is no reason to remove anything else.
fn is_ours(state: &State, made: &Made) -> bool {
    match made {
        Made::Table { name } => {
            let first = nat::table(&format!("lasthop-{}", state.id));
            name.strip_prefix(&first).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        }
        Made::FirewallRules { device } => {
            let first = format!("lasthop-{}", state.id);
            device.strip_prefix(&first).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        }
        Made::Sysctl { key, .. } => nat::sysctls(true).iter().any(|(known, _)| known == key),
        Made::Cgroup { path } => !path.exists() || cgroup::is_of_a_run(path),
        Made::Process { .. } | Made::MovedInterface { .. } | Made::VethPair { .. } => true,
    }
}

/// Returns whether another run, dead or alive, still lists `key` in the same namespace.
///
/// The last run to be undone restores the value. All of them remember the same former value (see
/// [`remembered`]).
fn needed_by_others(registry: &Registry, state: &State, key: &str) -> crate::Result<bool> {
    let others = registry.list()?;
    Ok(others.iter().any(|other| other.id != state.id && lists(other, state.outside, key).is_some()))
}

/// Returns the value of `key` in `outside` before the first of the runs that now change it.
pub(crate) fn remembered(
    registry: &Registry,
    outside: super::NamespaceId,
    key: &str,
) -> crate::Result<Option<String>> {
    Ok(registry.list()?.iter().find_map(|other| lists(other, Some(outside), key)))
}

fn lists(state: &State, outside: Option<super::NamespaceId>, key: &str) -> Option<String> {
    if state.outside != outside {
        return None;
    }
    state.made.iter().find_map(|made| match made {
        Made::Sysctl { key: its, former } if its == key => Some(former.clone()),
        _ => None,
    })
}
