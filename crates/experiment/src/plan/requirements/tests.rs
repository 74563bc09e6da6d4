use super::*;
use crate::plan::Plan;

const PLAN: &str = r#"
repetitions = 10
[[factors]]
name = "loss"
levels = ["lite-0", "lite-1", 5]
[[scenario.links]]
between = ["mobile", "server"]
profile = "wifi-b"
loss = "lite-0"
[[workloads]]
name = "download"
kind = "bulk"
from = "server"
to = "mobile"
bytes = "1kB"

# Fast enough.
[[require]]
title = "fast"
metric = "goodput"
where = { loss = ["lite-1", 5] }
at-least = "4 Mbit/s"

[[require]]
title = "no slower than without losses"
metric = "completion"
workload = "download"
where.loss = "lite-1"
against = { loss = "lite-0" }
statistic = "p90"
at-least = 0.5
at-most = "120 %"
confidence = 0.9
"#;

fn plan(text: &str) -> Plan {
    Plan::parse("plan.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

fn error(from: &str, to: &str) -> String {
    assert!(PLAN.contains(from), "{from}");
    Plan::parse("plan.toml", &PLAN.replacen(from, to, 1)).expect_err("a wrong plan").to_string()
}

#[test]
fn a_requirement_has_its_line_and_defaults() {
    let plan = plan(PLAN);
    assert_eq!(plan.max_repetitions, 40);
    let [fast, ratio] = &plan.requirements[..] else { panic!("two") };
    assert_eq!(PLAN.lines().nth(fast.line - 1), Some("[[require]]"));
    assert_eq!(PLAN.lines().nth(ratio.line), Some(r#"title = "no slower than without losses""#));
    assert_eq!((fast.metric, fast.statistic, fast.confidence), (Metric::Goodput, Statistic::MEDIAN, 0.95));
    assert_eq!(fast.of["loss"], Levels::Any(vec!["lite-1".into(), "5".into()]));
    assert_eq!((fast.at_least.as_ref().map(|bound| bound.value), &fast.at_most), (Some(4e6), &None));
    assert_eq!((ratio.statistic, ratio.confidence), (Statistic::Quantile(0.9), 0.9));
    assert_eq!(ratio.bounds_in_words(), "at least 0.5 and at most 120 %");
}

#[test]
fn errors_name_line_field_value_and_what_would_be_right() {
    let cases = [
        (r#"metric = "goodput""#, r#"metric = "godput""#),
        (r#""4 Mbit/s""#, r#""4 s""#),
        (r#""4 Mbit/s""#, r#""fast""#),
        (r#"at-least = "4 Mbit/s""#, ""),
        (r#"{ loss = ["lite-1", 5] }"#, r#"{ loss = ["lite-1", "lite-2"] }"#),
        (r#"{ loss = ["lite-1", 5] }"#, r#"{ los = "lite-1" }"#),
        (r#"{ loss = ["lite-1", 5] }"#, "{ loss = { a = 1 } }"),
        (r#"against = { loss = "lite-0" }"#, r#"against = { loss = ["lite-0", "5"] }"#),
        (r#"against = { loss = "lite-0" }"#, r#"against = { loss = "lite-1" }"#),
        (r#"workload = "download""#, r#"workload = "upload""#),
        (r#"statistic = "p90""#, r#"statistic = "p900""#),
        (r#"statistic = "p90""#, r#"statistic = "max""#),
        ("confidence = 0.9", "confidence = 95"),
        ("confidence = 0.9", r#"confidence = "high""#),
        ("at-least = 0.5", "at-least = 1.5"),
        ("at-least = 0.5", "atleast = 1.5"),
        ("repetitions = 10", "repetitions = 10\nmax-repetitions = 9"),
    ];
    let errors: Vec<_> = cases.iter().map(|(from, to)| error(from, to)).collect();
    insta::assert_snapshot!(errors.join("\n\n"));
}
