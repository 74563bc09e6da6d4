//! A small folder of runs, like one from `scripts/results/lite-media`, and its page.

use super::*;
use crate::receive::{Account, Segments};
use crate::report::{Loss, Plan};
use crate::{test_picture, test_sound};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn keep(folder: &Path, place: &str, media: &[u8], seconds: u64, lite: bool) {
    let place = folder.join("received").join(place);
    fs::create_dir_all(&place).expect("a folder");
    let segments = Segments { damaged: 4, accepted: 3, confirmed: 0, discarded: BTreeMap::new() };
    let account = Account {
        url: "http://host.lasthop/file".into(),
        content_type: "image/jpeg".into(),
        lite,
        bytes: media.len(),
        header_bytes: 44,
        nanoseconds: seconds * 1_000_000_000,
        connections: 1,
        segments: lite.then_some(segments),
        damaged_ranges: Vec::new(),
    };
    fs::write(place.join("media"), media).expect("written");
    fs::write(place.join("account.json"), serde_json::to_vec(&account).expect("JSON")).expect("written");
}

/// Returns a collection with one kind of damage and one seed, in which the sound without Lite did
/// not arrive.
fn collection(folder: &Path) -> Collection {
    let picture = test_picture::jpeg(&test_picture::draw()).expect("encoded");
    let mut damaged = picture.clone();
    damaged[60_000..60_040].fill(0x55);
    keep(folder, "picture/some/off/1", &picture, 40, false);
    keep(folder, "picture/some/on/1", &damaged, 4, true);
    let mut sound = test_sound::wav(&test_sound::samples());
    sound[1001] ^= 0x80;
    keep(folder, "sound/some/on/1", &sound, 10, true);
    fs::create_dir_all(folder.join("received/sound/some/off/1")).expect("a folder");
    let loss = Loss { name: "some".into(), title: "a < b".into(), options: "--down ber=1e-5".into() };
    let plan = Plan { link: "--profile umts".into(), losses: vec![loss], seeds: vec![1] };
    Collection::read(folder, plan).expect("read")
}

#[test]
fn what_came_is_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let collection = collection(folder.path());
    let decibels = |sent, lite| collection.cell(sent, 0, lite).map(decibels).next().expect("a run");
    assert_eq!(decibels(Sent::Picture, false).to_bits(), collection.sent_picture.0.to_bits());
    assert!(decibels(Sent::Picture, true) < collection.sent_picture.0);
    assert!(decibels(Sent::Sound, false).is_nan(), "it did not end");
    // One wrong sign bit in ten seconds: 32 768² compared with the power of the signal.
    let power: f64 = test_sound::samples().iter().map(|&sample| f64::from(sample).powi(2)).sum();
    let expected = 10.0 * (power / 32_768_f64.powi(2)).log10();
    assert!((decibels(Sent::Sound, true) - expected).abs() < 1e-9);
    assert_eq!(collection.hidden_damage(Sent::Picture), 0);
}

#[test]
fn a_page_shows_all_of_it_and_needs_no_script() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = html(&collection(folder.path())).expect("a page");
    assert!(!page.contains("<script") && !page.contains("a < b"));
    assert_eq!(page.matches("<h3>a &lt; b</h3>").count(), 1);
    assert_eq!(page.matches("data:image/jpeg;base64,").count(), 2);
    assert_eq!(page.matches("<svg").count(), 2);
    assert!(page.contains("none ended") && page.contains("3 of 4") && page.contains("40.0"));
    assert!(page.contains("Lite on, seed 1: 4.0 s, PSNR "));
}

#[test]
fn files_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = files(&collection(folder.path())).expect("files");
    let names: Vec<_> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["picture.svg", "sound.svg", "table.md", "picture-some.jpg"]);
    let text = |place: usize| String::from_utf8(files[place].1.clone()).expect("text");
    assert!(text(0).starts_with("<?xml") && text(0).contains("fill=\"white\""));
    // One square for the transfer without Lite, one for its median, two in the key; the frame, and
    // the background.
    assert_eq!(text(0).matches("<rect").count(), 6);
    assert_eq!(text(2).lines().count(), 4);
    assert!(text(2).contains("| picture | a < b | 40.0 | 4.0 | 10.0 | "));
}

#[test]
fn a_plan_that_is_none_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("plan.json");
    assert!(Plan::read(&path).expect_err("missing").contains("plan.json"));
    fs::write(&path, r#"{"link": "", "losses": [], "seeds": [], "more": 1}"#).expect("written");
    assert!(Plan::read(&path).expect_err("too much").contains("unknown field `more`"));
}
