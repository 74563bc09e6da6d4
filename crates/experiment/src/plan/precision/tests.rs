use crate::plan::Plan;
use results::precision::LookAt;
use results::{Levels, Metric};

const PLAN: &str = r#"
repetitions = 30
max-repetitions = 63
[[factors]]
name = "transport"
levels = ["tcp", "split", "sockets"]
[[factors]]
name = "size"
levels = ["10kB", "100kB"]
[[scenario.links]]
between = ["mobile", "server"]
profile = "wifi-b"
[[workloads]]
name = "page"
kind = "bulk"
from = "server"
to = "mobile"
bytes = "{size}"

[precision]
metric = "completion"
workload = "page"
where = { size = "100kB" }
against = { transport = "tcp" }
within = "2 %"
confidence = 0.99
looks = "every"
"#;

fn plan(text: &str) -> Plan {
    Plan::parse("plan.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_rule_has_its_fields_and_defaults() {
    let rule = plan(PLAN).precision.expect("a rule");
    assert_eq!((rule.metric, rule.workload.as_deref()), (Metric::Completion, Some("page")));
    assert_eq!(rule.of["size"], Levels::One("100kB".into()));
    assert_eq!(rule.against.expect("one")["transport"], Levels::One("tcp".into()));
    assert_eq!((rule.within, rule.confidence, rule.looks), (0.02, 0.99, LookAt::Every));
    let from = PLAN.find("metric").expect("a field");
    let short = format!("{}within = \"5 %\"\n", &PLAN[..from]);
    let rule = plan(&short).precision.expect("a rule");
    assert_eq!((rule.metric, rule.workload, rule.against), (Metric::Goodput, None, None));
    assert_eq!((rule.within, rule.confidence, rule.looks), (0.05, 0.95, LookAt::Few));
    assert_eq!(plan(&PLAN[..PLAN.find("[precision]").expect("one")]).precision, None);
}

#[test]
fn errors_name_line_field_value_and_what_would_be_right() {
    let against = r#"against = { transport = "tcp" }"#;
    let cases = [
        (r#"metric = "completion""#, r#"metric = "completions""#),
        (r#"workload = "page""#, r#"workload = "pgae""#),
        (r#"size = "100kB" }"#, r#"size = "1MB" }"#),
        (against, r#"against = { transprot = "tcp" }"#),
        (against, r#"against = { transport = ["tcp", "split"] }"#),
        (against, r#"against = { transport = ["tcp", "split", "sockets"] }"#),
        (r#"within = "2 %""#, "within = 2"),
        ("confidence = 0.99", "confidence = 99"),
        (r#"looks = "every""#, r#"looks = "each""#),
        ("repetitions = 30", "repetitions = 5"),
        ("within", "withing"),
    ];
    let mut all = String::new();
    for (from, to) in cases {
        assert!(PLAN.contains(from), "{from}");
        let error = Plan::parse("plan.toml", &PLAN.replacen(from, to, 1)).expect_err("a wrong plan");
        all = format!("{all}{error}\n\n");
    }
    insta::assert_snapshot!(all);
}
