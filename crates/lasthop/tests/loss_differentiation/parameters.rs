//! Tests of congestion control parameters in plans, and of the messages for invalid ones.

use crate::lab::plan::{air, download};
use crate::lab::{Lab, VIRTUAL, text};
use crate::states::senders;
use std::fs;

const LINK: &str = "down = \"rate=8mbit,delay=10ms,queue=60p\"\nup = \"rate=8mbit,delay=10ms\"";

/// Returns a download with newzag and these congestion control parameters.
fn plan(parameters: &str) -> String {
    let scenario =
        format!("[scenario]\ncongestion-control = \"newzag\"\ncongestion-parameters = {{ {parameters} }}\n");
    let workloads = download("500kB") + "[capture]\nsenders = \"all\"\n";
    air(LINK, &workloads).replacen("[scenario]\n", &scenario, 1)
}

/// Returns RTT_mean of the sender, in nanoseconds, row by row.
fn means(lab: &Lab, parameters: &str) -> Vec<u64> {
    lab.succeed(&plan(parameters), VIRTUAL);
    let rows = senders(&lab.path("out/events/c000-r00-senders.parquet")).remove(&5001).expect("a sender");
    fs::remove_dir_all(lab.path("out")).expect("removed");
    rows.iter().map(|row| row.loss.mean_ns).collect()
}

/// Without losses the same packets are sent whatever the detector measures, and round-trip times
/// rise while the window grows. A mean that gives less weight to the latest sample lags behind. The
/// default gain is 2^-4.
#[test]
fn a_gain_changes_the_mean() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let [usual, four, two, eight] =
        ["", "\"newzag.gain\" = 4", "\"newzag.gain\" = 2", "\"newzag.gain\" = 8"].map(|set| means(&lab, set));
    assert!(usual.len() > 50 && usual == four, "{} rows", usual.len());
    let later = usual.len() - 20;
    for row in later..later + 10 {
        assert!(
            eight[row] < four[row] && four[row] < two[row],
            "row {row}: {} {} {}",
            eight[row],
            four[row],
            two[row]
        );
    }
}

/// Each kernel starts with the default values: a run does not leave its values to the next one.
#[test]
fn a_wrong_parameter_is_a_failed_run() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let has = "(parameters of `newzag`: gain, ";
    for (parameters, message) in [
        (
            "\"newsag.gain\" = 4",
            "congestion-parameters `newsag.gain`: this kernel has no module `newsag` with parameters",
        ),
        ("\"newzag.gian\" = 4", "cannot set congestion-parameters `newzag.gian` to `4`: "),
        ("\"newzag.gain\" = \"much\"", "cannot set congestion-parameters `newzag.gain` to `much`: "),
    ] {
        let output = lab.run(&plan(parameters), VIRTUAL);
        assert_eq!(output.status.code(), Some(1), "{parameters}");
        let run = &lab.journal()[0]["run"];
        let said = run.to_string();
        assert_eq!(run["verdict"], "failed", "{said}");
        assert!(said.contains(message), "{said}");
        assert!(
            message.contains("no module") || said.contains(has) && said.contains("wireless_percent"),
            "{said}"
        );
        assert!(text(&output.stderr).contains(message), "{}", text(&output.stderr));
        fs::remove_dir_all(lab.path("out")).expect("removed");
    }
}

/// The parameters apply to a whole host.
#[test]
fn a_host_keeps_its_parameters() {
    let Some(lab) = Lab::new() else { return };
    let plan =
        plan("\"newzag.gain\" = 4").replace("\"newzag\"\n", "\"reno\"\n").replace("senders = \"all\"", "");
    let output = lab.run(&plan, &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    let refused = "congestion-parameters `newzag.gain` applies to the whole host, so a run does not set it: use `--clock virtual`, or load \
                   the congestion control with it (`lasthop cc load newzag gain=4`)";
    assert!(said.contains(refused), "{said}");
}
