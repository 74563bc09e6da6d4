//! The caller's firewall: chains of others that drop forwarded packets by policy, as those of
//! Docker and ufw do.
//!
//! An `accept` in a table of ours cannot overrule them: a packet must pass all tables. So each such
//! chain gets two rules for the link's device, in front of its own. They carry the device's name as
//! their comment, by which they are found again.
//!
//! A firewall that drops packets by a rule instead of a policy is not recognized.

use super::{installed, run};
use crate::Namespace;
use crate::error::{Error, Result};
use serde::Deserialize;
use std::fmt::{self, Write as _};
use std::path::Path;

/// A chain of another program that drops forwarded packets by policy.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DroppingChain {
    family: String,
    table: String,
    name: String,
}

impl fmt::Display for DroppingChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, table, name } = self;
        write!(f, "{family} {table} {name}")
    }
}

/// The output of `nft --json` (libnftables-json(5)).
#[derive(Deserialize)]
struct Listing {
    nftables: Vec<Object>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Object {
    chain: Option<ChainObject>,
    rule: Option<RuleObject>,
}

#[derive(Deserialize)]
struct ChainObject {
    #[serde(flatten)]
    chain: DroppingChain,
    hook: Option<String>,
    policy: Option<String>,
}

#[derive(Deserialize)]
struct RuleObject {
    family: String,
    table: String,
    chain: String,
    handle: u64,
    comment: Option<String>,
}

/// Returns the chains in `namespace` that drop forwarded packets by policy.
///
/// # Errors
/// If nft is missing or fails.
pub fn dropping_chains(namespace: &Namespace) -> Result<Vec<DroppingChain>> {
    let objects = list(&installed()?, namespace, "chains")?;
    let drops =
        |its: &ChainObject| its.hook.as_deref() == Some("forward") && its.policy.as_deref() == Some("drop");
    Ok(objects.into_iter().filter_map(|object| object.chain).filter(drops).map(|its| its.chain).collect())
}

/// Lets the packets of `device` pass these chains; all of them or none.
///
/// # Errors
/// If a chain belongs to a running program that allows no changes.
pub fn add(namespace: &Namespace, device: &str, chains: &[DroppingChain]) -> Result<()> {
    let mut text = String::new();
    for chain in chains {
        for side in ["iifname", "oifname"] {
            let _ = writeln!(text, "insert rule {chain} {side} \"{device}\" accept comment \"{device}\"");
        }
    }
    run(&installed()?, namespace, &["-f", "-"], &text).map(|_| ())
}

/// Removes the rules that [`add`] added for `device`; returns how many there were.
///
/// # Errors
/// If nft is missing or fails.
pub fn remove(namespace: &Namespace, device: &str) -> Result<usize> {
    let nft = installed()?;
    let of_device = |rule: &RuleObject| rule.comment.as_deref() == Some(device);
    let objects = list(&nft, namespace, "ruleset")?;
    let rules: Vec<_> = objects.into_iter().filter_map(|object| object.rule).filter(of_device).collect();
    let mut text = String::new();
    for RuleObject { family, table, chain, handle, .. } in &rules {
        let _ = writeln!(text, "delete rule {family} {table} {chain} handle {handle}");
    }
    if !rules.is_empty() {
        run(&nft, namespace, &["-f", "-"], &text)?;
    }
    Ok(rules.len())
}

fn list(nft: &Path, namespace: &Namespace, what: &str) -> Result<Vec<Object>> {
    let text = run(nft, namespace, &["--json", "list", what], "")?;
    let listing: Listing = serde_json::from_str(&text).map_err(|error| Error::Program {
        program: format!("nft --json list {what}"),
        message: error.to_string(),
    })?;
    Ok(listing.nftables)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As nft 1.0.6 prints them.
    #[test]
    fn objects_of_nft() {
        let text = r#"{"nftables": [
            {"metainfo": {"version": "1.0.6", "json_schema_version": 1}},
            {"chain": {"family": "ip", "table": "filter", "name": "DOCKER", "handle": 3}},
            {"chain": {"family": "ip", "table": "filter", "name": "FORWARD", "handle": 2, "type": "filter",
                       "hook": "forward", "prio": 0, "policy": "drop"}},
            {"rule": {"family": "ip", "table": "filter", "chain": "FORWARD", "handle": 7,
                      "comment": "lasthop-1", "expr": [{"accept": null}]}}]}"#;
        let listing: Listing = serde_json::from_str(text).expect("objects");
        let chains: Vec<_> = listing.nftables.iter().filter_map(|object| object.chain.as_ref()).collect();
        assert_eq!((chains[0].policy.as_deref(), chains[1].policy.as_deref()), (None, Some("drop")));
        assert_eq!(chains[1].chain.to_string(), "ip filter FORWARD");
        let rule = listing.nftables[3].rule.as_ref().expect("a rule");
        assert_eq!((rule.handle, rule.comment.as_deref()), (7, Some("lasthop-1")));
    }
}
