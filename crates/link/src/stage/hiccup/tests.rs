use super::*;
use crate::fate::Mark;
use packet::{Frame, Layer};
use proptest::prelude::*;
use rand::RngExt;

mod model;

/// The fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leaving {
    pub number: u64,
    pub at: Time,
    pub lost: Option<Loss>,
    /// Time inside, if the packet was held.
    pub held: Option<Span>,
    pub overtaken: u32,
}

impl Leaving {
    fn of(packet: &Packet) -> Self {
        let (mut held, mut overtaken) = (None, 0);
        for &Mark { effect, at, .. } in &packet.marks {
            assert_eq!(at, packet.at, "marks carry the moment of leaving");
            match effect {
                Effect::Held(span) => held = Some(span),
                Effect::Overtaken(count) => overtaken = count,
                Effect::Lost(_) => {}
                other => panic!("no effect of a hiccup: {other:?}"),
            }
        }
        Self { number: packet.number, at: packet.at, lost: packet.loss(), held, overtaken }
    }
}

/// A stage with its outbox and the packets that have left it, in order.
struct Rig {
    stage: Hiccup,
    out: Outbox,
    left: Vec<Leaving>,
    next: u64,
}

impl Rig {
    fn new(toml: &str) -> Self {
        let spec = toml::from_str(toml).unwrap_or_else(|error| panic!("{error}"));
        Self::of(spec, 1)
    }

    fn of(spec: HiccupSpec, seed: u64) -> Self {
        let stage =
            Hiccup::new(spec, &Seed::campaign(seed).stage("hiccup")).unwrap_or_else(|e| panic!("{e}"));
        Self { stage, out: Outbox::default(), left: Vec::new(), next: 0 }
    }

    /// Handles all events that are due until `now`.
    fn run(&mut self, now: Time) -> &mut Self {
        loop {
            let due = self.stage.due();
            if due > now || due == Time::NEVER {
                return self;
            }
            self.stage.advance(due, &mut self.out);
            self.fetch();
        }
    }

    fn packet(&mut self, now: Time) -> &mut Self {
        self.run(now);
        let packet = Packet::new(self.next, Frame::owned(Layer::Ip, Vec::new()), now);
        self.next += 1;
        self.stage.accept(packet, &mut self.out);
        self.fetch();
        self
    }

    fn command(&mut self, now: Time, command: HiccupCommand) -> &mut Self {
        self.run(now);
        self.stage.command(now, command).unwrap_or_else(|error| panic!("{error}"));
        self
    }

    fn fetch(&mut self) {
        let (passed, lost) = self.out.take();
        self.left.extend(lost.iter().chain(&passed).map(Leaving::of));
    }

    fn numbers(&self) -> Vec<u64> {
        self.left.iter().map(|leaving| leaving.number).collect()
    }
}

fn ms(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// Returns instants with independent gaps of up to twice `gap`.
fn arrivals(count: usize, gap: Span, seed: u64) -> Vec<Time> {
    let mut stream = Seed::campaign(seed).stage("arrivals").stream();
    let mut now = Time::ZERO;
    let mut draw = || {
        now += Span::from_nanos(stream.random_range(0..=2 * gap.as_nanos()));
        now
    };
    (0..count).map(|_| draw()).collect()
}

#[test]
fn ll_23_a_hold_delays_to_its_end_and_flushes_in_order() {
    let mut rig = Rig::new("hold = { span = '2s', trigger = { every = '10s' } }");
    let came = arrivals(400_000, Span::from_millis(3), 1);
    for &at in &came {
        rig.packet(at);
    }
    rig.run(*came.last().expect("some") + Span::from_secs(20));
    let (period, span) = (10_000_000_000, 2_000_000_000);
    assert_eq!(rig.left.len(), came.len());
    for (leaving, (number, &at)) in rig.left.iter().zip((0..).zip(&came)) {
        let into = at.as_nanos() % period;
        // The first hold starts after one period.
        let wait = if at.as_nanos() >= period && into < span { span - into } else { 0 };
        let held = (wait > 0).then_some(Span::from_nanos(wait));
        let expected = Leaving { number, at: at + Span::from_nanos(wait), lost: None, held, overtaken: 0 };
        assert_eq!(*leaving, expected);
    }
}

#[test]
fn ll_25_a_held_packet_expires_exactly_at_its_arrival_plus_the_expiration_time() {
    let mut rig = Rig::new("expiration = '700ms'\nhold = { span = '2s', trigger = { every = '10s' } }");
    let came = arrivals(400_000, Span::from_millis(3), 2);
    for &at in &came {
        rig.packet(at);
    }
    rig.run(*came.last().expect("some") + Span::from_secs(20));
    assert_eq!(rig.left.len(), came.len(), "every packet leaves once");
    rig.left.sort_by_key(|leaving| leaving.number);
    let mut expired = 0;
    for (leaving, &at) in rig.left.iter().zip(&came) {
        let into = at.as_nanos() % 10_000_000_000;
        let remains =
            if at.as_nanos() >= 10_000_000_000 { 2_000_000_000_u64.saturating_sub(into) } else { 0 };
        if remains >= 700_000_000 {
            expired += 1;
            assert_eq!((leaving.lost, leaving.at), (Some(Loss::Expired), at + Span::from_millis(700)));
        } else {
            assert_eq!((leaving.lost, leaving.at), (None, at + Span::from_nanos(remains)));
        }
    }
    assert!(expired > 40_000, "{expired}");
}

#[test]
fn ll_24_a_selected_packet_is_displaced_by_the_reordering_length() {
    for length in 1..=5 {
        let mut rig =
            Rig::new(&format!("reorder = {{ length = {length}, trigger = {{ every-packets = 10 }} }}"));
        let came = arrivals(100_000, Span::from_millis(1), 3);
        for &at in &came {
            rig.packet(at);
        }
        // The very last packet was selected and has no successor.
        assert_eq!((rig.left.len(), rig.stage.waiting()), (came.len() - 1, 1));
        for (place, leaving) in rig.left.iter().enumerate() {
            let number = leaving.number as usize;
            if number % 10 == 9 {
                assert_eq!((place, leaving.overtaken), (number + length, length as u32));
                assert_eq!(leaving.at, came[number + length], "right behind the last that overtakes it");
                assert_eq!(leaving.held, Some(came[number + length] - came[number]));
            } else {
                assert_eq!((leaving.overtaken, leaving.held, leaving.at), (0, None, came[number]));
            }
        }
    }
}

#[test]
fn random_holds_cover_the_share_of_a_poisson_process() {
    // A hold that starts within a hold extends it. The link is held while an M/D/∞ system is busy,
    // which is a share of 1 − exp(−span / mean).
    let mut rig = Rig::new("hold = { span = '500ms', trigger = { random = '1s' } }");
    let count = 1_000_000;
    for number in 0..count {
        rig.packet(ms(10 * number));
    }
    rig.run(ms(11 * count));
    let held = rig.left.iter().filter(|leaving| leaving.held.is_some()).count();
    let share = held as f64 / count as f64;
    let expected = 1.0 - (-0.5_f64).exp();
    // There are 10 000 holds, and the standard deviation of the share is below 0.004.
    assert!((share - expected).abs() < 0.02, "{share} instead of {expected}");
    assert_eq!(rig.numbers(), (0..count).collect::<Vec<_>>());
}

#[test]
fn a_hold_starts_with_the_packet_that_triggers_it() {
    let mut rig = Rig::new("hold = { span = '30ms', trigger = { packet = 2 } }");
    rig.packet(ms(0)).packet(ms(10)).packet(ms(20)).packet(ms(40)).packet(ms(50));
    // Events due at an instant precede arrivals at that instant, so packet 3 arrives too late for
    // the hold.
    let at: Vec<_> = rig.left.iter().map(|leaving| leaving.at).collect();
    assert_eq!(at, [ms(0), ms(40), ms(40), ms(40), ms(50)]);
    assert_eq!(rig.left[3].held, None);
}

#[test]
fn commands_hold_release_and_reorder() {
    let mut rig = Rig::new("reorder = { length = 2 }");
    rig.command(ms(5), HiccupCommand::Hold(Span::MAX)).packet(ms(10)).packet(ms(20));
    rig.command(ms(25), HiccupCommand::Release).run(ms(25));
    assert_eq!(rig.left.iter().map(|leaving| leaving.at).collect::<Vec<_>>(), [ms(25), ms(25)]);
    rig.command(ms(30), HiccupCommand::ReorderNext);
    rig.packet(ms(31)).packet(ms(32)).packet(ms(33)).packet(ms(34));
    assert_eq!(rig.numbers(), [0, 1, 3, 4, 2, 5]);
    rig.command(ms(40), HiccupCommand::Hold(Span::from_millis(10))).packet(ms(41)).run(ms(60));
    assert_eq!(rig.left.last().map(|leaving| leaving.at), Some(ms(50)));
    // A shorter hold within a longer one does not end it.
    rig.command(ms(60), HiccupCommand::Hold(Span::from_millis(30)));
    rig.command(ms(65), HiccupCommand::Hold(Span::from_millis(5))).packet(ms(66)).run(ms(100));
    assert_eq!(rig.left.last().map(|leaving| leaving.at), Some(ms(90)));

    let error =
        Rig::new("").stage.command(ms(0), HiccupCommand::ReorderNext).expect_err("no length is known");
    assert_eq!(error, HiccupError::NoReorder);
}

#[test]
fn the_last_packet_waits_for_its_timeout_and_not_beyond() {
    let mut rig = Rig::new("reorder = { length = 3, timeout = '50ms', trigger = { packet = 1 } }");
    rig.packet(ms(0)).packet(ms(10)).run(ms(1000));
    let last = rig.left[1];
    assert_eq!((last.number, last.at, last.overtaken), (0, ms(50), 1));

    // No packet leaves during a hold. This one goes first at its end, overtaken by only one packet.
    let mut rig = Rig::new("reorder = { length = 3, timeout = '50ms', trigger = { packet = 1 } }");
    rig.packet(ms(0)).packet(ms(10)).command(ms(20), HiccupCommand::Hold(Span::from_millis(60)));
    rig.packet(ms(30)).packet(ms(40)).run(ms(1000));
    assert_eq!(rig.numbers(), [1, 0, 2, 3]);
    assert_eq!((rig.left[1].at, rig.left[1].overtaken), (ms(80), 1));
}

#[test]
fn a_full_stage_loses_what_comes() {
    let mut rig = Rig::new("limit = 2\nhold = { span = '1s', trigger = { at = '0' } }");
    rig.packet(ms(1)).packet(ms(2)).packet(ms(3)).run(ms(2000));
    assert_eq!(rig.numbers(), [2, 0, 1]);
    assert_eq!((rig.left[0].lost, rig.left[0].at), (Some(Loss::QueueFull), ms(3)));
}

#[test]
fn other_parameters_apply_to_what_is_inside() {
    let mut rig = Rig::new("hold = { span = '1s', trigger = { every = '10s' } }");
    rig.packet(ms(10_100)).packet(ms(10_500));
    let spec = "expiration = '300ms'\nhold = { span = '2s', trigger = { every = '10s' } }";
    rig.stage.set(toml::from_str(spec).expect("a spec"), ms(10_600)).expect("possible");
    rig.run(ms(12_000));
    // The first packet is dropped at once, not in the past. The current hold keeps its end, but no
    // packet is left by then.
    let fates: Vec<_> = rig.left.iter().map(|leaving| (leaving.at, leaving.lost)).collect();
    assert_eq!(fates, [(ms(10_600), Some(Loss::Expired)), (ms(10_800), Some(Loss::Expired))]);
    // The unchanged trigger continues to count from the start. Its holds now last 2 s.
    rig.packet(ms(21_900)).run(ms(30_000));
    assert_eq!(rig.left[2].at, ms(22_000));

    // A changed trigger counts anew: it fires with the second packet after the change.
    let spec = "hold = { span = '2s', trigger = { packet = 2 } }";
    rig.run(ms(33_000)).stage.set(toml::from_str(spec).expect("a spec"), ms(33_000)).expect("possible");
    rig.packet(ms(33_001)).packet(ms(33_002)).run(ms(40_000));
    assert_eq!((rig.left[3].at, rig.left[4].at), (ms(33_001), ms(35_002)));

    let mut rig = Rig::new("reorder = { length = 5, trigger = { packet = 1 } }");
    rig.packet(ms(0)).packet(ms(1)).packet(ms(2));
    rig.stage.set(HiccupSpec::default(), ms(3)).expect("possible");
    rig.run(ms(3));
    assert_eq!(rig.numbers(), [1, 2, 0]);
}

#[test]
fn a_run_that_ends_gives_up_everything_inside() {
    let mut rig = Rig::new("reorder = { length = 5, trigger = { packet = 1 } }");
    rig.packet(ms(0)).command(ms(1), HiccupCommand::Hold(Span::MAX)).packet(ms(2));
    let mut rest = Vec::new();
    rig.stage.clear(&mut rest);
    assert_eq!((rest.len(), rig.stage.waiting(), rig.stage.due()), (2, 0, Time::NEVER));
}

#[test]
fn parameters_read_back_as_written() {
    let text = "release = { shuffled = 3 }\nexpiration = '5s'\nlimit = 100\n\
                hold = { span = '2s', trigger = { random = '30s' } }\n\
                reorder = { length = 3, timeout = '1s', trigger = { every-packets = 50 } }";
    let spec: HiccupSpec = toml::from_str(text).expect("a spec");
    assert_eq!(toml::from_str::<HiccupSpec>(&toml::to_string(&spec).expect("printable")), Ok(spec));
    assert_eq!(toml::from_str(""), Ok(HiccupSpec::default()));
    assert!(toml::from_str::<HiccupSpec>("expiry = '5s'").is_err());
    assert!(
        toml::from_str::<HiccupSpec>("hold = { span = '5s', trigger = { at = '1s', every = '1s' } }")
            .is_err()
    );
}

#[test]
fn impossible_parameters_are_named() {
    let refuse = |text: &str| {
        let spec = toml::from_str(text).expect("a spec");
        Hiccup::new(spec, &Seed::campaign(1)).expect_err("impossible").to_string()
    };
    let refused = refuse("hold = { span = '1s', trigger = { every = '0' } }");
    assert_eq!(refused, "trigger of hold: every = 0: a period must be above 0");
    let refused = refuse("reorder = { length = 3, trigger = { packet = 0 } }");
    assert_eq!(refused, "trigger of reorder: packet = 0: packets are counted from 1");
    assert!(refuse("reorder = { length = 0 }").starts_with("reorder.length is 0"));
}

proptest! {
    #[test]
    fn a_release_is_a_permutation_with_bounded_displacement(count in 0_u64..200, most in 0_u32..20, seed in any::<u64>()) {
        for release in [Release::InOrder, Release::Reversed, Release::Shuffled(most)] {
            let mut rig = Rig::of(HiccupSpec { release, ..HiccupSpec::default() }, seed);
            rig.command(ms(0), HiccupCommand::Hold(Span::from_secs(1)));
            for number in 0..count {
                rig.packet(ms(number));
            }
            let order = rig.run(ms(1000)).numbers();
            for (place, leaving) in rig.left.iter().enumerate() {
                let before = order[..place].iter().filter(|&&other| other > leaving.number).count();
                prop_assert_eq!(leaving.overtaken as usize, before);
                let displacement = leaving.number.abs_diff(place as u64);
                match release {
                    Release::InOrder => prop_assert_eq!(displacement, 0),
                    Release::Reversed => prop_assert_eq!(leaving.number, count - 1 - place as u64),
                    Release::Shuffled(most) => prop_assert!(displacement <= u64::from(most)),
                }
            }
            let mut sorted = order;
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn it_does_what_the_reference_model_does(
        spec in model::specs(),
        came in prop::collection::vec(0_u64..150, 0..80),
    ) {
        let mut came = came;
        came.sort_unstable();
        let mut rig = Rig::of(spec.clone(), 1);
        for &at in &came {
            rig.packet(Time::from_nanos(at));
        }
        rig.run(Time::from_nanos(model::END));
        prop_assert_eq!(&rig.left, &model::run(&spec, &came));
    }
}
