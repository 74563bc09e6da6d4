use crate::plan::Plan;
use results::factorial::{Compared, Comparison, TwoLevels};
use results::{Level, Metric};

const PLAN: &str = r#"
[[factors]]
name = "rate"
levels = ["1mbit", "10mbit", "100mbit"]
[[factors]]
name = "delay"
levels = ["5ms", "50ms"]
[[factors]]
name = "system"
levels = ["reno", "cubic"]
[[factors]]
name = "queue"
levels = [5, 50]
[[factors]]
name = "size"
levels = ["10kB"]
[scenario]
[[scenario.links]]
between = ["mobile", "server"]
up = "rate={rate},delay={delay},queue={queue}p"
down = "rate={rate},delay={delay},queue={queue}p"
[[workloads]]
name = "download"
kind = "bulk"
from = "server"
to = "mobile"
bytes = "{size}"
congestion-control = "{system}"

[[analysis.factorial]]
title = "what matters"
metric = "completion"
workload = "download"
levels = { rate = ["100mbit", "1mbit"] }
where = { queue = 5 }
difference = { system = ["cubic", "reno"] }
response = "value"
"#;

fn error(from: &str, to: &str) -> String {
    assert!(PLAN.contains(from), "{from}");
    Plan::parse("plan.toml", &PLAN.replacen(from, to, 1)).expect_err("a wrong plan").to_string()
}

#[test]
fn an_analysis_has_all_factors_with_two_levels_and_no_other_role() {
    let plan = Plan::parse("plan.toml", PLAN).unwrap_or_else(|error| panic!("{error}"));
    let [design] = &plan.factorial[..] else { panic!("one") };
    let two = |factor: &str, first: &str, second: &str| TwoLevels {
        factor: factor.into(),
        levels: [first.into(), second.into()],
    };
    let one = |factor: &str, level: &str| Level { factor: factor.into(), level: level.into() };
    assert_eq!(design.factors, [two("rate", "100mbit", "1mbit"), two("delay", "5ms", "50ms")]);
    assert_eq!(design.fixed, [one("queue", "5"), one("size", "10kB")]);
    let compared = Compared { levels: two("system", "cubic", "reno"), by: Comparison::Difference };
    assert_eq!(design.compared, Some(compared));
    assert_eq!((design.metric, design.cells(), design.log), (Metric::Completion, 4, false));
}

#[test]
fn the_metric_is_goodput_if_nothing_else_is_named() {
    let text = PLAN.replace("metric = \"completion\"\n", "").replace("workload = \"download\"\n", "");
    let plan = Plan::parse("plan.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((plan.factorial[0].metric, &plan.factorial[0].workload), (Metric::Goodput, &None));
}

#[test]
fn errors_name_line_field_value_and_what_would_be_right() {
    let levels = r#"levels = { rate = ["100mbit", "1mbit"] }"#;
    let difference = r#"difference = { system = ["cubic", "reno"] }"#;
    let cases = [
        (r#"metric = "completion""#, r#"metric = "completions""#),
        (r#"workload = "download""#, r#"workload = "upload""#),
        (r#"response = "value""#, r#"response = "ln""#),
        (r#"response = "value""#, r#"response = "log""#),
        (r#"response = "value""#, r#"respons = "value""#),
        (levels, ""),
        (levels, r#"levels = { rat = ["100mbit", "1mbit"] }"#),
        (levels, r#"levels = { rate = ["100mbit", "1 mbit"] }"#),
        (levels, r#"levels = { rate = ["100mbit", "10mbit", "1mbit"] }"#),
        (levels, r#"levels = { rate = ["1mbit", "1mbit"] }"#),
        (levels, r#"levels = { rate = ["100mbit", "1mbit"], queue = [5, 50] }"#),
        ("where = { queue = 5 }", "where = { queue = [5, 50] }"),
        ("where = { queue = 5 }", "where = { queue = { a = 1 } }"),
        ("where = { queue = 5 }", r#"where = { queue = 5, rate = "1mbit", delay = "5ms" }"#),
        (difference, r#"difference = { system = "cubic" }"#),
        (difference, r#"difference = { system = ["cubic", "reno"], delay = ["5ms", "50ms"] }"#),
        (
            difference,
            "difference = { system = [\"cubic\", \"reno\"] }\nratio = { delay = [\"5ms\", \"50ms\"] }",
        ),
        (difference, "difference = { }"),
    ];
    let errors: Vec<_> = cases.iter().map(|(from, to)| error(from, to)).collect();
    insta::assert_snapshot!(errors.join("\n\n"));
}

#[test]
fn a_plan_in_which_nothing_else_varies_has_nothing_to_analyse() {
    let text = PLAN
        .replace(r#"levels = { rate = ["100mbit", "1mbit"] }"#, "")
        .replace("where = { queue = 5 }", r#"where = { queue = 5, rate = "1mbit", delay = "5ms" }"#);
    let message = Plan::parse("plan.toml", &text).expect_err("nothing varies").to_string();
    assert!(
        message.contains("`factorial` with the title `what matters`: no factor of the plan has two levels"),
        "{message}"
    );
}
