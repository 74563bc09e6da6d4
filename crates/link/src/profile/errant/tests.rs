//! Tests of ERRANT's files, with values worked out by hand, and of the draws' distribution.

use super::speed_tests::Model;
use super::*;
use crate::profile::{Content, Profile};
use std::fmt::Write;

const HEAD: &str = "operator,country,access_technology,rssi,download_mbps,upload_mbps,rtt_ms\n";

/// Returns the profile with this table, and these files.
fn profile(table: &str, files: &[(&str, &str)]) -> Result<LinkProfile, String> {
    let text = format!("kind = \"link\"\ntitle = \"t\"\nsource = \"s\"\n[errant]\n{table}");
    let mut read = |name: &str| {
        let file = files.iter().find(|(known, _)| *known == name);
        file.map(|(_, text)| (*text).to_owned()).ok_or_else(|| std::io::Error::other("no such file"))
    };
    match Profile::parse("p.toml", &text, &mut read).map_err(|error| error.to_string())?.content {
        Content::Link(link) => Ok(link),
        Content::Loss(_) => unreachable!("it is a link"),
    }
}

/// Returns the duration, the rate in kbit/s and the delay in ms of each line of a direction's
/// trace.
fn lines(direction: &DirectionSpec) -> Vec<(f64, f64, f64)> {
    let Some(StageSpec::Bottleneck(BottleneckSpec { rate: RateSpec::Theaterq(file, AtEnd::Loop), .. })) =
        direction.find("bottleneck")
    else {
        panic!("no trace: {direction}")
    };
    let trace = file.content().expect("loaded");
    let kilobits = |rate| match rate {
        EntryRate::Limited(rate) => rate.as_bits_per_second() as f64 / 1e3,
        other => panic!("{other:?}"),
    };
    let ms = |span: Span| span.as_secs_f64() * 1e3;
    let entries = trace.rates().zip(trace.entries());
    entries.map(|((keep, rate), entry)| (keep.as_secs_f64(), kilobits(rate), ms(entry.latency))).collect()
}

#[test]
fn a_log_is_replayed_as_errant_imposed_it() {
    let log = "time,operator,country,technology,quality,download,upload,rtt\n\
               1000,o,c,4g,good,2000.5,1000,80\n1003,o,c,4g,good,3000,500.25,100.5\n1010,o,c,4g,good,1,2,3\n";
    let link = profile("log = \"l.csv\"\n", &[("l.csv", log)]).expect("a profile");
    assert_eq!(lines(&link.up), [(3.0, 1000.0, 80.0), (7.0, 500.25, 100.5), (7.0, 2.0, 3.0)]);
    assert_eq!(lines(&link.down), [(3.0, 2000.5, 0.0), (7.0, 3000.0, 0.0), (7.0, 1.0, 0.0)]);
    assert!(link.down.to_string().contains("drop-tail 32p"), "{}", link.down);
    assert!(link.up.to_string().contains("drop-tail 1000p"), "{}", link.up);
    assert!(link.build(&Seed::campaign(1)).is_ok());
}

/// Twelve tests of one group, others that are not in it, and one without an upload.
fn tests() -> String {
    let mut text = HEAD.to_owned();
    for n in 0..12 {
        let (square, odd) = (f64::from(n * n), f64::from(n % 2));
        let (download, upload, ping) = (20 + n, 10.0 + odd, 50.0 + square / 10.0);
        writeln!(text, "Telenor,Norway,4G,-70.5,{download},{upload},{ping}").expect("a string");
    }
    text += "telenor,norway,4G,-70,30,,50\ntelenor,norway,4G,-80,1,1,1\nother,norway,4G,-70,1,1,1\n";
    text += "telenor,norway,3G,-70,1,1,1\ntelenor,norway,4G,,1,1,1\n";
    text
}

#[test]
fn a_scenario_draws_each_period_and_the_rest_of_a_duration_is_shorter() {
    let scenario = "operator,country,rat,quality,duration,period\ntelenor,norway,4g,good,5,2\nTelenor,Norway,4G,good,4,-\n";
    let files = [("t.csv", &*tests()), ("s.csv", scenario)];
    let link = profile("tests = \"t.csv\"\nscenario = \"s.csv\"\nseed = 3\n", &files).expect("a profile");
    let (up, down) = (lines(&link.up), lines(&link.down));
    assert_eq!(up.iter().map(|line| line.0).collect::<Vec<_>>(), [2.0, 2.0, 1.0, 4.0]);
    // The measured values are 20 to 31 Mbit/s down, 10 and 11 up, 50 to 62.1 ms. The kernel's
    // standard deviation is 0.7 of theirs, so draws beyond six of them do not occur.
    assert!(down.iter().all(|line| (5e3..46e3).contains(&line.1) && line.2 < 1e-9), "{down:?}");
    assert!(up.iter().all(|line| (7e3..14e3).contains(&line.1) && (30.0..82.0).contains(&line.2)), "{up:?}");
    assert_ne!(down[0], down[1], "each draw is new");
    let again = profile("tests = \"t.csv\"\nscenario = \"s.csv\"\nseed = 3\n", &files).expect("a profile");
    assert_eq!(lines(&again.up), up);
    let other = profile("tests = \"t.csv\"\nscenario = \"s.csv\"\nseed = 4\n", &files).expect("a profile");
    assert_ne!(lines(&other.up), up);
}

#[test]
fn a_single_group_is_drawn_for_an_hour_or_the_length() {
    let group = "tests = \"t.csv\"\noperator = \"universal\"\ncountry = \"norway\"\ntechnology = \"4g\"\nquality = \"good\"\n";
    let files = [("t.csv", &*tests())];
    let link = profile(group, &files).expect("a profile");
    assert_eq!(lines(&link.up).iter().map(|line| line.0).collect::<Vec<_>>(), [3600.0]);
    let link = profile(&format!("{group}period = \"10s\"\nlength = \"25s\"\n"), &files).expect("a profile");
    assert_eq!(lines(&link.up).iter().map(|line| line.0).collect::<Vec<_>>(), [10.0, 10.0, 5.0]);
}

#[test]
fn draws_have_the_mean_and_the_covariance_of_the_kernel_density_estimate() {
    // Two independent coordinates and one that depends on both.
    let values: Vec<[f64; 3]> = (0..40)
        .map(|n| [f64::from(n % 8), f64::from(n / 8), f64::from(n % 8) - f64::from(n / 8) + f64::from(n % 3)])
        .collect();
    let moments = |values: &[[f64; 3]], degrees: f64| {
        let mean = [0, 1, 2].map(|i| values.iter().map(|v| v[i]).sum::<f64>() / values.len() as f64);
        let covariance = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]
            .map(|(i, j)| values.iter().map(|v| (v[i] - mean[i]) * (v[j] - mean[j])).sum::<f64>() / degrees);
        (mean, covariance)
    };
    let (mean, sample) = moments(&values, 39.0);
    // (40 · 5 / 4)^(-1/7) = 50^(-1/7) = 0.57186
    let factor: f64 = 0.571_860;
    let model = Model::new(values).expect("a model");
    let mut stream = Seed::campaign(1).stream();
    let draws: Vec<_> = (0..200_000).map(|_| model.draw_any(&mut stream)).collect();
    let (drawn_mean, deviations) = moments(&draws, 199_999.0);
    for (drawn, mean) in drawn_mean.iter().zip(mean) {
        assert!((drawn - mean).abs() < 0.05, "{drawn_mean:?} {mean:?}");
    }
    for (drawn, sample) in deviations.iter().zip(sample) {
        // That of the points, whose divisor is 40, and of the kernel.
        let expected = sample * 39.0 / 40.0 + sample * factor * factor;
        assert!((drawn - expected).abs() < 0.12, "{drawn} {expected}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    let refused = |table: &str, files: &[(&str, &str)]| profile(table, files).expect_err(table);
    let says = |error: String, what: &str| assert!(error.contains(what), "{error}");
    says(refused("", &[]), "give either `tests` or `log`");
    says(refused("log = \"l\"\n", &[]), "cannot read l: no such file");
    says(refused("log = \"l\"\n", &[("l", "time\n")]), "l:1: heading `time`: must be time,operator,");
    let log = |row: &str| format!("time,operator,country,technology,quality,download,upload,rtt\n{row}");
    says(refused("log = \"l\"\n", &[("l", &log(""))]), "at least one line behind the heading");
    says(refused("log = \"l\"\n", &[("l", &log("1,2\n"))]), "l:2: line `1,2`: must have as many fields");
    says(
        refused("log = \"l\"\n", &[("l", &log("1,o,c,t,q,0,1,1\n"))]),
        "l:2: download `0`: must be a number above 0",
    );
    let twice = log("1,o,c,t,q,1,1,1\n1,o,c,t,q,1,1,1\n");
    says(refused("log = \"l\"\n", &[("l", &twice)]), "l:3: time `1`: must be later");
    let tests = tests();
    let table = "tests = \"t\"\n";
    says(refused(table, &[("t", &tests)]), "operator = : must be given");
    let scenario = |row: &str| format!("operator,country,rat,quality,duration,period\n{row}");
    let with = "tests = \"t\"\nscenario = \"s\"\n";
    says(
        refused(with, &[("t", &tests), ("s", &scenario("o,c,4g,good,5,0\n"))]),
        "s:2: period `0`: must be a whole",
    );
    says(
        refused(with, &[("t", &tests), ("s", &scenario("o,c,4g,good,,\n"))]),
        "s:2: duration ``: must be a whole",
    );
    says(
        refused(with, &[("t", &tests), ("s", &scenario("x,norway,4g,good,5,\n"))]),
        "x/norway/4g/good has 0 speed tests in t: must have at least 10",
    );
    let same = format!("{HEAD}{}", "o,c,4G,-70,1,1,1\n".repeat(10));
    says(
        refused(with, &[("t", &same), ("s", &scenario("o,c,4g,good,5,\n"))]),
        "must differ in all three values",
    );
    says(
        refused(with, &[("t", &format!("{HEAD}o,c,4G,x,1,1,1\n")), ("s", "")]),
        "t:2: rssi `x`: must be a number",
    );
    let both = "log = \"l\"\n[down]\nrate = \"1mbit\"\n";
    says(
        refused(both, &[("l", &log("1,o,c,t,q,1,1,1\n"))]),
        "[errant] gives rate, queue and delay of both directions",
    );
}
