//! TCP Lite in a run: its control group, the judge of damaged segments, and its counters.
//!
//! Programs and our own workloads are all in one control group, by which their sockets are
//! recognized. Segments are judged only where they enter the nodes that accept damage.

use super::Job;
use crate::acceptance::Acceptance;
use crate::scenario::Scenario;
use netlab::cgroup::Cgroup;
use netlab::mesh::Mesh;
use results::LiteTotals;
use tcp_lite::{Lite, Mode, Policy, Reason, Settings, Totals};

/// Name of the control group of a run in a kernel of its own.
const GROUP: &str = "lasthop-run";

/// TCP Lite of a run, active if a node accepts damage.
pub struct Accepting {
    lite: Option<Lite>,
}

impl Accepting {
    /// Moves this process into the run's control group and attaches to the group, if a node of
    /// `scenario` accepts damage.
    ///
    /// Sockets that exist already are not affected, so call this before any is created.
    ///
    /// # Errors
    /// If there is no control group, or the kernel refuses.
    pub fn begin(job: &Job, scenario: &Scenario) -> Result<Self, String> {
        let Some(settings) = settings(scenario.acceptance()) else { return Ok(Self { lite: None }) };
        let group = match &job.control_group {
            Some(path) => Ok(Cgroup::existing(path.clone())),
            // In a kernel of its own; the group vanishes with that kernel.
            None => Cgroup::planned(GROUP).and_then(Cgroup::create),
        };
        let group = group.and_then(|group| group.add(std::process::id()).map(|()| group));
        let group = group.map_err(|error| format!("lite = `{}`: {error}", scenario.acceptance()))?;
        let lite = Lite::attach(group.path(), &settings);
        Ok(Self { lite: Some(lite.map_err(|error| format!("lite = `{}`: {error}", scenario.acceptance()))?) })
    }

    /// Judges the segments that enter the nodes that accept damage.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn watch(&mut self, scenario: &Scenario, mesh: &Mesh) -> Result<(), String> {
        let Some(lite) = &mut self.lite else { return Ok(()) };
        for (place, link) in scenario.links.iter().enumerate() {
            for end in link.between.into_iter().filter(|&end| scenario.accepts(end)) {
                let device = link.device(place);
                let watched = mesh.node(end).enter(|| Ok(lite.add_interface(&device)));
                watched.map_err(|error| error.to_string())?.map_err(|error| {
                    format!("lite at node `{}`, link `{}`: {error}", scenario.nodes[end].name, link.name)
                })?;
            }
        }
        Ok(())
    }

    /// Returns the counters.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn totals(&self) -> Result<Option<LiteTotals>, String> {
        let totals = self.lite.as_ref().map(Lite::totals).transpose();
        totals
            .map(|totals| totals.as_ref().map(row))
            .map_err(|error| format!("cannot read the counters of TCP Lite: {error}"))
    }
}

/// Returns the settings of an instance; `None` if none is needed.
fn settings(acceptance: Acceptance) -> Option<Settings> {
    let (mode, policy) = match acceptance {
        Acceptance::Off => return None,
        Acceptance::OnRequest => return Some(Settings::on_request(Mode::Recovery)),
        // No header is repaired in this mode, so there is no risk that a policy could forbid.
        Acceptance::Thesis => (Mode::Thesis, Policy::Normal),
        Acceptance::Recovery(policy) => (Mode::Recovery, policy),
    };
    Some(Settings::for_every_connection(mode, policy))
}

/// Converts the counters for the results.
fn row(totals: &Totals) -> LiteTotals {
    let discarded = Reason::ALL.map(|reason| (reason.name().to_owned(), totals.discarded_for(reason)));
    LiteTotals {
        damaged: totals.damaged,
        accepted: totals.accepted,
        confirmed: totals.confirmed,
        guessed: totals.guessed,
        out_of_order: totals.out_of_order,
        approximate: totals.approximate,
        bytes: totals.bytes,
        unverifiable: totals.unverifiable,
        untracked: totals.untracked,
        discarded: discarded.into_iter().filter(|(_, count)| *count > 0).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_name() {
        let mut totals = Totals::default();
        for (number, count) in totals.discarded.iter_mut().enumerate() {
            *count = 10 * number as u64;
        }
        let discarded = row(&totals).discarded;
        let mut names = results::tcp_lite::REASONS;
        names.sort_unstable();
        assert!(discarded.keys().eq(names.iter()), "those that the results have columns for: {discarded:?}");
        assert_eq!((discarded["empty"], discarded["ip"]), (10, 120));
        assert!(row(&Totals::default()).discarded.is_empty(), "what did not occur is left out");
    }

    #[test]
    fn each_counter_has_its_place() {
        let totals = Totals {
            damaged: 1,
            accepted: 2,
            confirmed: 3,
            guessed: 4,
            out_of_order: 5,
            approximate: 6,
            bytes: 7,
            unverifiable: 8,
            untracked: 9,
            ..Totals::default()
        };
        let expected = LiteTotals {
            damaged: 1,
            accepted: 2,
            confirmed: 3,
            guessed: 4,
            out_of_order: 5,
            approximate: 6,
            bytes: 7,
            unverifiable: 8,
            untracked: 9,
            discarded: std::collections::BTreeMap::new(),
        };
        assert_eq!(row(&totals), expected);
    }

    #[test]
    fn settings_of_each_way() {
        assert!(settings(Acceptance::Off).is_none());
        assert!(settings(Acceptance::OnRequest).is_some_and(|settings| settings.every_connection.is_none()));
        assert!(
            settings(Acceptance::Thesis).is_some_and(|settings| settings.parameters.mode == Mode::Thesis)
        );
        let bold = settings(Acceptance::Recovery(Policy::Bold)).expect("settings");
        assert!(bold.parameters.mode == Mode::Recovery && bold.every_connection == Some(Policy::Bold));
    }
}
