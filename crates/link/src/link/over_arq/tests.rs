//! Tests of the conversion of a link's stages for a link layer.

use super::*;
use crate::profile::{Parameters as Line, Resolve};
use crate::stage::bottleneck::{Limit, QueueSpec};
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

fn hop(link: &LinkSpec) -> &HopSpec {
    match &link.medium {
        MediumSpec::Arq { hop, .. } => hop,
        MediumSpec::None => panic!("the link layer is missing"),
    }
}

/// The queue stays, the rate is the circuit's, errors move to the air, and the delay follows behind
/// the circuit.
#[test]
fn the_rows_of_a_link_with_rlp() {
    let down = direction("rate=2mbit,queue=5p,delay=40ms,loss=1%");
    let link = LinkSpec::over_arq(&arq("rlp"), &DirectionSpec::default(), &down).expect("a link");
    let hop = hop(&link);
    let names = |row: &DirectionSpec| row.stages.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(link.above.each_ref().map(names), [["bottleneck"], ["bottleneck"]]);
    assert_eq!(link.below.each_ref().map(names), [vec![], vec!["delay".to_owned()]]);
    assert_eq!(link.rate(Direction::Down), BitRate::from_bits_per_second(9600));
    let Some(StageSpec::Bottleneck(queue)) = link.above[1].find("bottleneck") else { panic!("no queue") };
    assert_eq!(queue.queue, QueueSpec::drop_tail(Limit::Packets(5)));
    assert_eq!((hop.errors_up.is_some(), hop.errors_down.is_some()), (false, true));
}

/// Outages move to the air with their names. An outage that the profile places behind the link
/// layer stays a stage, and one on command needs no stage.
#[test]
fn outages_are_on_the_air_or_behind() {
    let mut down = direction("delay=40ms,outage=5s+1s");
    let Some(StageSpec::Outage(air)) = down.find("outage").cloned() else { panic!("no outage") };
    let behind = OutageSpec { place: OutagePlace::Behind, ..air.clone() };
    let on_command = OutageSpec::default();
    let more = [("fade", air.clone()), ("beyond", behind), ("now", on_command)];
    down.stages.extend(more.map(|(name, spec)| (name.to_owned(), StageSpec::Outage(spec))));
    for arq in ["rlp", "llp"].map(arq) {
        let mut down = down.clone();
        down.put(StageSpec::Bottleneck(BottleneckSpec {
            rate: RateSpec::Constant(BitRate::from_bits_per_second(9600).expect("not 0")),
            ..BottleneckSpec::default()
        }));
        let link = LinkSpec::over_arq(&arq, &direction("rate=1mbit"), &down).expect("a link");
        let hop = hop(&link);
        let outages = |direction: Direction| {
            let rows = [&link.above[direction as usize], &link.below[direction as usize]];
            let stages = rows.into_iter().flat_map(|row| &row.stages);
            stages.filter(|(_, spec)| spec.kind() == "outage").collect::<Vec<_>>()
        };
        assert!(outages(Direction::Up).is_empty() && hop.outages_up.is_empty());
        let rest = outages(Direction::Down);
        assert_eq!(rest.len(), 1);
        assert_eq!(rest[0].0, "beyond");
        assert_eq!(hop.outages_down, [("outage".to_owned(), air.clone()), ("fade".to_owned(), air.clone())]);
    }
}

/// The rate of packets is that of the line behind the circuit (LL-04).
#[test]
fn a_throttle_is_the_rate_that_packets_get() {
    let none = DirectionSpec::default();
    let link = LinkSpec::over_arq(&arq("rlp:throttle=960"), &none, &none).expect("a link");
    let hop = hop(&link);
    assert_eq!(link.rate(Direction::Down), BitRate::from_bits_per_second(7680));
    let Protocol::Rlp(spec) = hop.protocol else { panic!("{hop:?}") };
    assert_eq!(spec.throttle_down, Some(Throttle::ASYNCHRONOUS));
    assert_eq!(spec.throttle_up, Some(Throttle::ASYNCHRONOUS));
}

#[test]
fn llp_takes_rate_and_delay_of_each_direction() {
    let (up, down) = (direction("rate=100kbit"), direction("rate=9600bit,delay=150ms"));
    let link = LinkSpec::over_arq(&arq("llp"), &up, &down).expect("a link");
    let hop = hop(&link);
    assert!(link.below[1].find("delay").is_none(), "the delay is beneath the link layer");
    assert_eq!(link.rate(Direction::Up), BitRate::from_bits_per_second(100_000));
    let Protocol::Llp(spec) = hop.protocol else { panic!("{hop:?}") };
    let rate = |direction| link.rate(direction).expect("one");
    assert_eq!((spec.rate_up, spec.rate_down), (rate(Direction::Up), rate(Direction::Down)));
    assert_eq!((spec.delay_up, spec.delay_down), (Span::ZERO, Span::from_millis(150)));
}

#[test]
fn links_that_a_link_layer_cannot_run_over() {
    let refused = |arq: ArqSpec, down: &str| {
        let link = LinkSpec::over_arq(&arq, &direction("rate=1mbit"), &direction(down));
        let error = link.expect_err("it cannot");
        assert_eq!(error.stage, "arq");
        error.why
    };
    assert!(refused(arq("llp"), "delay=1ms").contains("down: LLP runs at the link's rate: give"));
    let jitter = refused(arq("llp"), "rate=1mbit,delay=10ms,jitter=1ms");
    assert!(jitter.contains("constant delay"), "{jitter}");
    let mut two = direction("loss=1%");
    two.stages.push(("errors.2".to_owned(), two.stages[0].1.clone()));
    let link = LinkSpec::over_arq(&arq("rlp"), &two, &DirectionSpec::default());
    let error = link.expect_err("it cannot");
    assert!(error.why.starts_with("up: two error processes"), "{error}");
}
