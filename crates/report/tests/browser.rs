//! The page in a real browser: everything is there, it needs no network, and the reader's actions
//! have an effect.

mod chromium;
mod synthetic;

use chromium::Browser;
use report::{Page, PageOptions, html};
use results::Directory;
use serde_json::{Value, json};
use std::path::Path;

/// Waits until the page has drawn.
const DRAWN: &str = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))";

/// Opens a report of the synthetic campaign in `folder`; `None` without a browser.
fn opened(folder: &Path) -> Option<Browser> {
    let mut browser = Browser::start(1280, 1000)?;
    synthetic::write(folder, 7);
    let directory = Directory::open(folder).expect("the campaign");
    let file = folder.join("report.html");
    html::write(&Page::of(&directory, PageOptions::default()), &file).expect("a report");
    browser.open(&file);
    browser.evaluate(DRAWN);
    Some(browser)
}

/// Returns the errors and warnings of the page.
fn complaints(browser: &Browser) -> Vec<String> {
    let bad = |(method, parameters): &(String, Value)| match method.as_str() {
        "Runtime.consoleAPICalled" => {
            ["error", "warning"].contains(&parameters["type"].as_str().unwrap_or(""))
        }
        "Runtime.exceptionThrown" | "Log.entryAdded" => true,
        _ => false,
    };
    browser.events.iter().filter(|event| bad(event)).map(|(_, parameters)| parameters.to_string()).collect()
}

/// Returns the requests of the page, except for itself and for the data in it.
fn requests(browser: &Browser) -> Vec<String> {
    let asked = browser.events.iter().filter(|(method, _)| method == "Network.requestWillBeSent");
    let urls = asked.map(|(_, parameters)| parameters["request"]["url"].as_str().unwrap_or("").to_owned());
    urls.filter(|url| !url.starts_with("data:") && !url.ends_with("/report.html")).collect()
}

/// Selects an option in a list of the page.
fn choose(browser: &mut Browser, id: &str, option: &str) {
    let found = browser.evaluate(&format!(
        "{{ const list = document.getElementById({id:?});
            const option = [...list.options].find(option => option.textContent === {option:?});
            if (option) {{ list.value = option.value; list.dispatchEvent(new Event('change')); }}
            !!option }}"
    ));
    assert_eq!(found, true, "there is no `{option}` in #{id}");
    browser.evaluate(DRAWN);
}

/// Clicks a button that saves a figure and returns the file.
fn saved(browser: &mut Browser, figure: &str) -> String {
    let text = browser.evaluate(&format!(
        "{{ let saved = '';
            const click = HTMLAnchorElement.prototype.click;
            HTMLAnchorElement.prototype.click = function () {{ saved = decodeURIComponent(this.href.split(',').slice(1).join(',')); }};
            document.querySelector({:?}).click();
            HTMLAnchorElement.prototype.click = click;
            saved }}",
        format!("{figure} button.save")
    ));
    text.as_str().expect("a text").to_owned()
}

/// Counts the elements of each name in an SVG file; panics if it is not well-formed.
fn well_formed(browser: &mut Browser, svg: &str) -> Value {
    let counts = browser.evaluate(&format!(
        "{{ const read = new DOMParser().parseFromString({}, 'image/svg+xml');
            const wrong = read.querySelector('parsererror');
            const counts = {{ root: read.documentElement.localName, wrong: wrong?.textContent ?? null }};
            for (const element of read.querySelectorAll('*')) counts[element.localName] = (counts[element.localName] ?? 0) + 1;
            counts }}",
        json!(svg)
    ));
    assert_eq!(counts["wrong"], Value::Null);
    assert_eq!(counts["root"], "svg");
    counts
}

#[test]
fn every_section_is_there_and_nothing_is_fetched() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mut browser) = opened(folder.path()) else { return };
    let sections = [
        "about",
        "verdicts",
        "boxes",
        "scatter",
        "cells",
        "tests",
        "precision",
        "factorial",
        "literature",
        "losses",
        "sequences",
        "links",
    ];
    for section in sections {
        let text = browser.evaluate(&format!("document.getElementById({section:?})?.innerText.length ?? 0"));
        assert!(text.as_u64() > Some(20), "section {section} has {text} letters");
    }
    assert_eq!(browser.evaluate("document.querySelectorAll('#boxes .box rect').length"), 9, "a box a cell");
    assert_eq!(
        browser.evaluate("document.querySelectorAll('#boxes .run > *, #boxes .run > g > *').length"),
        88,
        "a dot a good run"
    );
    assert_eq!(
        browser.evaluate(
            "document.querySelectorAll('#scatter .regression path, #scatter .regression line').length"
        ),
        3
    );
    assert_eq!(browser.evaluate("document.querySelectorAll('#cells tbody tr').length"), 9);
    assert_eq!(browser.evaluate("document.querySelectorAll('#tests tbody tr').length"), 18);
    assert_eq!(browser.evaluate("document.querySelectorAll('#precision tbody tr').length"), 9);
    let about = browser.evaluate("document.getElementById('about').innerText");
    assert!(about.as_str().is_some_and(|about| about.contains("5 to 10 repetitions each")), "{about}");
    assert_eq!(
        browser.evaluate("document.querySelectorAll('#factorial tbody tr').length"),
        4,
        "two factors, their interaction, and the errors"
    );
    assert_eq!(browser.evaluate("document.querySelectorAll('#factorial tbody tr svg rect').length"), 4);
    let why = browser.evaluate("document.querySelectorAll('#factorial .hint')[0].textContent");
    assert!(
        why.as_str().is_some_and(|why| why.contains("repetition 3 of loss=lite-2, cc=cubic failed")),
        "{why}"
    );
    assert_eq!(browser.evaluate("document.querySelectorAll('#literature tbody tr').length"), 5);
    assert_eq!(browser.evaluate("document.querySelectorAll('#verdicts tbody tr').length"), 2);
    assert_eq!(complaints(&browser), Vec::<String>::new());
    assert_eq!(requests(&browser), Vec::<String>::new());
}

#[test]
fn what_a_campaign_says_is_text_and_never_markup() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mut browser) = opened(folder.path()) else { return };
    let title = browser.evaluate("document.querySelector('h1').textContent");
    assert!(title.as_str().is_some_and(|title| title.ends_with(synthetic::HOSTILE)), "{title}");
    assert_eq!(browser.evaluate("document.querySelectorAll('b').length"), 0);
    assert_eq!(browser.evaluate("document.scripts.length"), 2);
}

#[test]
fn the_reader_chooses_metric_axes_levels_and_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mut browser) = opened(folder.path()) else { return };
    let boxes = "document.querySelectorAll('#boxes .box rect').length";
    let axis = "document.querySelector('#boxes [aria-label=\"y-axis label\"]').textContent";
    assert_eq!(browser.evaluate(axis), "Goodput (kbit/s)");
    choose(&mut browser, "metric", "Completion time");
    assert_eq!(browser.evaluate(axis), "Completion time (s)");
    assert_eq!(browser.evaluate(boxes), 9);
    choose(&mut browser, "axis", "Congestion control");
    choose(&mut browser, "colour", "Loss profile");
    let columns = "[...document.querySelectorAll('#boxes [aria-label=\"fx-axis tick label\"] text')].map(text => text.textContent)";
    assert_eq!(browser.evaluate(columns), json!(["reno", "cubic", "newzag"]));
    assert_eq!(browser.evaluate(boxes), 9);
    browser.evaluate("document.getElementById('level-0-0').click()");
    assert_eq!(browser.evaluate(boxes), 6, "without loss profile 0");
    assert_eq!(browser.evaluate("document.querySelectorAll('#cells tbody tr').length"), 6);
    let runs = "document.querySelector('#cells tbody tr:nth-child(5) td:nth-child(3)').textContent";
    assert_eq!(browser.evaluate(runs), "9", "one of ten was overloaded");
    browser.evaluate("document.getElementById('overloaded').click()");
    assert_eq!(browser.evaluate(runs), "10");
    assert_eq!(complaints(&browser), Vec::<String>::new());
}

#[test]
fn the_time_sequence_plot_zooms() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mut browser) = opened(folder.path()) else { return };
    let range = "[...document.querySelectorAll('#sequences .sequence')].map(plot => plot.dataset.range)";
    let all = browser.evaluate(range);
    let place = browser.evaluate(
        "{ const over = document.querySelector('#sequences .u-over');
           over.scrollIntoView({ block: 'center' });
           const box = over.getBoundingClientRect();
           [box.left, box.top, box.width, box.height] }",
    );
    let at = |part: f64| {
        (place[0].as_f64().unwrap() + part * place[2].as_f64().unwrap(), place[1].as_f64().unwrap() + 100.0)
    };
    let mut mouse = |kind: &str, (x, y): (f64, f64), clicks: u32| {
        let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": clicks });
        browser.call("Input.dispatchMouseEvent", &event);
    };
    mouse("mouseMoved", at(0.2), 0);
    mouse("mousePressed", at(0.2), 1);
    mouse("mouseMoved", at(0.3), 0);
    mouse("mouseMoved", at(0.4), 0);
    mouse("mouseReleased", at(0.4), 1);
    browser.evaluate(DRAWN);
    let near = browser.evaluate(range);
    assert_ne!(near, all);
    let ends = |range: &Value| -> Vec<f64> {
        range[0].as_str().expect("a range").split(' ').map(|end| end.parse().expect("a number")).collect()
    };
    let (near, whole) = (ends(&near), ends(&all));
    let expected = |part: f64| whole[0] + part * (whole[1] - whole[0]);
    for (end, part) in near.iter().zip([0.2, 0.4]) {
        assert!((end - expected(part)).abs() < 0.01 * whole[1], "{near:?} of {whole:?}");
    }

    // A second plot has the same time range.
    browser.evaluate("{ const list = document.getElementById('sequence-second'); list.value = '1'; list.dispatchEvent(new Event('change')); }");
    browser.evaluate(DRAWN);
    browser.evaluate("document.querySelector('#sequences .sequence').dispatchEvent(new KeyboardEvent('keydown', { key: '+' }))");
    browser.evaluate(DRAWN);
    let both = browser.evaluate(range);
    let both = both.as_array().expect("ranges");
    assert_eq!(both.len(), 4, "a time-sequence plot and the throughput below it, of two runs");
    assert!(both.iter().all(|range| *range == both[0]), "{both:?}");
    assert_ne!(both[0], all[0]);

    let key = "document.querySelector('#sequences .sequence').dispatchEvent(new KeyboardEvent('keydown', { key: '0' }))";
    browser.evaluate(key);
    browser.evaluate(DRAWN);
    assert_eq!(browser.evaluate(range)[0], all[0]);
    assert_eq!(complaints(&browser), Vec::<String>::new());
}

/// The first segment that the link loses reaches its end at 0.691 s; its mark is somewhere above
/// that instant.
#[test]
fn a_mark_tells_why_a_segment_was_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mut browser) = opened(folder.path()) else { return };
    choose(&mut browser, "sequence-first", "loss=lite-4, cc=reno, repetition 0");
    let place = browser.evaluate(
        "{ const over = document.querySelector('#sequences .u-over');
           over.scrollIntoView({ block: 'center' });
           const box = over.getBoundingClientRect();
           const [from, to] = document.querySelector('#sequences .sequence').dataset.range.split(' ').map(Number);
           [box.left + box.width * (0.691 - from) / (to - from), box.top, box.height] }",
    );
    let [x, top, height] = [0, 1, 2].map(|part| place[part].as_f64().expect("a number"));
    let told = (1..40).find_map(|step| {
        let event = json!({ "type": "mouseMoved", "x": x, "y": top + height * f64::from(step) / 40.0 });
        browser.call("Input.dispatchMouseEvent", &event);
        browser.evaluate(DRAWN);
        let text =
            browser.evaluate("document.querySelector('#sequences .tip:not([hidden])')?.textContent ?? ''");
        text.as_str().filter(|text| text.starts_with("lost")).map(str::to_owned)
    });
    let told: String = told.expect("the mark tells something");
    let mut lines = told.lines();
    assert_eq!(lines.next(), Some("lost: wireless error (link wlan, stage errors)"));
    // The marks of the burst of five are closer together than the pointer can distinguish.
    let first =
        lines.next().and_then(|line| line.strip_prefix("bytes ")?.split(' ').next()?.parse::<u32>().ok());
    assert!(first.is_some_and(|first| (40..45).any(|segment| first == 1 + segment * 524)), "{told}");
}

/// The page draws and prints the computed shares, whatever it sums over.
#[test]
fn the_reader_chooses_what_loss_events_are_summed_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mut browser) = opened(folder.path()) else { return };
    let rows = "document.querySelectorAll('#losses [data-name=losses-taken-for] tbody tr').length";
    let dots = "document.querySelectorAll('#losses .share circle').length";
    // Two causes in lite-2 and five in lite-4, for three congestion controls, only one of which has
    // verdicts.
    assert_eq!((browser.evaluate(rows), browser.evaluate(dots)), (21.into(), 7.into()));
    choose(&mut browser, "losses-sum", "all cells of each level: Congestion control");
    assert_eq!((browser.evaluate(rows), browser.evaluate(dots)), (15.into(), 5.into()));
    let row = "[...document.querySelectorAll('#losses [data-name=losses-taken-for] tbody tr:nth-child(11) td')].map(cell => cell.textContent)";
    let wilson = results::statistics::wilson(20, 40, 0.95).expect("an interval");
    let interval = format!("{:.1} to {:.1}", wilson.low * 100.0, wilson.high * 100.0);
    let expected =
        ["newzag", "wireless\u{a0}error", "20", "50.0", &interval, "20", "50.0", &interval, "0", "0", "0"];
    assert_eq!(browser.evaluate(row), json!(expected));
    browser.evaluate("document.getElementById('level-1-2').click()");
    assert_eq!(browser.evaluate(rows), 10, "without newzag");
    assert_eq!(browser.evaluate(dots), 0);
    assert_eq!(complaints(&browser), Vec::<String>::new());
}

/// The first loss event is at 0.85 s, when the window had 12 segments.
#[test]
fn a_mark_tells_what_a_loss_was_taken_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mut browser) = opened(folder.path()) else { return };
    choose(&mut browser, "sequence-first", "loss=lite-4, cc=newzag, repetition 0");
    let plot = "#sequences figure[data-name=congestion-window] .sequence";
    let place = browser.evaluate(&format!(
        "{{ const plot = document.querySelector({plot:?});
            const over = plot.querySelector('.u-over');
            over.scrollIntoView({{ block: 'center' }});
            const box = over.getBoundingClientRect();
            const [from, to] = plot.dataset.range.split(' ').map(Number);
            [box.left + box.width * (0.85 - from) / (to - from), box.top, box.height] }}"
    ));
    let [x, top, height] = [0, 1, 2].map(|part| place[part].as_f64().expect("a number"));
    let told = (0..30).find_map(|step| {
        let event = json!({ "type": "mouseMoved", "x": x, "y": top + height * f64::from(step) / 30.0 });
        browser.call("Input.dispatchMouseEvent", &event);
        browser.evaluate(DRAWN);
        let text = browser.evaluate(&format!(
            "document.querySelector({plot:?}).querySelector('.tip:not([hidden])')?.textContent ?? ''"
        ));
        text.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
    });
    let expected = "recovery: wireless error, taken for wireless\nn = 5, really lost: 5\ndecided by the detector\n\
                    RTT 158.250 ms, mean 164.000 ms\nwindow 12, threshold after it 9\nat 0.850000 s";
    assert_eq!(told.as_deref(), Some(expected));

    // Eight events in total, two of them with the true cause wireless.
    let svg = saved(&mut browser, "#sequences figure[data-name=congestion-window]");
    let marks = svg.split("<g stroke=\"currentColor\" stroke-width=\"1\">").nth(1).expect("marks");
    let marks = marks.split("</g>").next().expect("the end of the group");
    assert_eq!(marks.matches("<path").count(), 8, "{marks}");
    assert_eq!(marks.matches("#e69f00").count(), 2, "wireless errors: {marks}");
    assert_eq!(complaints(&browser), Vec::<String>::new());
}

#[test]
fn every_figure_can_be_saved_as_svg() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mut browser) = opened(folder.path()) else { return };
    for (figure, element, least) in [
        ("#boxes figure", "rect", 10),
        ("#scatter figure", "path", 80),
        ("#literature", "rect", 10),
        ("#losses figure[data-name=losses-taken-for]", "circle", 7),
        ("#losses figure[data-name=losses-counted]", "rect", 6),
        ("#sequences figure[data-name=time-sequence]", "path", 10),
        ("#sequences figure[data-name=throughput]", "path", 5),
    ] {
        let svg = saved(&mut browser, figure);
        let counts = well_formed(&mut browser, &svg);
        assert!(counts[element].as_u64() >= Some(least), "{figure}: {counts}");
        assert!(!svg.contains("var(--") && !svg.contains("class="), "{figure} needs the page's style");
    }
}

/// As scripts/results/figures uses it: with a fragment the page consists of all figures, with the
/// file names of the buttons.
#[test]
fn with_a_fragment_the_page_is_its_figures_as_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mut browser) = opened(folder.path()) else { return };
    let files =
        "[...document.querySelectorAll('[data-file]')].map(file => [file.dataset.file, file.textContent])";
    let read = |browser: &mut Browser| -> Vec<(String, String)> {
        browser.evaluate("location.hash = '#figures'");
        browser.reload();
        let drawn = "document.querySelectorAll('[data-file], .error').length";
        while browser.evaluate(drawn).as_u64().unwrap_or(0) == 0 {}
        serde_json::from_value(browser.evaluate(files)).expect("names and texts")
    };
    let first = read(&mut browser);
    let names: Vec<&str> = first.iter().map(|(name, _)| name.as_str()).collect();
    for name in [
        "boxes-goodput.svg",
        "boxes-retransmission-rate.svg",
        "goodput-retransmissions.svg",
        "literature.svg",
        "losses-taken-for.svg",
        "losses-counted.svg",
        "losses-taken-for-by-cc.svg",
        "losses-taken-for-all.svg",
        "congestion-window-loss-lite-4-cc-newzag-0.svg",
        "time-sequence-loss-lite-4-cc-reno-0.svg",
        "throughput-loss-lite-4-cc-reno-0.svg",
    ] {
        assert!(names.contains(&name), "no {name} in {names:?}");
    }
    assert_eq!(read(&mut browser), first, "the same page, the same files");
    for (name, svg) in &first {
        assert!(svg.len() < 200_000, "{name} has {} bytes", svg.len());
        assert!(!svg.contains("<title"), "{name} has what only a browser shows");
        well_formed(&mut browser, svg);
    }

    // All retransmissions are drawn: the download lost 12 segments, most of them adjacent.
    let svg =
        &first.iter().find(|(name, _)| name == "time-sequence-loss-lite-4-cc-reno-0.svg").expect("it").1;
    let again =
        svg.split("<path ").find(|path| path.contains("stroke=\"#d55e00\"")).expect("retransmissions");
    assert!(again.matches('M').count() >= 4, "{again}");
    let lost = svg.split("<path ").filter(|path| path.contains("l8,8m-8,0l8,-8"));
    assert_eq!(lost.map(|path| path.matches('M').count()).max(), Some(12), "a cross for each segment lost");
}

#[test]
fn a_script_saves_the_figures() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(browser) = opened(folder.path()) else { return };
    drop(browser);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/results/figures");
    let run = |only: &[&str]| {
        let figures = folder.path().join("figures");
        let mut command = std::process::Command::new(&script);
        let output = command.arg(folder.path()).arg(figures).args(only).output().expect("Python 3");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    };
    let (good, told, error) = run(&["--only", "throughput-*", "--only", "literature.svg"]);
    assert!(good, "{error}");
    assert_eq!(told.lines().count(), 10, "one of each cell, and the literature: {told}");
    let literature = std::fs::read_to_string(folder.path().join("figures/literature.svg")).expect("a file");
    assert!(literature.starts_with("<?xml") && literature.ends_with("</svg>\n"), "{literature}");
    assert!(literature.contains("&lt;/script&gt;&lt;b&gt;bold"), "what a campaign says is text");
    let (good, _, error) = run(&["--only", "boxs-*"]);
    assert!(!good && error.contains("no figure matches boxs-*. Available: boxes-goodput.svg"), "{error}");
}
