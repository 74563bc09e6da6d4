//! The line, and what it makes of a link.

use super::*;
use crate::profile::{Parameters as Line, Resolve};
use crate::stage::bottleneck::{Limit, QueueSpec};
use proptest::prelude::*;
use std::io;

struct Nothing;

impl Resolve for Nothing {
    fn losses(&mut self, name: &str) -> Result<ErrorSpec, String> {
        Err(format!("no {name}"))
    }
    fn file(&mut self, _: &str) -> io::Result<String> {
        Err(io::Error::other("no file"))
    }
}

fn direction(parameters: &str) -> DirectionSpec {
    let mut spec = DirectionSpec::default();
    let line: Line = parameters.parse().expect("parameters");
    line.apply(&mut spec, &mut Nothing).expect("good ones");
    spec
}

fn arq(text: &str) -> ArqSpec {
    text.parse().expect("a link layer")
}

fn refused(text: &str) -> String {
    text.parse::<ArqSpec>().expect_err("it cannot be had").to_string()
}

#[test]
fn defaults_are_those_of_the_standards() {
    assert_eq!(arq("rlp").to_string(), "rlp:n2=6,reset,t1=480ms,t2=80ms,window=61,delay=100ms");
    assert_eq!(arq("llp").to_string(), "llp:window=32,retries=255,disconnect");
    assert_eq!(arq("rlp"), ArqSpec::Rlp(RlpSpec::default()));
}

#[test]
fn each_parameter_is_taken() {
    let given = "rlp:n2=inf,t1=1s,t2=40ms,window=20,delay=60ms,give-up,go-back,throttle=960";
    let printed = "rlp:n2=inf,give-up,t1=1s,t2=40ms,window=20,delay=60ms,go-back,throttle=960";
    assert_eq!(arq(given).to_string(), printed);
    assert_eq!(arq(" llp: retries=3, reset,window=1").to_string(), "llp:window=1,retries=3,reset");
    assert_eq!(arq("llp:out-of-order").to_string(), "llp:window=32,retries=255,disconnect,out-of-order");
    assert_eq!(arq("llp:in-order"), arq("llp"));
}

/// The later one replaced the earlier one without a word.
#[test]
fn what_is_given_twice_is_refused() {
    for (given, part) in [
        ("rlp:n2=3,t1=1s,n2=4", "`n2=3` and `n2=4`: leave one out"),
        ("llp:out-of-order,in-order", "`out-of-order` and `in-order`: leave one out"),
        ("rlp:reset,give-up", "`reset` and `give-up`: leave one out"),
        ("rlp:go-back,selective", "`go-back` and `selective`: leave one out"),
    ] {
        assert!(refused(given).contains(part), "{}", refused(given));
    }
}

#[test]
fn what_is_wrong_is_named_with_what_would_be_right() {
    for (given, part) in [
        ("arq", "`arq` is no link layer: say rlp["),
        ("rlp:n3=6", "`n3=6` is no parameter: say rlp["),
        ("rlp:window=62", "window=62: frames outstanding, 1 to 61"),
        ("llp:window=33", "window=33: frames outstanding, 1 to 32"),
        ("llp:n2=3", "`n2=3` is no parameter"),
        ("rlp:n2=0", "n2=0: how often a frame is sent again, 1 to 255 or inf"),
        ("rlp:t1=50ms", "t1=50ms: a multiple of 20ms, up to 20s"),
        ("rlp:throttle=0", "throttle=0: octets a second, 10 to 100000, such as 960"),
    ] {
        assert!(refused(given).contains(part), "{given}: {}", refused(given));
    }
}

proptest! {
    #[test]
    fn what_is_printed_reads_back_the_same(
        n2 in proptest::option::of(1u16..=255),
        window in 1u16..=32,
        t1 in 1u16..=1000,
        then in prop_oneof![Just(Then::Reset), Just(Then::GiveUp), Just(Then::Disconnect)],
        throttle in proptest::option::of(10u32..=100_000),
        delay in 0u64..1_000_000,
        back in any::<bool>(),
    ) {
        let persistency = Persistency { retransmissions: n2, then };
        let recovery = if back { Recovery::GoBack } else { Recovery::Selective };
        let parameters = Parameters {
            persistency, recovery, t1_ticks: t1, send_window: window, receive_window: window, ..Parameters::default()
        };
        let rlp = ArqSpec::Rlp(RlpSpec { parameters, throttle, delay: Span::from_micros(delay) });
        prop_assert_eq!(arq(&rlp.to_string()), rlp);
        let order = if back { Order::AsReceived } else { Order::InSequence };
        let llp = ArqSpec::Llp(LlpSpec { window, persistency, order });
        prop_assert_eq!(arq(&llp.to_string()), llp);
    }
}

/// The queue stays, the rate is the circuit's, errors go on the air, and the delay is the network's
/// behind it.
#[test]
fn the_rows_of_a_link_with_rlp() {
    let down = direction("rate=2mbit,queue=5p,delay=40ms,loss=1%");
    let Rows { up, down, hop } = arq("rlp").rows(&DirectionSpec::default(), &down).expect("rows");
    let names = |row: &DirectionSpec| row.stages.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&down), ["bottleneck", "arq", "delay"]);
    assert_eq!(names(&up), ["bottleneck", "arq"]);
    assert_eq!(down.rate(), BitRate::from_bits_per_second(9600));
    let Some(StageSpec::Bottleneck(queue)) = down.find("bottleneck") else { panic!("no queue") };
    assert_eq!(queue.queue, QueueSpec::DropTail(Limit::Packets(5)));
    assert_eq!((hop.errors_up.is_some(), hop.errors_down.is_some()), (false, true));
}

/// Outages are on the air, each with its name; one that a profile puts behind the link layer stays,
/// and one on command needs no stage.
#[test]
fn outages_are_on_the_air_or_behind() {
    let mut down = direction("delay=40ms,outage=5s+1s");
    let Some(StageSpec::Outage(air)) = down.find("outage").cloned() else { panic!("no outage") };
    let behind = OutageSpec { place: OutagePlace::Behind, ..air.clone() };
    let on_command = OutageSpec::default();
    let more = [("fade", air.clone()), ("beyond", behind), ("now", on_command)];
    down.stages.extend(more.map(|(name, spec)| (name.to_owned(), StageSpec::Outage(spec))));
    for arq in ["rlp", "llp"].map(arq) {
        let Rows { up, down, hop } = arq
            .rows(&direction("rate=1mbit"), &{
                let mut down = down.clone();
                down.put(StageSpec::Bottleneck(BottleneckSpec {
                    rate: RateSpec::Constant(BitRate::from_bits_per_second(9600).expect("not 0")),
                    ..BottleneckSpec::default()
                }));
                down
            })
            .expect("rows");
        assert!(up.find("outage").is_none() && hop.outages_up.is_empty());
        let rest: Vec<_> = down.stages.iter().filter(|(_, spec)| spec.kind() == "outage").collect();
        assert_eq!(rest.len(), 1);
        assert_eq!(rest[0].0, "beyond");
        assert_eq!(hop.outages_down, [("outage".to_owned(), air.clone()), ("fade".to_owned(), air.clone())]);
    }
}

/// The line behind the circuit is what packets get (LL-04).
#[test]
fn a_throttle_is_the_rate_that_packets_get() {
    let rows = arq("rlp:throttle=960").rows(&DirectionSpec::default(), &DirectionSpec::default());
    let Rows { down, hop, .. } = rows.expect("rows");
    assert_eq!(down.rate(), BitRate::from_bits_per_second(7680));
    let Protocol::Rlp(spec) = hop.protocol else { panic!("{hop:?}") };
    assert_eq!(spec.throttle_down, Some(Throttle::ASYNCHRONOUS));
    assert_eq!(spec.throttle_up, Some(Throttle::ASYNCHRONOUS));
}

#[test]
fn llp_takes_rate_and_delay_of_each_direction() {
    let (up, down) = (direction("rate=100kbit"), direction("rate=9600bit,delay=150ms"));
    let Rows { up, down, hop } = arq("llp").rows(&up, &down).expect("rows");
    assert!(down.find("delay").is_none(), "the delay is beneath the link layer");
    assert_eq!(up.rate(), BitRate::from_bits_per_second(100_000));
    let Protocol::Llp(spec) = hop.protocol else { panic!("{hop:?}") };
    assert_eq!((spec.rate_up, spec.rate_down), (up.rate().expect("one"), down.rate().expect("one")));
    assert_eq!((spec.delay_up, spec.delay_down), (Span::ZERO, Span::from_millis(150)));
}

#[test]
fn links_that_a_link_layer_cannot_run_over() {
    let refused = |arq: ArqSpec, down: &str| {
        let error = arq.rows(&direction("rate=1mbit"), &direction(down)).expect_err("it cannot");
        assert_eq!(error.stage, "arq");
        error.why
    };
    assert!(refused(arq("llp"), "delay=1ms").contains("down: LLP runs at the link's rate: give"));
    let jitter = refused(arq("llp"), "rate=1mbit,delay=10ms,jitter=1ms");
    assert!(jitter.contains("constant delay"), "{jitter}");
    let mut two = direction("loss=1%");
    two.stages.push(("errors.2".to_owned(), two.stages[0].1.clone()));
    let error = arq("rlp").rows(&two, &DirectionSpec::default()).expect_err("it cannot");
    assert!(error.why.starts_with("up: two error processes"), "{error}");
}
