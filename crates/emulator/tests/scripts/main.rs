//! Packet scripts: packets that enter a link and packets that leave it, with times to the
//! nanosecond.
//!
//! `script.rs` describes the format. Each `.pkt` file beside this one runs over the shipped event
//! loop twice: on the simulated driver, and on that of a guest's kernel. Both give the same.

mod harness;
mod script;
mod verdict;
mod world;

use script::{Script, ScriptError};
use std::fs;
use std::path::Path;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripts");

/// Runs a script and returns its mismatches, one line each. Empty if the script holds.
fn verdict(file: &str, text: &str) -> Result<Vec<String>, ScriptError> {
    let script = Script::parse(file, text)?;
    let account = world::run(&script)?;
    let in_kernel = world::run_in_kernel(&script)?;
    assert_eq!(in_kernel, account, "{file}: in the kernel and simulated");
    Ok(verdict::mismatches(&script, &account).iter().map(ToString::to_string).collect())
}

fn holds(name: &str) {
    let file = format!("{name}.pkt");
    let text = fs::read_to_string(Path::new(FOLDER).join(&file)).expect("a script");
    let wrong = verdict(&file, &text).unwrap_or_else(|error| panic!("{error}"));
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

macro_rules! scripts {
    ($($test:ident $name:literal,)*) => {
        $(#[test] fn $test() { holds($name) })*
        const ALL: &[&str] = &[$($name,)*];
    };
}

scripts! {
    back_to_back "back-to-back",
    cellreplay "cellreplay",
    change_of_delay "change-of-delay",
    change_of_rate "change-of-rate",
    counted "counted",
    damage "damage",
    delay_in_order "delay-in-order",
    delay_reordering "delay-reordering",
    delay_slope "delay-slope",
    duplicate "duplicate",
    error_trace "error-trace",
    gsm "gsm",
    hold "hold",
    hold_expiration "hold-expiration",
    hold_reversed "hold-reversed",
    listed_losses "listed-losses",
    llp "llp",
    llp_fragments "llp-fragments",
    loss_of_all "loss-of-all",
    mahimahi "mahimahi",
    outage "outage",
    outage_after "outage-after",
    outage_now "outage-now",
    outage_transmission "outage-transmission",
    queue_burst "queue-burst",
    queue_bytes "queue-bytes",
    queue_codel "queue-codel",
    queue_drop_head "queue-drop-head",
    queue_packets "queue-packets",
    queue_time "queue-time",
    reorder "reorder",
    rlp "rlp",
    rlp_outage "rlp-outage",
    same_instant "same-instant",
    same_instant_arrival "same-instant-arrival",
    serialisation "serialisation",
    theaterq "theaterq",
    two_directions "two-directions",
    two_states "two-states",
    two_states_interval "two-states-interval",
    umts "umts",
    whole_nanoseconds "whole-nanoseconds",
}

#[test]
fn every_script_of_the_folder_runs() {
    let files = fs::read_dir(FOLDER).expect("a folder").flatten().map(|entry| entry.path());
    let scripts = files.filter(|path| path.extension().is_some_and(|ending| ending == "pkt"));
    let mut names: Vec<_> =
        scripts.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect();
    names.sort();
    assert_eq!(names, ALL);
}
