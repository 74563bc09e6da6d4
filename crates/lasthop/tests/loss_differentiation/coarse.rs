//! The cost of a coarse clock: N12 and N8 of ltcp-newzag.

use crate::lab::plan::{air, download};
use crate::lab::{Lab, VIRTUAL};
use capture::senders::LossVerdict;
use results::LossEvent;
use std::fs;

/// Returns the number of newzag's loss events that its detector classified, on a path of 53 ms with
/// 1 % random loss, and the number of those classified as wireless.
fn judged(lab: &Lab, control: &str, quantum_us: u32) -> (usize, usize) {
    let link = "down = \"rate=10mbit,delay=26ms,queue=200p,loss=1%\"\nup = \"rate=10mbit,delay=26ms\"";
    let scenario = format!(
        "[scenario]\ncongestion-control = \"{control}\"\ncongestion-parameters = {{ \"{control}.quantum_us\" = {quantum_us} }}\n"
    );
    let workloads = download("14MB") + "[capture]\nkeep = \"none\"\nlosses = \"all\"\n";
    lab.succeed(&air(link, &workloads).replacen("[scenario]\n", &scenario, 1), VIRTUAL);
    let events = lab.journal()[0]["connections"][0]["losses"].clone();
    let events: Vec<LossEvent> = serde_json::from_value(events).expect("loss events");
    fs::remove_dir_all(lab.path("out")).expect("removed");
    let of_detector: Vec<_> = events.iter().filter(|event| event.by_detector()).collect();
    let wireless = of_detector.iter().filter(|event| event.verdict == Some(LossVerdict::Wireless)).count();
    (of_detector.len(), wireless)
}

/// On a path of 53 ms, a clock of 10 ms reads nearly all round-trip times as 50 ms. If a share p is
/// read as 60, the mean is 50 + 10 p and the deviation 20 p (1 - p). Version 2 then finds every 50
/// below the mean, whatever its cause, as long as there are some 60s. Version 1 finds no 50 below
/// the mean less the deviation, 50 - 10 p + 20 p^2, while p is less than a half. A coarse clock
/// leaves neither of them a basis for a decision.
#[test]
fn a_coarse_clock_tells_nothing_apart() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let [version_2, version_1] = ["newzag", "newzag_v1"].map(|control| {
        [0, 1000, 10_000].map(|quantum_us| {
            let (all, wireless) = judged(&lab, control, quantum_us);
            let share = wireless as f64 / all as f64;
            println!("{control}, {quantum_us:5} us: {wireless:3} of {all:3} random losses taken for wireless, {share:.3}");
            assert!(all >= 60, "{all} loss events");
            share
        })
    });
    assert!(version_2[2] > version_2[0] && version_2[2] > version_2[1], "{version_2:?}");
    assert!(version_1[2] < version_1[0] && version_1[2] < version_1[1], "{version_1:?}");
}
