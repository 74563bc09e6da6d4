//! Tests that the specification of a link, written as bytes, reads back as the same value.

use super::*;
use crate::link::MediumSpec;
use crate::stage::StageCommand;
use crate::stage::hiccup::HiccupCommand;
use crate::stage::outage::OutageCommand;
use borsh::{BorshDeserialize, BorshSerialize};
use std::fmt::Debug;

/// Checks that the bytes of `value` read back as the same value.
fn check<T: BorshSerialize + BorshDeserialize + PartialEq + Debug>(value: &T) {
    let bytes = borsh::to_vec(value).expect("bytes");
    assert_eq!(borsh::from_slice::<T>(&bytes).expect("a value"), *value);
}

/// Checks the profile and its specification. Also builds the link, so all its files are loaded.
fn check_link(link: &LinkProfile) {
    check(link);
    check(&link.spec().expect("a link"));
    link.build(&Seed::campaign(1)).expect("a link");
}

/// Returns the text of the trace file with this name.
fn file(name: &str) -> io::Result<String> {
    let text = match name {
        "mahimahi" => "1\n2\n4\n",
        "theaterq" => "10000,0,1000000,0,0\n5000,200,2000000,429496730,3\n5000,0,0,0,0\n1000,0,-1,0,0\n",
        "extended" => "1000,5,1,-1,429496730,7,858993459,3,2,1\n1000,0,0,0,0,0,0,0,0,0\n",
        "percentiles" => "percent,delay_ms\n0,10\n50,20\n100,50\n",
        "values" => "10ms\n20ms\n50ms\n",
        "course" => "time_s,delay_ms\n5,10\n5.1,30\n5.2,50\n",
        "errors" => "start,end\r\n# two bursts\n10,20 # ms\n\n30ms;0.04s\n40ms 45.5ms\n1s\t1.25s\n",
        "unending" => "0,inf",
        "blocks" => {
            "# format: block-erasures\n# category: mobile\n# signal-strength: 2-4\n# origin: measured\n\
             # start: noon\n# block-period: 20ms\n# block-payload: 30B\n# phone: a grey one\n0100110\n"
        }
        _ => return no_file(name),
    };
    Ok(text.to_owned())
}

/// Parses a link profile and loads its trace files.
fn written(rest: &str) -> LinkProfile {
    let text = format!("kind = \"link\"\ntitle = \"A link\"\nsource = \"A book\"\n{rest}");
    let profile = Profile::parse("test.toml", &text, &mut file).unwrap_or_else(|error| panic!("{error}"));
    link_of(&profile)
}

#[test]
fn every_built_in_profile() {
    for (file, text) in builtin() {
        let profile = Profile::parse(file, text, &mut no_file).unwrap_or_else(|error| panic!("{error}"));
        check_link(&link_of(&profile));
    }
}

#[test]
fn every_kind_of_stage_and_of_trace() {
    let link = written(
        r#"
        mtu = 576
        [[up.stages]]
        bottleneck = { rate = { mahimahi = "mahimahi", once = true }, queue = "200ms", counted = "wire" }
        [[up.stages]]
        bottleneck = { rate = { theaterq = "theaterq", at_end = "hold" }, queue = { kind = "drop-head", limit = "64kB" }, counted = 38 }
        [[up.stages]]
        bottleneck = { rate = { theaterq = "extended", at_end = "clear" }, queue = { kind = "trace", limit_in = "bytes" } }
        [[up.stages]]
        bottleneck = { rate = "11Mbit", queue = "codel", counted = "ethernet" }
        [[up.stages]]
        bottleneck = { rate = "11Mbit", queue = { kind = "red", min = "5p", max = "15p", weight = 0.003, gentle = true, ecn = true } }
        [[up.stages]]
        delay = { kind = "trace", file = "course", between = "linear" }
        [[up.stages]]
        delay = { kind = "theaterq", file = "extended", at_end = "loop", reorder = true }
        [[up.stages]]
        delay = { kind = "empirical", file = "percentiles", correlation = "50ms" }
        [[up.stages]]
        delay = { kind = "empirical", file = "values", correlation = "none" }
        [[up.stages]]
        delay = { kind = "empirical", values = ["1ms", "3ms"] }
        [[up.stages]]
        delay = { kind = "empirical", percentiles = [[0, "40ms"], [95.5, "200ms"], [100, "1s"]] }
        [[up.stages]]
        delay = { kind = "uniform", mean = "70ms", jitter = "5ms" }
        [[up.stages]]
        delay = { kind = "normal", mean = "70ms", sd = "5ms" }
        [[up.stages]]
        delay = { kind = "lognormal", mean = "70ms", sd = "5ms" }
        [[down.stages]]
        errors = { process = { trace = "errors", repeat = "2s" }, only = "not (udp port 53 or host fe80::1) and greater 100" }
        [[down.stages]]
        errors = { process = { trace = "unending" }, exempt = { syn = true, first = 3, packets = "ip and src host 10.0.0.1 and rst" } }
        [[down.stages]]
        errors = { process = { blocks = "blocks" }, sampled = "interval" }
        [[down.stages]]
        errors = { process = { packets = "3,7,10-12" }, effect = "spoil-checksum" }
        [[down.stages]]
        errors = { process = { ber = "1e-5" }, effect = { flip = { region = "payload" } } }
        [[down.stages]]
        errors = { process = { loss = "1%" }, effect = { flip = { region = "header", bits = 2 } } }
        [[down.stages]]
        errors = { process = { good = "2s", bad = "30ms", ber-bad = "1e-3", sojourn = "exponential", start = "bad" } }
        [[down.stages]]
        errors = { process = { loss = "5%", burst = "3kB", evolves-in = "bytes" } }
        [[down.stages]]
        errors = { process = { good = "inf", bad = "2.5", evolves-in = "packets" } }
        [[down.stages]]
        errors = { process = { p = "1%", q = "30%", tick = "20ms" } }
        [[down.stages]]
        outage = { schedule = [{ start = "5s", length = "1s" }], period = "60s", judged = "transmission", place = "behind" }
        [[down.stages]]
        outage = { process = { up = "10s", down = "500ms", sojourn = "constant" } }
        [[down.stages]]
        duplicate = { probability = "1%" }
        [[down.stages]]
        hiccup = { hold = { span = "200ms", trigger = { every = "5s" } }, release = { shuffled = 3 }, limit = 100 }
        [[down.stages]]
        hiccup = { reorder = { length = 3, timeout = "500ms", trigger = { every-packets = 100 } }, expiration = "2s" }
    "#,
    );
    check_link(&link);
    assert_eq!((link.up.stages.len(), link.down.stages.len()), (14, 15));
}

#[test]
fn links_with_a_link_layer() {
    for arq in [
        "rlp:n2=inf,t1=1s,t2=40ms,window=20,delay=60ms,give-up,go-back,throttle=960",
        "llp:window=8,retries=3,reset,out-of-order",
    ] {
        let link = written(&format!(
            r#"
            arq = "{arq}"
            [up]
            rate = "9600bit"
            delay = "40ms"
            errors = {{ process = {{ blocks = "blocks" }} }}
            outage = {{ process = {{ up = "10s", down = "500ms" }} }}
            hiccup = {{ limit = 5 }}
            [down]
            rate = "9600bit"
            queue = "50p"
            errors = {{ process = {{ good = "2s", bad = "30ms" }} }}
            outage = {{ schedule = [{{ start = "5s", length = "1s" }}], place = "behind" }}
            "#
        ));
        check_link(&link);
        let spec = link.spec().expect("a link");
        assert!(matches!(spec.medium, MediumSpec::Arq { .. }));
    }
}

#[test]
fn commands_and_seeds() {
    let outages = [OutageCommand::Down, OutageCommand::Up, OutageCommand::DownFor(Span::from_millis(3))];
    let hiccups = [HiccupCommand::Hold(Span::MAX), HiccupCommand::Release, HiccupCommand::ReorderNext];
    for command in outages {
        check(&StageCommand::Outage(command));
    }
    for command in hiccups {
        check(&StageCommand::Hiccup(command));
    }
    check(&Seed::campaign(7).run(0).link("a"));
}
