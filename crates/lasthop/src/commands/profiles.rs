//! `lasthop profiles`: lists the built-in profiles, or shows one in full.

use crate::arguments::ProfilesArguments;
use crate::failure::Failure;
use experiment::catalogue::{self, Catalogue};
use link::Direction;
use link::profile::{Content, Profile};
use serde_json::json;

/// Lists the profiles, or shows one.
pub fn run(arguments: &ProfilesArguments) -> Result<i32, Failure> {
    match &arguments.name {
        Some(name) => show(&Catalogue::default().find(name)?, arguments.json)?,
        None => list(&catalogue::all()?, arguments.json)?,
    }
    Ok(0)
}

const fn kind(profile: &Profile) -> &'static str {
    match profile.content {
        Content::Link(_) => "link",
        Content::Loss(_) => "loss",
    }
}

/// Describes a profile direction by direction.
fn directions(profile: &Profile) -> Vec<(&'static str, String)> {
    match &profile.content {
        Content::Link(link) => {
            Direction::BOTH.map(|direction| (direction.name(), link.described(direction))).into()
        }
        Content::Loss(loss) => {
            loss.directions.iter().map(|direction| (direction.name(), loss.errors.to_string())).collect()
        }
    }
}

fn list(profiles: &[Profile], json: bool) -> Result<(), Failure> {
    if json {
        let all: Vec<_> = profiles.iter().map(object).collect();
        anstream::println!("{}", serde_json::to_string(&all)?);
        return Ok(());
    }
    for (wanted, heading) in [("link", "Link profiles (--profile)"), ("loss", "Loss profiles (--loss)")] {
        anstream::println!("{heading}:");
        for profile in profiles.iter().filter(|profile| kind(profile) == wanted) {
            anstream::println!("  {:<12} {}", profile.name, profile.title);
        }
    }
    anstream::println!("\n`lasthop profiles NAME` shows one in full, with its source.");
    Ok(())
}

fn object(profile: &Profile) -> serde_json::Value {
    let directions: serde_json::Map<_, _> =
        directions(profile).into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect();
    json!({
        "name": profile.name,
        "kind": kind(profile),
        "title": profile.title,
        "source": profile.source,
        "note": profile.note,
        "directions": directions,
        "claims": profile.claims.iter().map(|claim| json!({
            "quantity": claim.quantity,
            "direction": claim.direction,
            "percentile": claim.percentile,
            "value": claim.value,
            "source": claim.source,
        })).collect::<Vec<_>>(),
    })
}

fn show(profile: &Profile, json: bool) -> Result<(), Failure> {
    if json {
        anstream::println!("{}", serde_json::to_string(&object(profile))?);
        return Ok(());
    }
    anstream::println!("{} ({} profile): {}", profile.name, kind(profile), profile.title);
    if let Content::Link(link) = &profile.content
        && let Some(mtu) = link.mtu
    {
        anstream::println!("  mtu   {mtu}");
    }
    for (direction, text) in directions(profile) {
        anstream::println!("  {direction:<5} {text}");
    }
    anstream::println!("\nSource: {}", profile.source.trim());
    if let Some(note) = &profile.note {
        anstream::println!("\n{}", note.trim());
    }
    if !profile.claims.is_empty() {
        anstream::println!("\nValues that the source states and a test reproduces:");
        for claim in &profile.claims {
            let percentile =
                claim.percentile.map(|percent| format!(" {percent}th percentile")).unwrap_or_default();
            let direction = claim.direction.as_deref().unwrap_or("both");
            anstream::println!(
                "  {direction:<5} {}{percentile} {} ({})",
                claim.quantity,
                claim.value,
                claim.source
            );
        }
    }
    Ok(())
}
