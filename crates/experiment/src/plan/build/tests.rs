//! Tests of the way from a plan's fields to nodes, links, workloads and captures.
//!
//! Each field has a value of its own here, so a field that lands in another one's place shows.

mod nodes;

use super::*;
use crate::workload::sessions::Law;
use crate::workload::{Amount, Traffic};
use link::units::{BitRate, ByteCount};

/// A scenario of two nodes, `a` (0) and `b` (1), and a bulk workload.
pub(super) const SCENARIO: &str = "[[scenario.links]]\nbetween = [\"a\", \"b\"]\n";
pub(super) const BULK: &str =
    "[[workloads]]\nname = \"w\"\nkind = \"bulk\"\nfrom = \"a\"\nto = \"b\"\nbytes = \"1kB\"\n";

pub(super) fn parse(text: &str) -> Result<Plan, PlanError> {
    Plan::parse("plan.toml", text)
}

pub(super) fn built(text: &str) -> Experiment {
    let plan = parse(text).unwrap_or_else(|error| panic!("{error}"));
    plan.experiment(&plan.cells()[0], 0, 0).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the number of the line and the message of the error in a plan.
pub(super) fn refused(text: &str) -> (Option<usize>, String) {
    let error = parse(text).map(|_| ()).expect_err("a wrong plan");
    (error.at.map(|(line, _)| line), error.message)
}

/// Builds the workload with these fields, behind another workload.
fn workload(fields: &str) -> Workload {
    let text = format!("{SCENARIO}{BULK}[[workloads]]\nname = \"x\"\n{fields}\n");
    built(&text).workloads.swap_remove(1)
}

fn refused_workload(fields: &str) -> String {
    refused(&format!("{SCENARIO}{BULK}[[workloads]]\nname = \"x\"\n{fields}\n")).1
}

#[test]
fn each_field_of_a_workload_has_its_place() {
    let bulk = workload(
        "kind = \"bulk\"\nfrom = \"b\"\nto = \"a\"\nduration = \"3s\"\nconnections = 4\n\
         congestion-control = \"reno\"\nstart = \"5s\"\nbackground = true",
    );
    let expected = Workload {
        name: "x".to_owned(),
        start: Span::from_secs(5),
        background: true,
        kind: Traffic::Bulk {
            from: 1,
            to: 0,
            amount: Amount::Time(Span::from_secs(3)),
            connections: 4,
            congestion_control: Some("reno".to_owned()),
        },
    };
    assert_eq!(bulk, expected);
    let request = workload(
        "kind = \"request\"\nfrom = \"b\"\nto = \"a\"\nrequest = \"2B\"\nresponse = \"3B\"\ntimes = 4\n\
         pause = \"5s\"\nconnections = 6\ncongestion-control = \"reno\"\nfast-open = true",
    );
    let expected = Traffic::Request {
        client: 1,
        server: 0,
        request: ByteCount::new(2),
        response: ByteCount::new(3),
        times: 4,
        pause: Span::from_secs(5),
        connections: 6,
        congestion_control: Some("reno".to_owned()),
        fast_open: true,
    };
    assert_eq!((request.start, request.background, request.kind), (Span::ZERO, false, expected));
    let sessions = workload(
        "kind = \"sessions\"\nfrom = \"b\"\nto = \"a\"\nsources = 4\ninterval = \"3s\"\nbytes = \"2B\"\n\
         sigma = 0.5\nduration = \"5s\"\ncongestion-control = \"reno\"",
    );
    let law = Law { interval: Span::from_secs(3), mean: ByteCount::new(2), sigma: 0.5 };
    let expected = Traffic::Sessions {
        from: 1,
        to: 0,
        sources: 4,
        law,
        duration: Some(Span::from_secs(5)),
        congestion_control: Some("reno".to_owned()),
    };
    assert_eq!((sessions.background, sessions.kind), (true, expected));
    let datagrams = workload(
        "kind = \"datagrams\"\nfrom = \"b\"\nto = \"a\"\nrate = \"8kbit\"\nsize = \"20B\"\n\
         duration = \"3s\"\non = \"4s\"\noff = \"5s\"",
    );
    let expected = Traffic::Datagrams {
        from: 1,
        to: 0,
        rate: BitRate::from_bits_per_second(8000).expect("a rate"),
        size: ByteCount::new(20),
        duration: Some(Span::from_secs(3)),
        on_off: Some((Span::from_secs(4), Span::from_secs(5))),
    };
    assert_eq!(datagrams.kind, expected);
    let ping = workload(
        "kind = \"ping\"\nfrom = \"b\"\nto = \"a\"\nsize = \"20B\"\ninterval = \"2s\"\nduration = \"9s\"",
    );
    let expected = Traffic::Ping {
        from: 1,
        to: 0,
        size: ByteCount::new(20),
        interval: Span::from_secs(2),
        duration: Some(Span::from_secs(9)),
    };
    assert_eq!(ping.kind, expected);
    let command =
        workload("kind = \"command\"\nnode = \"b\"\ncommand = \"x {address.a} {address6.b}\"\nlistens = 80");
    let expected = Traffic::Command { node: 1, line: "x 10.0.0.1 fd00::2".to_owned(), listens: Some(80) };
    assert_eq!(command.kind, expected);
    let beside = workload("kind = \"command\"\nnode = \"b\"\ncommand = \"{plan-folder}/x\"");
    let folder = std::env::current_dir().expect("a directory");
    let line = format!("{}/x", folder.display());
    assert_eq!(beside.kind, Traffic::Command { node: 1, line, listens: None });
}

/// The defaults that the schema documents.
#[test]
fn fields_of_a_workload_that_are_left_out() {
    let request = workload("kind = \"request\"\nfrom = \"b\"\nto = \"a\"\nresponse = \"3B\"").kind;
    let expected = Traffic::Request {
        client: 1,
        server: 0,
        request: ByteCount::new(100),
        response: ByteCount::new(3),
        times: 1,
        pause: Span::ZERO,
        connections: 1,
        congestion_control: None,
        fast_open: false,
    };
    assert_eq!(request, expected);
    let sessions = "kind = \"sessions\"\nfrom = \"b\"\nto = \"a\"\nrate = \"8kbit\"\nbytes = \"500B\"";
    let expected = Traffic::Sessions {
        from: 1,
        to: 0,
        sources: 1,
        law: Law { interval: Span::from_millis(500), mean: ByteCount::new(500), sigma: 1.5 },
        duration: None,
        congestion_control: None,
    };
    assert_eq!(workload(sessions).kind, expected);
    let datagrams = workload("kind = \"datagrams\"\nfrom = \"b\"\nto = \"a\"\nrate = \"8kbit\"").kind;
    let Traffic::Datagrams { size, duration, on_off, .. } = datagrams else { panic!("datagrams") };
    assert_eq!((size, duration, on_off), (ByteCount::new(1000), None, None));
}

/// The load is that of all sources together, so more sources have longer intervals.
#[test]
fn sources_share_the_load_of_a_sessions_workload() {
    let interval = |sources: u32| {
        let fields = format!(
            "kind = \"sessions\"\nfrom = \"a\"\nto = \"b\"\nrate = \"400kbit\"\nbytes = \"12kB\"\n\
             sources = {sources}"
        );
        let Traffic::Sessions { law, .. } = workload(&fields).kind else { panic!("sessions") };
        law.interval
    };
    assert_eq!([1, 10].map(interval), [240, 2400].map(Span::from_millis));
}

/// Cross traffic is not what a plan measures, even if the run waits for it.
#[test]
fn sessions_are_measured_only_on_request() {
    let sessions = "[[workloads]]\nname = \"x\"\nkind = \"sessions\"\nfrom = \"a\"\nto = \"b\"\n\
                    rate = \"1mbit\"\nbytes = \"9kB\"\nduration = \"1s\"\n";
    let measure = |text: String| built(&text).measure;
    assert_eq!(measure(format!("{SCENARIO}{sessions}{BULK}")), "w");
    assert_eq!(measure(format!("{SCENARIO}{sessions}background = false\n{BULK}")), "w");
    assert_eq!(measure(format!("measure = \"x\"\n{SCENARIO}{sessions}{BULK}")), "x");
    assert_eq!(measure(format!("{SCENARIO}{sessions}background = false\n")), "x", "there is no other");
    assert!(refused(&format!("{SCENARIO}{sessions}")).1.contains("all workloads are in the background"));
}

#[test]
fn sessions_that_cannot_be() {
    let wrong =
        |fields: &str| refused_workload(&format!("kind = \"sessions\"\nfrom = \"a\"\nto = \"b\"\n{fields}"));
    assert!(wrong("rate = \"1mbit\"").contains("a sessions workload needs `bytes`"));
    assert!(wrong("bytes = \"1kB\"").contains("a sessions workload needs `rate`"));
    assert!(wrong("bytes = \"0B\"\nrate = \"1mbit\"").contains("mean length of at least 1B"));
    assert!(wrong("bytes = \"1kB\"\nrate = \"1mbit\"\ninterval = \"1s\"").contains("exclude each other"));
    assert!(wrong("bytes = \"1kB\"\ninterval = \"0s\"").contains("`interval` is 0"));
    let sigma = |value: &str| wrong(&format!("bytes = \"1kB\"\nrate = \"1mbit\"\nsigma = {value}"));
    assert!(sigma("-0.1").contains("invalid `sigma` -0.1: expected 0 to 5"));
    assert!(sigma("5.1").contains("expected 0 to 5"));
    assert!(sigma("\"nan\"").contains("expected 0 to 5"));
    let size = wrong("bytes = \"1kB\"\nrate = \"1mbit\"\nsize = \"9B\"");
    assert!(size.contains("a sessions workload has no field `size`"), "{size}");
}

#[test]
fn values_that_no_workload_can_run_with() {
    let datagrams =
        |fields: &str| format!("kind = \"datagrams\"\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\n{fields}");
    for (least, most) in [(16, 65_507)] {
        for size in [least, most] {
            let Traffic::Datagrams { size: its, .. } =
                workload(&datagrams(&format!("size = \"{size}B\""))).kind
            else {
                panic!("datagrams")
            };
            assert_eq!(its, ByteCount::new(size));
        }
        for size in [least - 1, most + 1] {
            let said = refused_workload(&datagrams(&format!("size = \"{size}B\"")));
            assert!(said.contains("16 to 65507 bytes"), "{said}");
        }
    }
    for one in ["on = \"1s\"", "off = \"1s\""] {
        assert!(refused_workload(&datagrams(one)).contains("`on` and `off` must be given together"));
    }
    // The sender would look for the next time on for ever, even after the end of the run.
    let never = refused_workload(&datagrams("on = \"0s\"\noff = \"0s\""));
    assert_eq!(never, "`on` is 0, so nothing would be sent: use at least 1ns");
    let bulk = "kind = \"bulk\"\nfrom = \"a\"\nto = \"b\"\nbytes = \"1kB\"";
    assert!(refused_workload(&format!("{bulk}\nconnections = 0")).contains("at least 1"));
    let none = "kind = \"bulk\"\nfrom = \"a\"\nto = \"b\"";
    assert_eq!(refused_workload(none), "a bulk workload needs `bytes`");
    let no_rate = "kind = \"datagrams\"\nfrom = \"a\"\nto = \"b\"";
    assert_eq!(refused_workload(no_rate), "a datagrams workload needs `rate`");
    let no_response = "kind = \"request\"\nfrom = \"a\"\nto = \"b\"";
    assert_eq!(refused_workload(no_response), "a request workload needs `response`");
    let (line, said) = refused(&format!("{SCENARIO}{BULK}{BULK}"));
    assert_eq!((line, said.as_str()), (Some(10), "there are two workloads `w`"));
    // Its log is `STEM-NAME.log`.
    let (_, said) = refused(&format!("{SCENARIO}{}", BULK.replace("\"w\"", "\"up/down\"")));
    assert!(said.starts_with("`up/down` is not a valid workload name"), "{said}");
}

#[test]
fn what_is_captured_and_kept_unless_the_plan_says_otherwise() {
    let capture = |fields: &str| built(&format!("{SCENARIO}{BULK}[capture]\n{fields}\n")).capture;
    let usual = Capture {
        keep: Keep::First,
        events: Keep::First,
        senders: Keep::None,
        losses: Keep::None,
        points: Keep::None,
        link_layer: Keep::None,
        blocks: Keep::None,
        links: vec![0],
        snap_length: 96,
    };
    assert_eq!(capture(""), usual);
    assert_eq!(
        capture("keep = \"failed\""),
        Capture { keep: Keep::Failed, events: Keep::Failed, ..usual.clone() }
    );
    assert_eq!(capture("keep = \"all\"\nevents = \"none\"").events, Keep::None);
    let each =
        "keep = \"all\"\nevents = \"failed\"\nsenders = \"first\"\nlosses = \"all\"\nsnap-length = 200";
    let expected = Capture {
        keep: Keep::All,
        events: Keep::Failed,
        senders: Keep::First,
        losses: Keep::All,
        snap_length: 200,
        ..usual
    };
    assert_eq!(capture(each), expected);
    let said = refused(&format!("{SCENARIO}{BULK}[capture]\nkeep = \"al\"\n"));
    assert_eq!(said, (Some(10), "there is no choice `al`: did you mean `all`?".to_owned()));
}

#[test]
fn links_are_captured_by_their_name() {
    let links = "[[scenario.links]]\nname = \"one\"\nbetween = [\"a\", \"b\"]\n\
                 [[scenario.links]]\nbetween = [\"b\", \"c\"]\n\
                 [[scenario.links]]\nname = \"three\"\nbetween = [\"c\", \"a\"]\n";
    let text = |names: &str| format!("{links}{BULK}[capture]\nlinks = {names}\n");
    assert_eq!(built(&text("[\"three\", \"b-c\"]")).capture.links, [2, 1]);
    assert_eq!(built(&text("[]")).capture.links, [0_usize; 0]);
    assert_eq!(built(&format!("{links}{BULK}")).capture.links, [0, 1, 2]);
    let (line, said) = refused(&text("[\"thre\"]"));
    assert_eq!((line, said.as_str()), (Some(16), "there is no link `thre`: did you mean `three`?"));
}

#[test]
fn a_run_ends_after_an_hour_or_as_the_plan_says() {
    assert_eq!(built(&format!("{SCENARIO}{BULK}")).limit, Span::from_secs(3600));
    assert_eq!(built(&format!("{SCENARIO}{BULK}[stop]\nafter = \"90s\"\n")).limit, Span::from_secs(90));
}

#[test]
fn factors_that_are_none() {
    let factor = |fields: &str| refused(&format!("{SCENARIO}{BULK}[[factors]]\nname = \"f\"\n{fields}\n"));
    assert_eq!(
        factor("levels = [{ size = 1 }]"),
        (Some(11), "a level that is a table needs a `name`".to_owned())
    );
    let (line, said) = factor("levels = [\"x\", [1]]");
    assert_eq!(line, Some(11));
    assert!(said.starts_with("a level must be a string, a number or a table"), "{said}");
    let (_, said) = factor("levels = [{ name = \"x\", sizes = [1] }]");
    assert_eq!(said, "variable `sizes` is not a string, number or boolean");
    let (line, said) = factor("levels = [1]\n[[factors]]\nname = \"f\"\nlevels = [2]");
    assert_eq!((line, said.as_str()), (Some(13), "there are two factors `f`"));
    let (line, said) = factor("levels = [1, 1]");
    assert_eq!((line, said.as_str()), (Some(11), "factor `f` has two levels `1`"));
    assert!(
        refused(&format!("{SCENARIO}{BULK}[[factors]]\nname = \"0\"\nlevels = [1]\n"))
            .1
            .contains("is not a valid factor name")
    );
}

/// Numbers and switches are filled in as TOML prints them.
#[test]
fn levels_are_texts_numbers_and_switches() {
    let text = format!(
        "{SCENARIO}{BULK}background = \"{{of}}\"\nconnections = \"{{n}}\"\nstart = \"{{t}}s\"\n{BULK}\
         [[factors]]\nname = \"n\"\nlevels = [{{ name = 2, of = true, t = 0.5 }}]\n"
    )
    .replacen("\"w\"", "\"v{seed}-{repetition}\"", 1);
    let plan = parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let workload = plan.experiment(&plan.cells()[0], 8, 9).expect("an experiment").workloads.remove(0);
    assert_eq!((workload.name.as_str(), workload.background), ("v9-8", true));
    assert_eq!((workload.start, workload.kind.connections()), (Span::from_millis(500), 2));
}

/// A factor's title is its name if it has none.
#[test]
fn titles_of_factors() {
    let text = format!(
        "{SCENARIO}{BULK}[[factors]]\nname = \"f\"\nlevels = [1]\n\
         [[factors]]\nname = \"g\"\ntitle = \"the other\"\nlevels = [1]\n"
    );
    let titles: Vec<_> = parse(&text).expect("a plan").factors.into_iter().map(|its| its.title).collect();
    assert_eq!(titles, ["f", "the other"]);
}

#[test]
fn a_measured_workload_that_is_none() {
    let (line, said) = refused(&format!("measure = \"x\"\n{SCENARIO}{BULK}"));
    assert_eq!((line, said.as_str()), (Some(1), "there is no workload `x`: there are w"));
}

/// A gate takes values that agree as certain where nothing is random.
#[test]
fn what_depends_on_the_seed_is_random() {
    let link = |parameters: &str| {
        built(&format!("[[scenario.links]]\nbetween = [\"a\", \"b\"]\n{parameters}\n{BULK}")).is_random()
    };
    for parameters in [
        "",
        "profile = \"wifi-b\"\nloss = \"lite-0\"",
        "up = \"rate=1mbit,delay=5ms,queue=50p,loss=0%\"",
        "up = \"queue=codel,outage=10s+2s\"",
    ] {
        assert!(!link(parameters), "{parameters}");
    }
    for parameters in [
        "loss = \"lite-1\"",
        "down = \"loss=1%\"",
        "up = \"delay=9ms,jitter=1ms\"",
        "up = \"duplicate=1%\"",
        "up = \"ber=1e-6\"",
        "arq = \"rlp\"",
        "profile = \"lte\"",
    ] {
        assert!(link(parameters), "{parameters}");
    }
    let with = |workload: &str| {
        built(&format!("{SCENARIO}{BULK}[[workloads]]\nname = \"x\"\n{workload}\n")).is_random()
    };
    assert!(with("kind = \"command\"\nnode = \"a\"\ncommand = \"true\""));
    let datagrams = "kind = \"datagrams\"\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\nduration = \"1s\"";
    assert!(!with(datagrams) && with(&format!("{datagrams}\non = \"1s\"\noff = \"1s\"")));
}
