//! TOML blocks: each says what it is, and is read as that.

use crate::page::{Block, Content, Page};
use std::process::Command;
use toml::{Table, Value};

/// A plan that parts of plans are added to: their keys replace those of this one.
const BASE: &str = r#"
[[scenario.links]]
name = "air"
between = ["mobile", "server"]
profile = "umts"
[[workloads]]
name = "download"
kind = "bulk"
from = "server"
to = "mobile"
bytes = "1MB"
"#;

/// Checks all TOML blocks of a page.
pub fn check(page: &Page) -> Result<(), String> {
    let mut wrong = Vec::new();
    for block in &page.blocks {
        if let Content::Toml(kind, _) = &block.content
            && let Err(why) = read(kind, block)
        {
            wrong.push(format!("{}:{}: {why}", page.path, block.line));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

fn read(kind: &str, block: &Block) -> Result<(), String> {
    let parsed: Table = block.text.parse().map_err(|error| format!("not TOML: {error}"))?;
    match kind {
        "plan" => accepted(&["run", "--list"], &block.text),
        "plan-part" => {
            let mut whole: Table = BASE.parse().map_err(|error| format!("the base: {error}"))?;
            merge(&mut whole, parsed);
            accepted(&["run", "--list"], &whole.to_string())
        }
        "profile" => accepted(&["profiles"], &block.text),
        "policy" => {
            resoa_policy::Policy::parse("policy", &block.text).map(|_| ()).map_err(|error| error.to_string())
        }
        // Read by the commands of the same page.
        "other" => Ok(()),
        _ => Err(format!(
            "say what this TOML is: ```toml plan, plan-part, profile, policy or other, not \"{kind}\""
        )),
    }
}

/// Adds `part` to `whole`: tables are merged, and all other values replaced.
fn merge(whole: &mut Table, part: Table) {
    for (key, value) in part {
        match (whole.get_mut(&key), value) {
            (Some(Value::Table(inner)), Value::Table(part)) => merge(inner, part),
            (_, value) => {
                whole.insert(key, value);
            }
        }
    }
}

/// Runs `lasthop ARGUMENTS FILE` on a file with this text.
fn accepted(arguments: &[&str], text: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = folder.path().join("page.toml");
    std::fs::write(&file, text).map_err(|error| error.to_string())?;
    let ran = Command::new(env!("CARGO_BIN_EXE_lasthop"))
        .args(arguments)
        .arg(&file)
        .current_dir(folder.path())
        .output()
        .map_err(|error| error.to_string())?;
    if ran.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&ran.stderr).into_owned()) }
}
