//! `lasthop tcp-lite attach`, `status` and `detach`.

use super::arguments::AttachArguments;
use super::summary::lines;
use crate::failure::Failure;
use netlab::{Namespace, cgroup, interface};
use serde_json::json;
use std::collections::BTreeMap;
use tcp_lite::pinned::{self, Attachment};
use tcp_lite::{Lite, Mode, Reason, Settings};

/// Exit status of `status` if nothing is attached.
const NOTHING: i32 = 1;

/// Attaches TCP Lite, which stays attached after this command.
pub fn attach(arguments: &AttachArguments) -> Result<i32, Failure> {
    super::check_interfaces(&arguments.interface)?;
    let settings = Settings {
        every_connection: arguments.every_connection.then(|| arguments.rule.policy()),
        parameters: arguments.rule.parameters(),
    };
    let mut lite = Lite::attach(&arguments.cgroup, &settings)?;
    for interface in &arguments.interface {
        lite.add_interface(interface)?;
    }
    pinned::keep(lite, &arguments.name)?;
    anstream::eprintln!(
        "lasthop: TCP Lite is attached as `{}` to new connections of {} over {}",
        arguments.name,
        arguments.cgroup.display(),
        arguments.interface.join(", ")
    );
    Ok(0)
}

/// Removes an attachment.
pub fn detach(name: &str) -> Result<i32, Failure> {
    pinned::detach(name)?;
    anstream::eprintln!("lasthop: TCP Lite `{name}` is detached");
    Ok(0)
}

/// Prints the attachments and their counters.
pub fn status(json: bool) -> Result<i32, Failure> {
    let attachments = pinned::list()?;
    let names: BTreeMap<u32, String> = interface::list(&Namespace::current()?)?
        .into_iter()
        .map(|interface| (interface.index, interface.name))
        .collect();
    let name_of = |index: &u32| names.get(index).cloned().unwrap_or_else(|| format!("interface {index}"));
    for attachment in &attachments {
        let interfaces: Vec<_> = attachment.interfaces.iter().map(name_of).collect();
        let group = cgroup::find(attachment.control_group).map_or_else(
            || format!("control group {}", attachment.control_group),
            |path| path.display().to_string(),
        );
        if json {
            anstream::println!("{}", as_json(attachment, &interfaces, &group));
        } else {
            let Attachment { name, connections, lite, .. } = attachment;
            let thesis = if attachment.mode == Mode::Thesis { ", headers trusted" } else { "" };
            anstream::println!("{name}: {group} over {}{thesis}", interfaces.join(", "));
            anstream::println!("  {connections} connections, {lite} of them accept damage");
            for line in lines(&attachment.totals) {
                anstream::println!("  {line}");
            }
        }
    }
    if attachments.is_empty() {
        anstream::eprintln!("lasthop: TCP Lite is not attached");
        return Ok(NOTHING);
    }
    Ok(0)
}

fn as_json(attachment: &Attachment, interfaces: &[String], group: &str) -> serde_json::Value {
    let totals = &attachment.totals;
    let discarded: BTreeMap<_, _> =
        Reason::ALL.into_iter().map(|reason| (reason.name(), totals.discarded_for(reason))).collect();
    json!({
        "name": attachment.name,
        "mode": if attachment.mode == Mode::Thesis { "thesis" } else { "recovery" },
        "control_group": group,
        "interfaces": interfaces,
        "connections": attachment.connections,
        "lite_connections": attachment.lite,
        "damaged": totals.damaged,
        "accepted": totals.accepted,
        "confirmed": totals.confirmed,
        "guessed": totals.guessed,
        "out_of_order": totals.out_of_order,
        "approximate": totals.approximate,
        "bytes": totals.bytes,
        "unverifiable": totals.unverifiable,
        "untracked": totals.untracked,
        "discarded": discarded,
    })
}
