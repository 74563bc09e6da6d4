use super::*;
use crate::example::{connection, manifest, run, selection};
use crate::manifest::Levels;
use crate::{Besides, Cell, Connection, Directory, Factor, RunRecord, RunVerdict, Selection};
use std::path::PathBuf;

/// Memory and cache of chapter 18 of Jain, and a third factor with three levels.
const FACTORS: [(&str, &[&str]); 3] =
    [("memory", &["4MB", "16MB"]), ("cache", &["1kB", "2kB"]), ("system", &["a", "b", "c"])];

fn factors() -> Vec<Factor> {
    let factor = |(name, levels): (&str, &[&str])| Factor {
        name: name.into(),
        title: name.into(),
        levels: levels.iter().map(ToString::to_string).collect(),
    };
    FACTORS.map(factor).into()
}

/// A campaign in which the goodput of each cell in bit/s is what `goodput` returns for the indices
/// of its levels, one for each repetition.
fn campaign(goodput: impl Fn([usize; 3]) -> Vec<f64>) -> Directory {
    let mut directory = Directory { path: PathBuf::new(), manifest: manifest(), connections: Vec::new() };
    (directory.manifest.factors, directory.manifest.cells) = (factors(), Vec::new());
    for number in 0..12 {
        let places = [number / 6, number / 3 % 2, number % 3];
        let level = |(place, (factor, levels)): (usize, &(&str, &[&str]))| Level {
            factor: (*factor).into(),
            level: levels[places[place]].into(),
        };
        let levels = FACTORS.iter().enumerate().map(level).collect();
        directory.manifest.cells.push(Cell { number: number as u32, levels });
        for (repetition, value) in (0..).zip(goodput(places)) {
            directory.manifest.runs.push(run(number as u32, repetition));
            // A second for each connection, whose bytes are an eighth of its goodput.
            let bytes = (value * 1000.0) as u64;
            let connection = Connection { end_ns: 8_000_000_000_000, ..connection("bulk", bytes) };
            directory.connections.push(vec![connection]);
        }
    }
    directory
}

/// The responses of Jain's example 18.1 in system a, twice them in b, and nothing in c.
fn jain(places: [usize; 3]) -> Vec<f64> {
    let [memory, cache, system] = places;
    let responses = [[15.0, 18.0, 12.0], [45.0, 48.0, 51.0], [25.0, 28.0, 19.0], [75.0, 75.0, 81.0]];
    let responses = responses[2 * cache + memory];
    match system {
        0 => responses.to_vec(),
        1 => responses.map(|value| 2.0 * value).to_vec(),
        _ => Vec::new(),
    }
}

fn request() -> Request {
    Request { title: "t".into(), of: selection(&[("system", &["a"])]), ..Request::default() }
}

fn analysis(directory: &Directory, request: &Request) -> Result<Analysis, NotAnalyzed> {
    let design = request.design(&factors()).unwrap_or_else(|error| panic!("{error}"));
    analyze(directory, &design, false)
}

fn close(ours: f64, expected: f64) {
    assert!((ours - expected).abs() < 1e-6, "{ours} is not {expected}");
}

#[test]
fn the_analysis_of_a_campaign_is_that_of_jain_the_largest_share_first() {
    let of = analysis(&campaign(jain), &request()).expect("an analysis");
    let effects: Vec<_> = of.effects.iter().map(|effect| (effect.factors.join("×"), effect.effect)).collect();
    assert_eq!(effects, [("memory".into(), 21.5), ("cache".into(), 9.5), ("memory×cache".into(), 5.0)]);
    close(of.main_share, (5547.0 + 1083.0) / 7032.0);
    close(of.interaction_share, 300.0 / 7032.0);
    close(of.error_share.expect("errors"), 102.0 / 7032.0);
    assert_eq!((of.repetitions, of.unit, of.response.as_str()), (3, "bit/s", "goodput of bulk"));
    // t[0.975; 8] is 2.306.
    let interval = of.effects[2].interval.expect("an interval");
    assert!((interval.low - (5.0 - 2.306 * (102.0_f64 / 8.0 / 12.0).sqrt())).abs() < 1e-3);
    assert_eq!(of.effects[2].significant, Some(true));
    assert!(of.notes.is_empty());
}

#[test]
fn the_order_of_two_levels_is_the_sign_of_effects() {
    let levels = selection(&[("memory", &["16MB", "4MB"])]);
    let of = analysis(&campaign(jain), &Request { levels, ..request() }).expect("an analysis");
    assert_eq!(of.effects.iter().map(|effect| effect.effect).collect::<Vec<_>>(), [-21.5, 9.5, -5.0]);
}

#[test]
fn differences_and_ratios_are_those_of_repetitions_with_the_same_number() {
    let systems = || Some(selection(&[("system", &["b", "a"])]));
    let request = Request { of: Selection::new(), ..request() };
    let of = Request { difference: systems(), ..request.clone() };
    let of = analysis(&campaign(jain), &of).expect("an analysis");
    // Twice the response minus once.
    close(of.effects[0].effect, 21.5);
    assert_eq!(of.response, "goodput of bulk: system=b minus system=a");
    let of = Request { ratio: systems(), ..request.clone() };
    let always = NotAnalyzed::NoVariation { response: "2".into() };
    assert_eq!(analysis(&campaign(jain), &of), Err(always));
    // Where only the cache matters to b, by a factor of 4, the logarithm has only that effect.
    let only_cache = |[memory, cache, system]: [usize; 3]| match system {
        1 => jain([memory, cache, 0]).iter().map(|value| value * [1.0, 4.0][cache]).collect(),
        _ => jain([memory, cache, system]),
    };
    let of = Request { ratio: systems(), response: Some("log".into()), ..request };
    let of = analysis(&campaign(only_cache), &of).expect("an analysis");
    assert_eq!(of.effects[0].factors, ["cache"]);
    close(of.effects[0].factor.expect("a factor"), 4.0);
    close(of.effects[0].share, 1.0);
    assert_eq!((of.unit, of.response.as_str()), ("", "log10 of goodput of bulk: system=b over system=a"));
}

#[test]
fn one_repetition_has_no_intervals_and_says_so() {
    let of = analysis(&campaign(|places| jain(places)[..1.min(jain(places).len())].to_vec()), &request());
    let of = of.expect("an analysis");
    assert_eq!((of.error_share, of.effects[0].interval, of.effects[0].significant), (None, None, None));
    assert!(of.notes[0].contains("one repetition"), "{:?}", of.notes);
    let same = |places| jain(places).first().map_or_else(Vec::new, |value| vec![*value; 2]);
    let of = analysis(&campaign(same), &request()).expect("an analysis");
    assert_eq!(of.error_share, Some(0.0));
    assert!(of.notes[0].contains("do not differ"), "{:?}", of.notes);
}

#[test]
fn what_cannot_be_analysed_is_an_error_that_says_which_run() {
    let told = |change: &dyn Fn(&mut Directory), request: &Request| {
        let mut directory = campaign(jain);
        change(&mut directory);
        analysis(&directory, request).expect_err("an error").to_string()
    };
    let verdict = |run: usize, verdict: RunVerdict| {
        move |directory: &mut Directory| directory.manifest.runs[run].verdict = verdict
    };
    let fail = |directory: &mut Directory| directory.manifest.runs[7].fail("reset".into());
    let no_rows = |directory: &mut Directory| directory.connections[7].clear();
    let no_bytes = |directory: &mut Directory| directory.connections[6][0].bytes = 0;
    let log = Request { response: Some("log".into()), ..request() };
    let ratio = Some(selection(&[("system", &["b", "a"])]));
    let ratio = Request { ratio, of: Selection::new(), ..request() };
    let absent = Request { of: selection(&[("system", &["c"])]), ..request() };
    let unpaired = |directory: &mut Directory| {
        // Another repetition is missing in each cell.
        for (place, run) in directory.manifest.runs.iter_mut().enumerate() {
            let missing = u32::from(place >= 3);
            if run.repetition == missing {
                run.verdict = RunVerdict::Overloaded;
            }
        }
    };
    let workload = Request { workload: Some("blk".into()), ..request() };
    let messages = [
        told(&fail, &request()),
        told(&verdict(7, RunVerdict::Overloaded), &request()),
        told(&no_rows, &request()),
        told(&no_bytes, &log),
        told(&no_bytes, &ratio),
        told(&unpaired, &ratio),
        told(&|_| (), &absent),
        told(&|directory| directory.manifest.cells.retain(|cell| cell.number != 6), &request()),
        told(&|_| (), &workload),
    ];
    let left_out = "overloaded or dropped; `lasthop report --overloaded` includes overloaded runs)";
    let expected = [
        "repetition 1 of memory=4MB, cache=2kB, system=a failed: reset".to_owned(),
        format!(
            "the cells have different numbers of repetitions: 2 of memory=4MB, cache=2kB, system=a, \
             3 of memory=4MB, cache=1kB, system=a (1 run was {left_out}"
        ),
        "repetition 1 of memory=4MB, cache=2kB, system=a has no value of goodput".to_owned(),
        "the response of memory=4MB, cache=2kB, system=a in repetition 0 is 0, which has no logarithm"
            .to_owned(),
        "repetition 0 of memory=4MB, cache=2kB, system=a has the value 0, so there is no ratio to it"
            .to_owned(),
        format!("repetition 0 of memory=4MB, cache=1kB, system=b has no counterpart (8 runs were {left_out}"),
        "no run of memory=4MB, cache=1kB, system=c counts".to_owned(),
        "the campaign has no cell with memory=16MB, cache=1kB, system=a".to_owned(),
        "there is no workload `blk`: did you mean `bulk`? (expected one of bulk)".to_owned(),
    ];
    assert_eq!(messages, expected);
    let mut directory = campaign(jain);
    directory.manifest.runs[7].verdict = RunVerdict::Overloaded;
    let design = request().design(&factors()).expect("a design");
    let both = Besides { overloaded: true, dropped_calls: false };
    assert_eq!(analyze(&directory, &design, both).expect("an analysis").repetitions, 3);
}

/// Failed runs of cells that the design does not have do not matter.
#[test]
fn only_the_cells_of_the_design_count() {
    let mut directory = campaign(jain);
    let failed = RunRecord::failed(1, 9, "reset".into());
    directory.manifest.runs.push(failed);
    directory.connections.push(Vec::new());
    assert!(analysis(&directory, &request()).is_ok());
}

#[test]
fn a_design_has_names_for_its_combinations_and_is_kept_as_it_is() {
    let design = request().design(&factors()).expect("a design");
    assert_eq!((design.names(1), design.names(2)), (vec!["memory"], vec!["cache"]));
    assert_eq!((design.names(3), design.cells()), (vec!["memory", "cache"], 4));
    let ratio = Some(selection(&[("system", &["b", "a"])]));
    let all = Request { ratio, of: Selection::new(), response: Some("log".into()), ..request() };
    for design in [design, all.design(&factors()).expect("a design")] {
        let text = serde_json::to_string(&design).expect("JSON");
        assert_eq!(serde_json::from_str::<FactorialDesign>(&text).expect("a design"), design);
    }
}

#[test]
fn a_design_has_at_most_twelve_factors() {
    let factor = |number: usize| Factor {
        name: format!("f{number}"),
        title: String::new(),
        levels: vec!["a".into(), "b".into()],
    };
    let factors: Vec<_> = (0..13).map(factor).collect();
    let request = Request::default();
    assert_eq!(request.design(&factors[..12]).expect("a design").cells(), 4096);
    assert_eq!(request.design(&factors), Err(DesignError::TooManyFactors { count: 13 }));
    let of = [("f0".to_owned(), Levels::One("a".into()))].into();
    assert!(Request { of, ..request }.design(&factors).is_ok());
}
