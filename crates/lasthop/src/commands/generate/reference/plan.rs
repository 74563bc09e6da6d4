//! The page of a plan's keys, from the JSON schema of plans.

use super::{Page, cell, table};
use crate::failure::Failure;
use experiment::plan::file::PlanFile;
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// Returns the page.
pub fn page() -> Result<Page, Failure> {
    let schema = serde_json::to_value(schemars::schema_for!(PlanFile))?;
    let mut body = String::from(
        "Every text may contain `{NAME}` for the level of a factor, except those in `[[factors]]` and\n\
         `[[expect]]`. Quantities have a unit: `\"4MB\"`, `\"384kbit\"`, `\"70ms\"`. `lasthop run --list PLAN`\n\
         reports a wrong key with its file and line.\n\n## Plan\n\n",
    );
    let mut later = Vec::new();
    body += &keys(&schema, &schema, "", &mut later);
    let mut at = 0;
    while at < later.len() {
        let (heading, name, is_list): (String, String, bool) = later[at].clone();
        let definition = &schema["$defs"][&name];
        let brackets = if is_list { format!("[[{heading}]]") } else { format!("[{heading}]") };
        let _ = writeln!(body, "\n## {brackets}\n\n{}\n", text(definition));
        body += &keys(definition, &schema, &heading, &mut later);
        at += 1;
    }
    Ok(Page {
        file: "plan-keys.md".to_owned(),
        title: "Keys of a plan".to_owned(),
        about:
            "This page lists every key that a plan of `lasthop run` can have. You need it to write a plan; \
                [Plans](../../experiments/README.md) explains how the keys work together."
                .to_owned(),
        body,
    })
}

/// Returns the table of an object's keys. Adds objects that it refers to, with their headings, to
/// `later`.
fn keys(object: &Value, schema: &Value, heading: &str, later: &mut Vec<(String, String, bool)>) -> String {
    let empty = Map::new();
    let properties = object["properties"].as_object().unwrap_or(&empty);
    let is_required =
        |key: &str| object["required"].as_array().is_some_and(|keys| keys.iter().any(|name| name == key));
    let rows = properties.iter().map(|(key, property)| {
        let path = if heading.is_empty() { key.clone() } else { format!("{heading}.{key}") };
        let mut kind = kind(property);
        if let Some((name, is_list)) = referred(property)
            && schema["$defs"][&name]["properties"].is_object()
        {
            kind = if is_list { "list of tables".to_owned() } else { "table".to_owned() };
            let entry = (path, name, is_list);
            if !later.contains(&entry) {
                later.push(entry);
            }
        }
        let required = if is_required(key) { "required" } else { "" };
        [format!("`{key}`"), kind, required.to_owned(), cell(&text(property))]
    });
    table(["key", "value", "", "meaning"], rows)
}

/// Returns the definition that a property refers to, and whether it is a list of them.
fn referred(property: &Value) -> Option<(String, bool)> {
    let name = |value: &Value| Some(value["$ref"].as_str()?.rsplit('/').next()?.to_owned());
    if let Some(name) = name(property) {
        return Some((name, false));
    }
    if let Some(name) = name(&property["items"]) {
        return Some((name, true));
    }
    property["anyOf"].as_array()?.iter().find_map(name).map(|name| (name, false))
}

/// Returns the type of a property's values in words.
fn kind(property: &Value) -> String {
    let one = |kind: &str| match kind {
        "array" => Some("list"),
        "object" => Some("table"),
        "integer" | "number" => Some("number"),
        "boolean" => Some("true or false"),
        "string" => Some("text"),
        _ => None,
    };
    match &property["type"] {
        Value::String(kind) => one(kind).unwrap_or("any").to_owned(),
        // `Text` accepts numbers and booleans, so that `{name}` can stand for them.
        Value::Array(kinds) if kinds.iter().any(|kind| kind == "string") => "text".to_owned(),
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).find_map(one).unwrap_or("any").to_owned()
        }
        _ => "any".to_owned(),
    }
}

fn text(value: &Value) -> String {
    value["description"].as_str().unwrap_or_default().to_owned()
}
