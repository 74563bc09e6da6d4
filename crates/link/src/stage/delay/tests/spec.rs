//! Tests of the notation of delays in a profile.

use super::*;
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Profile {
    delay: DelaySpec,
}

fn read(value: &str) -> DelaySpec {
    let toml = format!("delay = {value}");
    toml::from_str::<Profile>(&toml).unwrap_or_else(|error| panic!("{toml}: {error}")).delay
}

fn refused(value: &str) -> String {
    let toml = format!("delay = {value}");
    match toml::from_str::<Profile>(&toml) {
        Err(error) => error.to_string(),
        Ok(profile) => Delay::new(profile.delay, &Seed::campaign(1)).expect_err(value).to_string(),
    }
}

#[test]
fn what_is_written_reads_back() {
    for value in [
        "\"70ms\"",
        "{ kind = \"constant\", delay = \"70ms\", reorder = true }",
        "{ kind = \"uniform\", mean = \"40ms\", jitter = \"10ms\" }",
        "{ kind = \"normal\", mean = \"40ms\", sd = \"10ms\", reorder = true }",
        "{ kind = \"lognormal\", mean = \"40ms\", sd = \"10ms\" }",
        "{ kind = \"lognormal\", mean = \"40ms\", sd = \"10ms\", correlation = \"2s\" }",
        "{ kind = \"uniform\", mean = \"40ms\", jitter = \"10ms\", correlation = \"none\" }",
        "{ kind = \"empirical\", values = [\"10ms\", \"20ms\"] }",
        "{ kind = \"empirical\", percentiles = [[0, \"10ms\"], [99.5, \"20ms\"], [100, \"1s\"]] }",
        "{ kind = \"empirical\", file = \"a.csv\" }",
        "{ kind = \"trace\", file = \"a.csv\" }",
        "{ kind = \"trace\", file = \"a.csv\", between = \"linear\" }",
        "{ kind = \"theaterq\", file = \"a.csv\", at_end = \"clear\", reorder = true }",
    ] {
        let delay = read(value);
        let written = toml::to_string(&Profile { delay: delay.clone() }).expect("can be written");
        assert_eq!(
            toml::from_str::<Profile>(&written).expect("reads back").delay,
            delay,
            "{value}\n{written}"
        );
    }
    assert_eq!(read("\"70ms\""), DelaySpec::constant(Span::from_millis(70)));
    let written = toml::to_string(&Profile { delay: read("\"70ms\"") }).expect("can be written");
    assert_eq!(written, "delay = \"70ms\"\n");
}

#[test]
fn what_cannot_be_is_refused_with_what_can() {
    assert!(refused("\"70\"").contains("write it like 70ms"));
    assert!(refused("70").contains("a delay like \"70ms\""));
    assert!(refused("{ kind = \"pareto\", mean = \"1ms\" }").contains("lognormal"));
    assert!(refused("{ kind = \"normal\", mean = \"1ms\", sd = \"1ms\", order = true }").contains("order"));
    assert!(refused("{ kind = \"empirical\", valeus = [] }").contains("values = [DELAY, ...]"));
    assert_eq!(
        refused("\"inf\""),
        "delay = inf: must be finite: for a link that delivers nothing, use an outage"
    );
    assert_eq!(
        refused("{ kind = \"uniform\", mean = \"1ms\", jitter = \"2ms\" }"),
        "jitter = 2ms: must not exceed the mean"
    );
    assert!(
        refused("{ kind = \"lognormal\", mean = \"0ms\", sd = \"1ms\" }")
            .starts_with("mean = 0ms: must be above 0")
    );
    assert!(
        refused("{ kind = \"lognormal\", mean = \"0ms\", sd = \"0ms\" }")
            .starts_with("mean = 0ms: must be above 0")
    );
    assert_eq!(
        refused("{ kind = \"empirical\", values = [] }"),
        "values = []: there must be at least one value"
    );
    assert!(
        refused("{ kind = \"empirical\", percentiles = [[5, \"1ms\"], [100, \"2ms\"]] }")
            .contains("begin at 0 %")
    );
    assert!(refused("{ kind = \"empirical\", percentiles = [] }").contains("at 0 % and at 100 %"));
    assert!(refused("{ kind = \"trace\", file = \"a.csv\" }").contains("a.csv has not been read yet"));
}

#[test]
fn files_are_read_through_the_function_that_load_is_given() {
    for (value, text) in [
        ("{ kind = \"empirical\", file = \"a.csv\" }", "10ms\n"),
        ("{ kind = \"trace\", file = \"a.csv\" }", "0s,10ms\n1s,10ms\n"),
        ("{ kind = \"theaterq\", file = \"a.csv\" }", "1000,10000000,-1,0,0\n"),
    ] {
        let mut spec = read(value);
        spec.load(&mut |name| {
            (name == "a.csv").then(|| text.to_owned()).ok_or(std::io::ErrorKind::NotFound.into())
        })
        .expect("a file");
        let mut stage = Delay::new(spec, &Seed::campaign(1)).expect("a spec that can be");
        assert_eq!(delays(&mut stage, 10, 5), [10 * MS; 10], "{value}");
    }
}

#[test]
fn it_prints_what_it_does() {
    assert_eq!(read("\"70ms\"").to_string(), "70ms");
    let normal = |rest: &str| {
        read(&format!("{{ kind = \"normal\", mean = \"40ms\", sd = \"10ms\"{rest} }}")).to_string()
    };
    assert_eq!(normal(""), "40ms, sd 10ms, normal, correlation time 100ms");
    assert_eq!(normal(", correlation = \"3s\""), "40ms, sd 10ms, normal, correlation time 3s");
    assert_eq!(normal(", correlation = \"none\""), "40ms, sd 10ms, normal, independent per packet");
    assert_eq!(normal(", reorder = true"), "40ms, sd 10ms, normal, independent per packet, reordering");
}

#[test]
fn a_delay_that_gives_no_correlation_has_ten_standard_deviations_in_order_and_none_with_reordering() {
    let usual = |value: &str| read(value).correlation();
    let time = |millis| Correlation::Time(Span::from_millis(millis));
    let normal =
        |rest: &str| usual(&format!("{{ kind = \"normal\", mean = \"40ms\", sd = \"10ms\"{rest} }}"));
    assert_eq!(normal(""), time(100));
    assert_eq!(normal(", reorder = true"), Correlation::None);
    assert_eq!(normal(", reorder = true, correlation = \"1s\""), time(1000));
    assert_eq!(usual("{ kind = \"lognormal\", mean = \"40ms\", sd = \"7ms\" }"), time(70));
    // Uniform over 2 * 30 ms: 60 ms / sqrt(12).
    let Correlation::Time(uniform) = usual("{ kind = \"uniform\", mean = \"40ms\", jitter = \"30ms\" }")
    else {
        panic!("none");
    };
    assert_eq!(uniform.as_nanos(), 173_205_080);
    // Half of 0 to 10 ms and half of 10 to 30 ms: mean 12.5 ms, mean square (100 + 1300) / 6 ms².
    let Correlation::Time(measured) =
        usual("{ kind = \"empirical\", percentiles = [[0, \"0ms\"], [50, \"10ms\"], [100, \"30ms\"]] }")
    else {
        panic!("none");
    };
    let expected = 10.0 * f64::sqrt(1400.0 / 6.0 - 12.5 * 12.5);
    assert!((measured.as_secs_f64() * 1e3 - expected).abs() < 1e-4, "{measured}");
    assert_eq!(usual("\"70ms\""), Correlation::None);
    assert_eq!(usual("{ kind = \"normal\", mean = \"40ms\", sd = \"0ms\" }"), Correlation::None);
}

#[test]
fn a_correlation_that_cannot_be_is_refused() {
    let normal = |correlation: &str| {
        refused(&format!(
            "{{ kind = \"normal\", mean = \"4ms\", sd = \"1ms\", correlation = {correlation} }}"
        ))
    };
    assert_eq!(
        normal("\"0ms\""),
        "correlation = 0ms: must be above 0, or `none` to draw a delay for each packet"
    );
    assert_eq!(
        normal("\"inf\""),
        "correlation = inf: must be finite: for a delay that never changes, use a constant one"
    );
    assert!(normal("\"25%\"").contains("`25%` is not a length of time"));
    assert!(normal("\"25%\"").contains("or `none` to draw a delay for each packet"));
    for law in ["kind = \"constant\", delay = \"1ms\"", "kind = \"trace\", file = \"a.csv\""] {
        let mut spec = read(&format!("{{ {law}, correlation = \"1s\" }}"));
        spec.load(&mut |_| Ok("0s,10ms\n1s,10ms\n".to_owned())).expect("a file");
        assert_eq!(
            Delay::new(spec, &Seed::campaign(1)).expect_err(law).to_string(),
            "correlation = 1s: needs a random delay: of kind uniform, normal, lognormal or empirical"
        );
    }
}
