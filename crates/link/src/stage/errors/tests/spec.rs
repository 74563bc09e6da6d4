//! Tests of the notation in profiles: every form is read and printed back, and invalid ones are
//! refused.

use super::*;

#[test]
fn the_profiles_forms_read() {
    // As in profiles/lite-1.toml, lossy-wifi.toml and starlink.toml.
    let lite = spec(
        "process = { good = \"2s\", bad = \"30ms\", sojourn = \"geometric\", tick = \"10ms\" }\neffect = \"lose\"",
    );
    let ProcessSpec::InTime { channel, errors: None } = &lite.process else { panic!("{lite:?}") };
    assert_eq!(channel.tick(), Some(Span::from_millis(10)));
    assert_eq!(channel.start(), Start::Stationary);
    assert_eq!(lite.effect, EffectSpec::Lose);
    assert_eq!(lite.sampled, Sampled::Instant);
    assert!(matches!(
        spec("process = { loss = \"2.9%\" }\neffect = \"lose\"").process,
        ProcessSpec::Packets { .. }
    ));
    let starlink = spec("process = { good = \"36.3s\", bad = \"819ms\", sojourn = \"exponential\" }").process;
    let ProcessSpec::InTime { channel, .. } = starlink else { panic!("{starlink:?}") };
    assert_eq!((channel.sojourn(), channel.tick()), (Sojourn::Exponential, None));
    // A tick of 10 ms and geometric sojourns are the default.
    assert_eq!(process("{ good = \"2s\", bad = \"30ms\" }"), lite.process);
}

#[test]
fn every_spec_prints_back() {
    for toml in [
        "process = { loss = \"1.5%\" }",
        "process = { ber = \"1e-5\" }",
        "process = { good = \"2s\", bad = \"30ms\" }",
        "process = { good = \"inf\", bad = \"30ms\", start = \"bad\" }",
        "process = { loss = \"1.5%\", burst = \"30ms\", sojourn = \"exponential\" }",
        "process = { p = \"0.005\", q = \"0.25\", tick = \"20ms\" }",
        "process = { good = \"2s\", bad = \"30ms\", ber-good = \"1e-6\", ber-bad = \"1e-3\" }",
        "process = { good = \"50kB\", bad = \"10kB\", evolves-in = \"bytes\" }",
        "process = { p = \"1%\", q = \"2%\", tick = \"100B\", sojourn = \"geometric\", evolves-in = \"bytes\" }",
        "process = { good = \"50kB\", bad = \"10kB\", ber-bad = \"0.5\", evolves-in = \"bytes\" }",
        "process = { loss = \"5%\", burst = 2.5, evolves-in = \"packets\" }",
        "process = { packets = \"3,7,10-12\" }",
        "process = { packets = \"\" }",
        "process = { trace = \"errors.csv\", repeat = \"60s\" }",
        "process = { blocks = \"a.blocks\" }",
        "process = { blocks = \"a.blocks\", tick = \"10ms\" }\nsampled = \"interval\"",
        "process = { trace = \"errors.csv\" }\nsampled = \"interval\"",
        "process = { loss = \"1%\" }\neffect = \"spoil-checksum\"\nexempt = { syn = true, first = 3, packets = \"udp port 53\" }",
        "process = { loss = \"1%\" }\neffect = { flip = { region = \"segment\", ber = \"1e-3\" } }\nonly = \"tcp and (syn or fin)\"",
        "process = { loss = \"1%\" }\neffect = { flip = { bits = 3 } }",
        "process = { ber = \"1e-6\" }\neffect = { flip = {} }",
    ] {
        let first = spec(toml);
        let printed = toml::to_string(&first).expect("every spec can be written");
        assert_eq!(spec(&printed), first, "{toml}\n{printed}");
        assert!(!first.to_string().is_empty());
    }
}

#[test]
fn what_cannot_be_is_refused_with_the_way_out() {
    let mut wrong = Vec::new();
    for (toml, wanted) in [
        ("process = {}", "no field selects packets: give `loss`"),
        ("process = { loss = \"1%\", los = \"1%\" }", "unknown field `los`"),
        ("process = { loss = \"1%\", bad = \"30ms\" }", "bad cannot be combined with loss"),
        ("process = { good = \"2s\" }", "good needs bad"),
        ("process = { bad = \"2s\" }", "bad needs good"),
        ("process = { p = \"1%\" }", "p needs q"),
        ("process = { q = \"1%\" }", "q needs p"),
        ("process = { burst = \"10ms\" }", "burst needs loss"),
        ("process = { loss = \"1%\", sojourn = \"geometric\" }", "loss needs burst"),
        ("process = { tick = \"10ms\" }", "tick needs"),
        ("process = { good = \"2s\", bad = \"30ms\", loss = \"1%\" }", "loss cannot be combined with good"),
        ("process = { loss = \"1%\", burst = \"30ms\", q = \"1%\" }", "q cannot be combined with burst"),
        ("process = { p = \"1%\", q = \"2%\", bad = \"30ms\" }", "bad cannot be combined with"),
        ("process = { ber = \"1e-5\", loss = \"1%\" }", "loss cannot be combined with ber"),
        ("process = { packets = \"1\", start = \"good\" }", "start cannot be combined with packets"),
        ("process = { packets = \"1-x\" }", "`1-x` is not a list of packet numbers"),
        ("process = { packets = \"5-3\" }", "`5-3` is not a list of packet numbers"),
        ("process = { trace = \"x\", loss = \"1%\" }", "loss cannot be combined with trace"),
        ("process = { loss = \"1%\", burst = \"10ms\", repeat = \"1s\" }", "repeat needs trace"),
        ("process = { good = \"2s\", bad = \"30ms\", ber-good = \"1e-5\" }", "ber-good needs ber-bad"),
        (
            "process = { p = \"1%\", q = \"2%\", ber-bad = \"1e-5\", evolves-in = \"packets\" }",
            "cannot be combined with evolves-in",
        ),
        ("process = { good = \"2s\", bad = \"30\" }", "bad: `30` is not a length of time"),
        (
            "process = { good = \"2s\", bad = \"30ms\", evolves-in = \"bytes\" }",
            "`30ms` is not a number of bytes",
        ),
        ("process = { good = 2, bad = -1, evolves-in = \"packets\" }", "`-1` is not a number of packets"),
        (
            "process = { good = \"2s\", bad = \"3ms\" }",
            "bad = 3ms on average, with a tick of 10ms: must be 0 or at least",
        ),
        ("process = { loss = \"90%\", burst = \"10ms\" }", "good = 1.111ms on average, with a tick of 10ms"),
        ("process = { loss = \"10%\", burst = \"0\" }", "burst = 0ms: must be above 0"),
        (
            "process = { loss = \"10%\", burst = \"inf\" }",
            "burst = inf: must be finite if loss is below 100%",
        ),
        ("process = { good = \"0\", bad = \"0\" }", "one of good and bad must be above 0"),
        ("process = { good = \"inf\", bad = \"inf\" }", "needs start = \"good\" or \"bad\""),
        ("process = { p = \"0\", q = \"0\" }", "needs start = \"good\" or \"bad\""),
        ("process = { good = \"1s\", bad = \"1s\", tick = \"0\" }", "tick = 0ms: must be above 0"),
        (
            "process = { good = \"1s\", bad = \"1s\", tick = \"1ms\", sojourn = \"exponential\" }",
            "exponential sojourns have no tick: remove it",
        ),
        ("process = { p = \"1%\", q = \"1%\", sojourn = \"exponential\" }", "p and q need a tick"),
        ("process = { good = 3, bad = 2, tick = 2, evolves-in = \"packets\" }", "a packet is a tick"),
        (
            "process = { good = 3, bad = 2, sojourn = \"exponential\", evolves-in = \"packets\" }",
            "a packet is a tick",
        ),
        ("process = { good = 3, bad = 0.5, evolves-in = \"packets\" }", "bad = 0.5 packets on average"),
        ("process = { loss = \"101%\" }", "is not a probability"),
        ("process = { loss = \"1%\" }\neffect = \"spoil\"", "unknown variant `spoil`"),
        ("process = { loss = \"1%\" }\neffect = { flip = {} }", "give ber or bits"),
        ("process = { loss = \"1%\" }\neffect = { flip = { ber = \"1e-3\", bits = 1 } }", "not both"),
        ("process = { loss = \"1%\" }\neffect = { flip = { ber = \"0\" } }", "must be above 0"),
        ("process = { loss = \"1%\" }\neffect = { flip = { bits = 0 } }", "must be above 0"),
        (
            "process = { loss = \"1%\" }\neffect = { flip = { bits = 1, region = \"head\" } }",
            "there is no region `head` of a packet",
        ),
        (
            "process = { ber = \"1e-3\" }\neffect = { flip = { ber = \"1e-3\" } }",
            "already has a bit error ratio: remove this one",
        ),
        ("process = { loss = \"1%\" }\nonly = \"tcp or prt 80\"", "column 8"),
        ("process = { loss = \"1%\" }\nexempt = { sin = true }", "unknown field `sin`"),
        ("process = { trace = \"x.csv\" }", "x.csv has not been read yet"),
        ("process = { loss = \"1%\" }\nwhen = 3", "unknown field `when`"),
    ] {
        let said = refused(toml);
        if !said.contains(wanted) {
            wrong.push(format!("{toml}: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn lists_of_packets_join_what_touches() {
    let list = |text: &str| text.parse::<PacketList>().expect("a list");
    assert_eq!(list("12, 3 ,7,10-12,11-13,4").to_string(), "3-4,7,10-13");
    assert_eq!(list(&format!("0-{0},{0}", u64::MAX)).to_string(), format!("0-{}", u64::MAX));
    assert!(list("5-7").contains(7) && !list("5-7").contains(8) && !list("5-7").contains(4));
}
