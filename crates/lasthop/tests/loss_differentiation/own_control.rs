//! Tests that a workload's own congestion control is used by its connections, at the sending end.

use crate::lab::plan::air;
use crate::lab::{Lab, VIRTUAL};
use serde_json::Value;

/// Nodes with reno, and three workloads with other congestion controls or none of their own.
fn plan(others: [&str; 2]) -> String {
    let [bulk, request] = others;
    let workloads = format!(
        "[[workloads]]\nname = \"bulk\"\nkind = \"bulk\"\nfrom = \"server\"\nto = \"mobile\"\nbytes = \"300kB\"\nconnections = 2\n\
         congestion-control = \"{bulk}\"\n\
         [[workloads]]\nname = \"request\"\nkind = \"request\"\nfrom = \"mobile\"\nto = \"server\"\nresponse = \"60kB\"\ntimes = 2\n\
         congestion-control = \"{request}\"\n\
         [[workloads]]\nname = \"node's\"\nkind = \"bulk\"\nfrom = \"server\"\nto = \"mobile\"\nbytes = \"100kB\"\n"
    );
    let link = "down = \"rate=8mbit,delay=5ms\"\nup = \"rate=8mbit,delay=5ms\"";
    air(link, &workloads).replacen("[scenario]\n", "[scenario]\ncongestion-control = \"reno\"\n", 1)
}

/// Each workload, and the congestion control of its connection at the end.
fn had(lab: &Lab) -> Vec<(String, String)> {
    let journal = lab.journal();
    let text = |row: &Value, field: &str| row[field].as_str().expect("a text").to_owned();
    let rows = journal[0]["connections"].as_array().expect("rows");
    rows.iter().map(|row| (text(row, "workload"), text(row, "congestion_control"))).collect()
}

fn expected(others: [&str; 2]) -> Vec<(String, String)> {
    let [bulk, request] = others;
    let rows =
        [("bulk", bulk), ("bulk", bulk), ("request", request), ("request", request), ("node's", "reno")];
    rows.map(|(workload, control)| (workload.to_owned(), control.to_owned())).to_vec()
}

#[test]
fn connections_have_it_by_the_real_clock() {
    let Some(lab) = Lab::new() else { return };
    // Controls that every kernel has; `cubic` is allowed wherever it is not built as a module.
    let others = ["cubic", "cubic"];
    lab.succeed(&plan(others), &[]);
    assert_eq!(had(&lab), expected(others));
}

#[test]
fn connections_have_it_by_the_virtual_clock() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let others = ["newzag", "lh-veno"];
    lab.succeed(&plan(others), VIRTUAL);
    assert_eq!(had(&lab), expected(others));
}
