use super::*;
use packet::{Frame, Layer};
use proptest::prelude::*;
use vocabulary::Sending;

fn outage(toml: &str, seed: u64) -> Outage {
    let spec = toml::from_str(toml).unwrap_or_else(|error| panic!("{error}"));
    Outage::new(spec, &Seed::campaign(seed).stage("outage")).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns whether a packet is lost that is sent from `start` to `end` and arrives at `at`.
fn loses_sent(stage: &mut Outage, start: Time, end: Time, at: Time) -> bool {
    let mut packet = Packet::new(0, Frame::owned(Layer::Ip, Vec::new()), start);
    packet.sending = Sending { start, end };
    packet.at = at;
    let mut out = Outbox::default();
    stage.accept(packet, &mut out);
    let (passed, lost) = out.take();
    assert_eq!(passed.len() + lost.len(), 1, "a packet leaves once, at once");
    for packet in lost.iter().chain(&passed) {
        assert_eq!(packet.at, at);
        assert_eq!(packet.loss(), (passed.is_empty()).then_some(Loss::Outage));
    }
    passed.is_empty()
}

fn loses(stage: &mut Outage, at: Time) -> bool {
    loses_sent(stage, at, at, at)
}

fn ms(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// Returns the share of time down until `end` for an exponential process that starts up: the mean
/// of `down / (up + down) · (1 − exp(−t (1/up + 1/down)))`.
fn expected_share(up: f64, down: f64, end: f64) -> f64 {
    let rate = 1.0 / up + 1.0 / down;
    down / (up + down) * (1.0 + (-end * rate).exp_m1() / (end * rate))
}

#[test]
fn s4_an_outage_of_a_schedule_takes_exactly_what_comes_during_it() {
    // ReSoA evaluation Table 8.4: outages of 0.01 s to 5 s.
    for length in [10, 50, 100, 500, 1000, 2000, 3000, 5000] {
        let mut stage = outage(&format!("schedule = [{{ start = '2s', length = '{length}ms' }}]"), 1);
        for at in 0..10_000 {
            let during = (2000..2000 + length).contains(&at);
            assert_eq!(loses(&mut stage, ms(at)), during, "{at} ms, outage of {length} ms");
        }
    }
}

#[test]
fn an_exponential_process_is_down_for_its_share_of_the_time() {
    for (up, down, seed) in [(900, 100, 1), (500, 500, 2), (2000, 30, 3)] {
        let mut stage = outage(&format!("process = {{ up = '{up}ms', down = '{down}ms' }}"), seed);
        let count = 1_000_000;
        let lost = (0..count).filter(|&number| loses(&mut stage, ms(10 * number))).count();
        let (up, down, end) = (up as f64 / 1e3, down as f64 / 1e3, 1e4);
        let share = lost as f64 / count as f64;
        // Variance of the share of a two-state process over a long time: 2 p q τ / T with 1/τ =
        // 1/up + 1/down.
        let p = down / (up + down);
        let deviation = (2.0 * p * (1.0 - p) * (up * down / (up + down)) / end).sqrt();
        let expected = expected_share(up, down, end);
        assert!((share - expected).abs() < 5.0 * deviation, "{share} instead of {expected} ± {deviation}");
    }
}

#[test]
fn a_process_starts_up_and_settles_by_the_formula() {
    // Early shares depend on the start: 40 000 links, each observed for 0.2 s.
    let seeds = 40_000;
    let lost: usize = (0..seeds)
        .map(|seed| {
            let mut stage = outage("process = { up = '200ms', down = '100ms' }", seed);
            (0..25).filter(|&number| loses(&mut stage, ms(8 * number + 4))).count()
        })
        .sum();
    let share = lost as f64 / (25 * seeds) as f64;
    let expected = expected_share(0.2, 0.1, 0.2);
    assert!((share - expected).abs() < 0.006, "{share} instead of {expected}");
}

#[test]
fn times_down_are_exponential_or_constant() {
    let mut stage = outage("process = { up = '80ms', down = '20ms' }", 4);
    let (mut lengths, mut run) = (Vec::new(), 0_u32);
    for at in 0..2_000_000 {
        if loses(&mut stage, Time::from_nanos(at * 500_000)) {
            run += 1;
        } else if run > 0 {
            lengths.push(f64::from(run) * 0.5);
            run = 0;
        }
    }
    // Observed every half millisecond, an exponential time is geometric: P(longer than n steps) =
    // q^n, q = exp(−0.5/20).
    let count = lengths.len() as f64;
    let mean = lengths.iter().sum::<f64>() / count;
    let expected = 0.5 / (1.0 - (-0.5_f64 / 20.0).exp());
    assert!((mean - expected).abs() < 5.0 * expected / count.sqrt(), "{mean} ms instead of {expected} ms");
    let longer = lengths.iter().filter(|&&length| length > 40.0).count() as f64 / count;
    let expected = (-40.0_f64 / 20.0).exp();
    assert!((longer - expected).abs() < 0.02, "{longer} longer than twice the mean instead of {expected}");

    let mut constant = outage("process = { up = '80ms', down = '20ms', sojourn = 'constant' }", 4);
    for at in 0..100_000 {
        assert_eq!(loses(&mut constant, ms(at)), at % 100 >= 80, "{at} ms");
    }
}

#[test]
fn outages_do_not_depend_on_traffic() {
    let toml = "process = { up = '300ms', down = '50ms' }";
    let (mut dense, mut sparse) = (outage(toml, 5), outage(toml, 5));
    for at in 0..200_000 {
        let lost = loses(&mut dense, ms(at));
        if at % 997 == 0 {
            assert_eq!(loses(&mut sparse, ms(at)), lost, "{at} ms");
        }
    }
}

#[test]
fn a_long_transmission_meets_an_outage_that_an_instant_does_not() {
    let schedule = "schedule = [{ start = '100ms', length = '20ms' }]";
    let mut instant = outage(schedule, 1);
    let mut transmission = outage(&format!("judged = 'transmission'\n{schedule}"), 1);
    // 480 ms is the time of a packet of 576 bytes at 9600 bit/s; 70 ms is the delay behind the
    // limiter.
    assert!(!loses_sent(&mut instant, ms(0), ms(480), ms(550)));
    assert!(loses_sent(&mut transmission, ms(0), ms(480), ms(550)));
    assert!(!loses_sent(&mut transmission, ms(480), ms(960), ms(1030)));
}

#[test]
fn commands_take_the_link_down_and_up() {
    let mut stage = outage("schedule = [{ start = '50ms', length = '10ms' }]", 1);
    stage.command(ms(10), OutageCommand::Down);
    assert!(loses(&mut stage, ms(10)));
    assert!(loses(&mut stage, ms(20)));
    stage.command(ms(30), OutageCommand::Up);
    assert!(!loses(&mut stage, ms(30)));
    stage.command(ms(40), OutageCommand::DownFor(Span::from_millis(5)));
    assert!(loses(&mut stage, ms(44)));
    assert!(!loses(&mut stage, ms(45)));
    stage.command(ms(46), OutageCommand::DownFor(Span::from_millis(4)));
    stage.command(ms(47), OutageCommand::DownFor(Span::from_millis(1)));
    assert!(loses(&mut stage, ms(49)), "a shorter outage within a longer one does not end it");
    stage.command(ms(52), OutageCommand::Up);
    assert!(loses(&mut stage, ms(55)), "a scheduled outage is not ended by a command");
    assert!(!loses(&mut stage, ms(60)));
    // The packet is sent before and during a commanded outage, and judged after it.
    stage.set(toml::from_str("judged = 'transmission'").expect("a spec"), ms(65)).expect("possible");
    stage.command(ms(70), OutageCommand::DownFor(Span::from_millis(10)));
    stage.command(ms(90), OutageCommand::DownFor(Span::from_millis(10)));
    assert!(!loses_sent(&mut stage, ms(66), ms(69), ms(110)));
    assert!(loses_sent(&mut stage, ms(69), ms(71), ms(110)));
    assert!(!loses_sent(&mut stage, ms(80), ms(89), ms(110)));
    assert!(loses_sent(&mut stage, ms(89), ms(120), ms(130)));
}

#[test]
fn other_parameters_count_from_their_change() {
    let mut stage = outage("schedule = [{ start = '10ms', length = '10ms' }]", 1);
    let other = "schedule = [{ start = '5ms', length = '1ms' }]\nperiod = '10ms'";
    stage.set(toml::from_str(other).expect("a spec"), ms(12)).expect("possible");
    for at in 12..100 {
        assert_eq!(loses(&mut stage, ms(at)), (at - 12) % 10 == 5, "{at} ms");
    }
    // An unchanged schedule continues.
    let same = format!("judged = 'transmission'\n{other}");
    stage.set(toml::from_str(&same).expect("a spec"), ms(100)).expect("possible");
    for at in 100..200 {
        assert_eq!(loses(&mut stage, ms(at)), (at - 12) % 10 == 5, "{at} ms");
    }
}

#[test]
fn parameters_read_back_as_written() {
    let text = "judged = 'transmission'\nperiod = '1min'\nschedule = [{ start = '5s', length = '1s' }]\n\
                process = { up = '10s', down = '500ms', sojourn = 'constant' }";
    let spec: OutageSpec = toml::from_str(text).expect("a spec");
    assert_eq!(toml::from_str::<OutageSpec>(&toml::to_string(&spec).expect("printable")), Ok(spec));
    assert_eq!(toml::from_str(""), Ok(OutageSpec::default()));
    assert!(toml::from_str::<OutageSpec>("schedule = [{ start = '5s', end = '6s' }]").is_err());
}

#[test]
fn impossible_parameters_are_named() {
    let refuse = |text: &str| {
        let spec = toml::from_str(text).expect("a spec");
        Outage::new(spec, &Seed::campaign(1)).expect_err("impossible").to_string()
    };
    let refused = refuse("period = '10s'\nschedule = [{ start = '9s', length = '2s' }]");
    assert!(
        refused.starts_with("an outage that starts at 9s and lasts 2s does not end within the period of 10s")
    );
    assert!(refuse("period = '10s'").starts_with("a period of 10s without an outage"));
    assert!(
        refuse("period = '0'\nschedule = [{ start = '0', length = '0' }]").starts_with("a period of 0ms")
    );
    assert_eq!(
        refuse("after = [{ bytes = '0B', length = '1s' }]"),
        "an outage after 0 bytes never begins: use at least 1B, or a time"
    );
    assert_eq!(
        refuse("process = { up = '0', down = '1s' }"),
        "mean time up of the outage process is 0: both mean times must be above 0"
    );
}

/// Bytes of a stage that counts packets; returns those that are lost.
#[test]
fn s4_an_outage_begins_with_a_number_of_bytes() {
    let spec = "after = [{ bytes = '300B', length = '10ms' }, { bytes = '250B', length = '3ms' }]";
    let mut stage = outage(spec, 1);
    let mut lost = Vec::new();
    for at in 0..30 {
        let packet = Packet::new(at, Frame::owned(Layer::Ip, vec![0; 100]), ms(at));
        let mut out = Outbox::default();
        stage.accept(packet, &mut out);
        lost.extend(out.take().1.iter().map(|packet| packet.number));
    }
    // The third packet, at 2 ms, has byte 250 and byte 300: the longer outage counts.
    assert_eq!(lost, (3..12).collect::<Vec<_>>());
    let command = |stage: &mut Outage, to: &str, now| {
        let spec = toml::from_str(to).expect("a spec");
        stage.change(&StageSpec::Outage(spec), now).expect("it changes");
    };
    command(&mut stage, "after = [{ bytes = '100B', length = '5ms' }]", ms(40));
    assert!(!loses(&mut stage, ms(41)), "a packet of no bytes begins nothing");
    stage.accept(Packet::new(0, Frame::owned(Layer::Ip, vec![0; 100]), ms(42)), &mut Outbox::default());
    assert!(loses(&mut stage, ms(46)) && !loses(&mut stage, ms(47)), "it counts from the change on");
}

proptest! {
    #[test]
    fn a_schedule_is_met_as_a_search_of_all_its_outages_says(
        outages in prop::collection::vec((0_u64..100, 0_u64..30), 0..8),
        period in prop::option::of(1_u64..40),
        gaps in prop::collection::vec((0_u64..300, 0_u64..40), 1..60),
    ) {
        let nanos = Span::from_nanos;
        let schedule: Vec<_> =
            outages.iter().map(|&(start, length)| ScheduledOutage { start: nanos(start), length: nanos(length) }).collect();
        // A period in which every outage fits, if there is an outage to repeat.
        let end = outages.iter().map(|(start, length)| start + length).max().unwrap_or(0);
        let period = period.filter(|_| outages.iter().any(|outage| outage.1 > 0)).map(|more| end + more);
        let spec = OutageSpec {
            schedule,
            after: Vec::new(),
            period: period.map(nanos),
            process: None,
            judged: Judged::Transmission,
            place: OutagePlace::Air,
        };
        let mut stage = Outage::new(spec, &Seed::campaign(1)).expect("possible");
        let mut start = 0;
        for (gap, length) in gaps {
            start += gap;
            let last = start + length;
            let out_at = |at: u64| {
                let at = period.map_or(at, |period| at % period);
                outages.iter().any(|&(from, length)| (from..from + length).contains(&at))
            };
            let expected = (start..=last).any(out_at);
            let lost = loses_sent(&mut stage, Time::from_nanos(start), Time::from_nanos(last), Time::from_nanos(last));
            prop_assert_eq!(lost, expected, "from {} to {}", start, last);
        }
    }
}
