//! Tests of parameters in one line: their effect on a direction, and the errors for invalid ones.

use super::*;
use crate::stage::StageCommand;
use crate::stage::errors::ProcessSpec;
use crate::stage::outage::OutageCommand;
use crate::units::Span;

/// A resolver that knows one loss profile, by name and by path, and two traces.
pub(super) struct Known;

impl Resolve for Known {
    fn losses(&mut self, name: &str) -> Result<ErrorSpec, String> {
        match name {
            "lite-9" | "./lite-9.toml" | "3g.toml" | "0/lite-9" => {
                Ok(ErrorSpec::new(ProcessSpec::Packets { loss: Probability::ONE }))
            }
            other => Err(format!("there is no loss profile {other}")),
        }
    }

    fn file(&mut self, name: &str) -> io::Result<String> {
        match name {
            "cell.trace" => Ok("1\n2\n".to_owned()),
            "cell.csv" => Ok("keep,delay,rate\n0,0,1000000\n".to_owned()),
            other => no_file(other),
        }
    }
}

/// Applies `first` to a perfect direction, then `parameters`.
pub(super) fn on(first: &str, parameters: &str) -> Result<DirectionSpec, ParameterError> {
    let mut direction = DirectionSpec::default();
    first.parse::<Parameters>()?.apply(&mut direction, &mut Known)?;
    parameters.parse::<Parameters>()?.apply(&mut direction, &mut Known)?;
    Ok(direction)
}

pub(super) fn made(parameters: &str) -> String {
    on("", parameters).unwrap_or_else(|error| panic!("{error}")).to_string()
}

pub(super) fn refused(parameters: &str) -> String {
    on("", parameters).expect_err("refused").to_string()
}

#[test]
fn each_does_what_it_says() {
    assert_eq!(made(""), "perfect");
    assert_eq!(made("rate=2mbit"), "bottleneck: 2Mbit/s counted at IP, drop-tail inf");
    assert_eq!(made("rate=inf"), "bottleneck: unlimited counted at IP, drop-tail inf");
    assert_eq!(
        made("trace=cell.trace"),
        "bottleneck: mahimahi trace cell.trace counted at IP, drop-tail inf"
    );
    assert_eq!(made("rate=1mbit,queue=50p"), "bottleneck: 1Mbit/s counted at IP, drop-tail 50p");
    assert_eq!(made("rate=1mbit,queue=64kB"), "bottleneck: 1Mbit/s counted at IP, drop-tail 64kB");
    assert_eq!(made("rate=1mbit,queue=200ms"), "bottleneck: 1Mbit/s counted at IP, drop-tail 200ms");
    assert_eq!(made("delay=40ms"), "delay: 40ms");
    assert_eq!(made("delay=40ms,jitter=5ms"), "delay: 40ms, sd 5ms, normal, correlation time 50ms");
    assert_eq!(
        made("delay=40ms,jitter=5ms,correlation=2s"),
        "delay: 40ms, sd 5ms, normal, correlation time 2s"
    );
    assert_eq!(
        made("delay=40ms,jitter=5ms,correlation=none"),
        "delay: 40ms, sd 5ms, normal, independent per packet"
    );
    assert_eq!(made("duplicate=1%"), "duplicate: 1%");
    assert_eq!(made("outage=10s+2s"), "outage: out from 10s for 2s");
    assert_eq!(made("outage=25kB+2s"), "outage: out after 25kB for 2s");
    assert_eq!(made("outage=10s+2s,outage=1min+1s"), "outage: out from 10s for 2s, out from 60s for 1s");
    assert_eq!(made("outage=now+2s"), "outage: on command");
}

#[test]
fn queues_and_what_counts() {
    for queue in ["codel", "red", "fq-codel", "pie", "dualpi2", "sfq"] {
        let text = made(&format!("rate=1mbit,queue={queue}"));
        assert!(text.to_lowercase().contains(&format!(", {queue}")), "{text}");
    }
    let counted =
        ["ip", "ethernet", "wire", "31"].map(|counted| made(&format!("rate=1mbit,counted={counted}")));
    for (place, text) in counted.iter().enumerate() {
        assert!(!counted[..place].contains(text), "{text}");
    }
}

#[test]
fn the_help_names_every_parameter_and_its_examples_can_be_used() {
    for (name, help) in PARAMETERS {
        let examples = help.split(": ").next().expect("one").split(", ");
        for example in examples.filter(|example| !example.contains(' ')) {
            let example = match *name {
                "trace" => "cell.trace",
                _ => example.trim_end_matches(','),
            };
            // Parameters that require another one are given with it.
            let first = match *name {
                "jitter" => "delay=40ms",
                "correlation" => "delay=40ms,jitter=5ms",
                "burst" | "damage" => "loss=1%",
                _ => "",
            };
            let separator = if first.is_empty() { "" } else { "," };
            let text = format!("{first}{separator}{name}={example}");
            if let Err(error) = on("", &text) {
                panic!("{text}: {error}");
            }
        }
    }
}

#[test]
fn they_are_put_on_top_whatever_their_order() {
    assert_eq!(made("queue=50p,rate=1mbit"), made("rate=1mbit,queue=50p"));
    assert_eq!(made("jitter=5ms,delay=40ms"), made("delay=40ms,jitter=5ms"));
    let changed = on("delay=70ms", "jitter=5ms,delay=40ms").expect("a delay");
    assert_eq!(changed.to_string(), made("delay=40ms,jitter=5ms"), "nothing is dropped");
    assert_eq!(made(" rate = 1mbit , delay = 1ms ,"), made("rate=1mbit,delay=1ms"));
    // Stages have their usual order, whatever the order of the parameters.
    assert_eq!(made("delay=1ms,loss=1%,rate=1mbit"), made("rate=1mbit,loss=1%,delay=1ms"));
}

/// Formerly the later value silently replaced the earlier one.
#[test]
fn what_is_given_twice_is_refused() {
    assert_eq!(
        refused("rate=1mbit,delay=1ms,rate=2mbit"),
        "rate=2mbit: `rate` is given twice, first as rate=1mbit: remove one"
    );
    for (name, _) in PARAMETERS.iter().filter(|(name, _)| *name != "outage") {
        let why = refused(&format!("{name}=a,{name}=a"));
        assert!(why.contains(&format!("`{name}` is given twice")), "{why}");
    }
    for (text, first) in
        [("trace=cell.trace,rate=1mbit", "trace=cell.trace"), ("rate=1mbit,trace=cell.trace", "rate=1mbit")]
    {
        let why = refused(text);
        assert!(why.contains(&format!("and {first} both set the limiter's rate")), "{why}");
    }
    // If the direction already has one of them, the other one replaces it, as requested.
    assert_eq!(on("trace=cell.trace", "rate=1mbit").expect("a rate").to_string(), made("rate=1mbit"));
}

#[test]
fn what_they_do_not_name_stays() {
    let changed = on("rate=1mbit,queue=50p,delay=40ms,loss=1%", "rate=2mbit").expect("changes");
    assert_eq!(
        changed.to_string(),
        "bottleneck: 2Mbit/s counted at IP, drop-tail 50p; errors: 1% of packets; lost; delay: 40ms"
    );
}

#[test]
fn a_trace_is_known_by_what_it_looks_like() {
    let theaterq = refused("trace=cell.csv");
    assert!(theaterq.starts_with("trace=cell.csv: cell.csv:"), "read as a TheaterQ trace: {theaterq}");
    assert_eq!(refused("trace=none"), "trace=none: cannot read none: nobody has none");
}

#[test]
fn errors_name_the_parameter_and_the_way_out() {
    assert_eq!(refused("rate"), "rate: expected NAME=VALUE, such as rate=2mbit");
    assert_eq!(refused("dely=40ms"), "dely=40ms: there is no `dely`: did you mean `delay`?");
    assert_eq!(refused("dely =40ms"), "dely =40ms: there is no `dely`: did you mean `delay`?");
    assert_eq!(
        refused("bandwidth=1mbit"),
        "bandwidth=1mbit: there is no `bandwidth`: there are rate, trace, queue, counted, delay, jitter, correlation, loss, burst, \
         ber, damage, duplicate, outage"
    );
    assert_eq!(
        refused("rate=fast"),
        "rate=fast: `fast` is not a rate: write it like 384kbit, 11Mbit/s or 125kB/s"
    );
    assert_eq!(
        refused("delay=40"),
        "delay=40: `40` is not a length of time: write it like 70ms, 1.5s, 20us, 200ns, 5min or inf"
    );
    assert_eq!(refused("jitter=5ms"), "jitter=5ms: jitter needs a delay: give delay=... as well");
    assert_eq!(
        refused("correlation=1s"),
        "correlation=1s: correlation needs a varying delay: give delay=...,jitter=... as well"
    );
    assert_eq!(
        refused("delay=40ms,correlation=1s"),
        "correlation=1s: correlation needs a varying delay: give delay=...,jitter=... as well"
    );
    assert!(refused("delay=40ms,jitter=5ms,correlation=often").contains("or `none` to draw a delay"));
    assert_eq!(refused("outage=10s"), "outage=10s: expected START+LENGTH, such as 10s+2s or 25kB+2s");
    assert_eq!(
        refused("duplicate=200%"),
        "duplicate=200%: `200%` is not a probability: write it like 1.5% or 0.015 (0 to 1)"
    );
}

#[test]
fn all_or_nothing() {
    let mut direction = on("", "rate=1mbit,delay=40ms").expect("a direction");
    let before = direction.clone();
    let parameters: Parameters = "rate=2mbit,loss=1%,delay=never-ever".parse().expect("parameters");
    let error = parameters.apply(&mut direction, &mut Known).expect_err("no such delay");
    assert_eq!(error.parameter, "delay=never-ever");
    assert_eq!(direction, before);
}

#[test]
fn commands_are_what_happens_now() {
    let commands = |text: &str| text.parse::<Parameters>().expect("parameters").commands();
    let out = |seconds| ("outage", StageCommand::Outage(OutageCommand::DownFor(Span::from_secs(seconds))));
    assert_eq!(commands("outage=now+5s"), [out(5)]);
    assert_eq!(commands("rate=1mbit,outage=now+5s,outage=10s+2s,outage=now+1s"), [out(5), out(1)]);
    assert_eq!(commands("outage=10s+2s,rate=1mbit"), []);
}
