//! The page of a multi-layer view in a real browser: the right points are drawn at every zoom, it
//! needs no network, and the reader's actions have an effect.

mod chromium;
mod multilayer;
mod reader;

use capture_analysis::layers::graph::{Graph, Layer, Point, Shape, View};
use chromium::Browser;
use multilayer::{MSS, OFFSET, RATE, view};
use reader::{
    DRAWN, PLOT, close, coloured, complaints, detail, drag, go, key, mouse, opened, place, points, range,
    saved,
};
use serde_json::json;

/// Counts the points of a view in a window: dots and crosses between all ends, steps and marks
/// between the times.
fn inside(view: &View, [from, to, low, high]: [f64; 4]) -> usize {
    let of = |graph: &&Graph| {
        let spread = matches!(graph.shape, Shape::Dots | Shape::Crosses);
        let is_in = |point: &&Point| {
            let (time, bytes) = (point.time_ns as f64, point.bytes + graph.offset);
            time >= from && time < to && (!spread || bytes > low && bytes <= high)
        };
        graph.points.iter().filter(is_in).count()
    };
    view.graphs.iter().map(|graph| of(&graph)).sum()
}

const TCP_SENDER: [u8; 3] = [0x1f, 0x83, 0xcf];
const TCP_RECEIVER: [u8; 3] = [0xd5, 0x5e, 0x00];
const LINK_SENDER: [u8; 3] = [0x00, 0x9e, 0x73];
const LINK_RECEIVER: [u8; 3] = [0xcc, 0x79, 0xa7];
const SENDER_STATE: [u8; 3] = [0xe6, 0x9f, 0x00];

/// LL-18: L's labels, with a colour for each layer.
#[test]
fn every_graph_is_there_with_its_label_and_can_be_switched_off() {
    let folder = tempfile::tempdir().expect("a folder");
    let view = view(2_000);
    let Some(mut browser) = opened(folder.path(), &view) else { return };
    let labels =
        browser.evaluate("[...document.querySelectorAll('.key label')].map(label => label.textContent)");
    let expected: Vec<&str> = view.graphs.iter().map(|graph| graph.label.as_str()).collect();
    assert_eq!(labels, json!(expected));
    assert_eq!(browser.evaluate("document.querySelector('.notes').textContent"), json!(view.notes[0]));
    let whole = range(&mut browser);
    assert_eq!((points(&mut browser), detail(&mut browser).as_str()), (inside(&view, whole), "all"));
    for (canvas, colour) in
        [(1, TCP_SENDER), (1, TCP_RECEIVER), (1, LINK_SENDER), (0, LINK_RECEIVER), (0, SENDER_STATE)]
    {
        assert!(coloured(&mut browser, canvas, colour) > 50, "nothing of {colour:?}");
    }
    for graph in &view.graphs {
        browser.evaluate(&format!("document.querySelector('[data-graph={}]').click()", graph.label));
    }
    browser.evaluate(DRAWN);
    assert_eq!(points(&mut browser), 0);
    assert_eq!(coloured(&mut browser, 1, TCP_SENDER), 0);
    browser.evaluate("document.querySelector('[data-graph=TcpSnd_Ack]').click()");
    browser.evaluate(DRAWN);
    assert_eq!(points(&mut browser), view.graphs[1].points.len());
    assert!(coloured(&mut browser, 1, TCP_SENDER) > 50);
    assert_eq!(coloured(&mut browser, 1, TCP_RECEIVER), 0);
    assert_eq!(complaints(&browser), Vec::<String>::new());
}

/// LL-17: layers are 10 000 bytes apart, or not at all.
#[test]
fn layers_stand_apart_or_upon_one_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let view = view(2_000);
    let Some(mut browser) = opened(folder.path(), &view) else { return };
    let only = |graph: &Graph| graph.label == "TcpRcv_Data";
    for graph in view.graphs.iter().filter(|graph| !only(graph)) {
        browser.evaluate(&format!("document.querySelector('[data-graph={}]').click()", graph.label));
    }
    let data = view.graphs.iter().find(|graph| only(graph)).expect("data at the receiver");
    let last = data.points.iter().map(|point| point.bytes).fold(0.0, f64::max);
    for (shown, offset) in [(true, OFFSET), (false, 0.0)] {
        if !shown {
            browser.evaluate("document.getElementById('offsets').click()");
        }
        key(&mut browser, "f");
        let [_, _, low, high] = range(&mut browser);
        let air = (last) * 0.05;
        assert!(close(low, offset, air) && close(high, last + offset, air), "{low} to {high} with {offset}");
        assert_eq!(points(&mut browser), data.points.len());
    }
    assert_eq!(complaints(&browser), Vec::<String>::new());
}

/// A window has no more points than a screen can show, however many there are; below some size it
/// has every point.
#[test]
fn a_window_has_few_points_and_a_small_one_has_all_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let view = view(400_000);
    let total: usize = view.graphs.iter().map(|graph| graph.points.len()).sum();
    let Some(mut browser) = opened(folder.path(), &view) else { return };
    assert_eq!(detail(&mut browser), "pixel");
    let drawn = points(&mut browser);
    assert!(drawn > 5_000 && drawn < 100_000, "{drawn} of {total}");
    // No zoom along the data has more.
    let seconds = 100_000.0 * 519.0 / RATE;
    for part in [0.3, 0.1, 0.01, 0.001] {
        let (from, to) = (0.5 * seconds, (0.5 + part) * seconds);
        go(&mut browser, &format!("#t={from:.3}-{to:.3}"));
        let drawn = points(&mut browser);
        assert!(drawn > 100 && drawn < 100_000, "{drawn} in {part} of the time");
    }
    assert_eq!(detail(&mut browser), "all");
    let shown = range(&mut browser);
    assert_eq!(points(&mut browser), inside(&view, shown), "every point of {shown:?}");
    // A single segment: its frames, its arrival, its acknowledgement.
    go(&mut browser, "#t=27000.0-27001.0");
    let shown = range(&mut browser);
    assert_eq!((points(&mut browser), detail(&mut browser).as_str()), (inside(&view, shown), "all"));
    assert!(points(&mut browser) < 40);
    let tile = browser.evaluate("document.querySelectorAll('script[type=\"text/plain\"]').length");
    assert!(tile.as_u64() > Some(200), "{tile} tiles");
    assert_eq!(complaints(&browser), Vec::<String>::new());
}

#[test]
fn the_reader_zooms_and_moves_by_wheel_pointer_and_keys() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mut browser) = opened(folder.path(), &view(20_000)) else { return };
    let whole = range(&mut browser);
    let share = |ends: [f64; 4], x: f64, y: f64| {
        (ends[0] + x * (ends[1] - ends[0]), ends[2] + y * (ends[3] - ends[2]))
    };

    let at = place(&mut browser, 0.25, 0.75);
    let wheel = json!({ "type": "mouseWheel", "x": at.0, "y": at.1, "deltaX": 0, "deltaY": -240 });
    browser.call("Input.dispatchMouseEvent", &wheel);
    browser.evaluate(DRAWN);
    let near = range(&mut browser);
    let factor = (-0.36_f64).exp();
    let pixel = (whole[1] - whole[0]) / 1000.0;
    assert!(close(near[1] - near[0], factor * (whole[1] - whole[0]), pixel), "{near:?} of {whole:?}");
    assert!(close(near[3] - near[2], factor * (whole[3] - whole[2]), 1e3), "{near:?} of {whole:?}");
    let (before, after) = (share(whole, 0.25, 0.75), share(near, 0.25, 0.75));
    assert!(
        close(before.0, after.0, pixel) && close(before.1, after.1, 5e3),
        "the pointer stays where it is: {before:?} {after:?}"
    );

    let (from, to) = (place(&mut browser, 0.5, 0.5), place(&mut browser, 0.7, 0.4));
    drag(&mut browser, from, to, false);
    let moved = range(&mut browser);
    let wide = near[1] - near[0];
    assert!(close(near[0] - moved[0], 0.2 * wide, pixel), "{moved:?} from {near:?}");
    assert!(close(moved[2] - near[2], 0.1 * (near[3] - near[2]), 5e3), "{moved:?} from {near:?}");

    key(&mut browser, "0");
    let again = range(&mut browser);
    assert!(close(again[0], whole[0], pixel) && close(again[3], whole[3], 1.0), "{again:?}");
    let (from, to) = (place(&mut browser, 0.6, 0.2), place(&mut browser, 0.4, 0.8));
    drag(&mut browser, from, to, true);
    let cut = range(&mut browser);
    let (low, high) = (share(whole, 0.4, 0.2), share(whole, 0.6, 0.8));
    assert!(close(cut[0], low.0, pixel) && close(cut[1], high.0, pixel), "{cut:?}");
    assert!(close(cut[2], low.1, 5e3) && close(cut[3], high.1, 5e3), "{cut:?}");
    let said = "new Promise(done => setTimeout(() => done(location.hash), 400))";
    let hash = browser.evaluate(said);
    assert!(hash.as_str().is_some_and(|hash| hash.starts_with("#t=") && hash.contains("&bytes=")), "{hash}");

    let quarter = (cut[1] - cut[0]) / 4.0;
    key(&mut browser, "ArrowRight");
    assert!(close(range(&mut browser)[0], cut[0] + quarter, pixel));
    key(&mut browser, "ArrowLeft");
    key(&mut browser, "+");
    let half = range(&mut browser);
    assert!(close(half[1] - half[0], (cut[1] - cut[0]) / 2.0, pixel), "{half:?}");
    key(&mut browser, "-");
    assert!(close(range(&mut browser)[0], cut[0], pixel));
    key(&mut browser, "0");
    assert_eq!(browser.evaluate(said), "");
    assert_eq!(complaints(&browser), Vec::<String>::new());
}

#[test]
fn an_address_opens_its_window() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mut browser) = Browser::start(1400, 900) else { return };
    let file = folder.path().join("view.html");
    report::layers::write(&file, &view(2_000)).expect("a page");
    browser.open(&folder.path().join("view.html#t=10-60"));
    // The vertical range is known after the tiles have been read.
    browser.evaluate("new Promise(done => setTimeout(function look() { location.hash.includes('bytes') ? done(1) : setTimeout(look, 50); }, 50))");
    browser.evaluate(DRAWN);
    let [from, to, low, high] = range(&mut browser);
    assert_eq!((from, to), (10e9, 60e9));
    // As high as the drawn points: from the window of the sender to the link layer's bytes at 60 s,
    // which are 20 000 higher.
    assert!(close(low, 4.0 * MSS, 4e3) && close(high, 60.0 * RATE + 2.0 * OFFSET, 4e3), "{low} to {high}");
    assert_eq!(complaints(&browser), Vec::<String>::new());
}

/// The page writes its own address 200 ms after the window last moved. An address that the reader
/// enters at that moment used to be overwritten before it was followed.
#[test]
fn an_address_given_while_the_page_settles_is_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mut browser) = opened(folder.path(), &view(2_000)) else { return };
    for (from, to) in [(10, 60), (20, 50), (30, 40)] {
        // The window moves, and the page is busy until it is time to write its address.
        browser.evaluate(
            "document.querySelector('button[title=\"show less\"]').click();
             setTimeout(() => { const end = performance.now() + 400; while (performance.now() < end); }, 20); 1",
        );
        std::thread::sleep(std::time::Duration::from_millis(100));
        browser.evaluate(&format!("location.hash = '#t={from}-{to}'; 1"));
        let followed = browser.evaluate(
            "new Promise(done => { const end = performance.now() + 5000; setTimeout(function look() {
                if (location.hash.includes('bytes')) return done(true);
                performance.now() < end ? setTimeout(look, 50) : done(false); }, 50); })",
        );
        let [shown_from, shown_to, ..] = range(&mut browser);
        let shown = (shown_from / 1e9, shown_to / 1e9);
        assert_eq!((followed, shown), (true.into(), (f64::from(from), f64::from(to))));
    }
}

/// LL-18: slopes. The synthetic view has the 960 and 851 bytes/s of LL-19.
#[test]
fn regressions_points_and_the_ruler_say_what_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let view = view(2_000);
    let Some(mut browser) = opened(folder.path(), &view) else { return };
    let svg = saved(&mut browser);
    assert!(svg.contains("RlpSnd_Data: 960 bytes/s (7680 bit/s)"), "{svg}");
    assert!(svg.contains("TcpRcv_Data: 850.9 bytes/s (6807 bit/s)"), "{svg}");
    assert_eq!(svg.matches("stroke-dasharray=\"8 4\"").count(), 2);
    assert!(svg.contains("TcpRcv_Data + 10000") && svg.contains("TcpSnd_cwnd"), "{svg}");
    assert!(svg.starts_with("<?xml") && !svg.contains("class="), "{svg}");
    assert!(svg.len() < 500_000, "{} bytes", svg.len());

    // A point and another one ten acknowledgements later, found as a reader finds them.
    go(&mut browser, "#t=50-70");
    let acks = &view.graphs[1].points;
    let first = acks.iter().position(|point| point.time_ns > 52_000_000_000).expect("an acknowledgement");
    let [from, to, low, high] = range(&mut browser);
    let spot = |browser: &mut Browser, point: Point| {
        place(browser, (point.time_ns as f64 - from) / (to - from), (point.bytes - low) / (high - low))
    };
    let (one, other) = (acks[first], acks[first + 10]);
    let at = spot(&mut browser, one);
    mouse(&mut browser, "mouseMoved", (at.0 + 1.0, at.1 + 1.0), false);
    let told = browser.evaluate("document.querySelector('.tip:not([hidden])')?.textContent ?? ''");
    let told = told.as_str().expect("a text");
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0], "TcpSnd_Ack");
    assert!(lines[1].starts_with(&format!("{:.6}", one.time_ns as f64 / 1e9)[..6]), "{told}");
    assert_eq!(lines[2].replace('\u{202f}', ""), format!("{} bytes", one.bytes));
    for point in [one, other] {
        let at = spot(&mut browser, point);
        drag(&mut browser, at, at, false);
    }
    let ruled = browser.evaluate(&format!("{PLOT}.dataset.ruler ?? ''"));
    let rate = (other.bytes - one.bytes) / ((other.time_ns - one.time_ns) as f64 / 1e9);
    let ruled = ruled.as_str().expect("a text").replace('\u{202f}', "");
    assert!(
        ruled.contains(&format!("{} bytes: {rate:.1} bytes/s", other.bytes - one.bytes)),
        "{ruled}: {rate}"
    );
    key(&mut browser, "Escape");
    assert_eq!(browser.evaluate(&format!("{PLOT}.dataset.ruler ?? ''")), "");
    assert_eq!(complaints(&browser), Vec::<String>::new());
}

#[test]
fn the_axis_of_bytes_can_be_in_segments() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mut browser) = opened(folder.path(), &view(2_000)) else { return };
    assert!(saved(&mut browser).contains(">bytes</text>"));
    browser.evaluate(
        "{ const box = document.getElementById('segment'); box.value = '460'; box.dispatchEvent(new Event('input')); }",
    );
    browser.evaluate(DRAWN);
    assert!(saved(&mut browser).contains(">segments of 460 bytes</text>"));
}

/// Titles of a view come from files that others wrote, and a value may be missing.
#[test]
fn what_a_view_says_is_text_and_what_cannot_be_drawn_is_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let hostile = "</script><b>bold</b><!--";
    let at = |time_ns, bytes| Point { time_ns, bytes };
    let graph = Graph {
        label: hostile.to_owned(),
        layer: Layer::TcpSender,
        shape: Shape::Dots,
        offset: 0.0,
        points: vec![at(0, 0.0), at(5, f64::INFINITY), at(1_000_000_000, 0.5), at(1_000_000_000, 0.5)],
    };
    let view = View {
        title: hostile.to_owned(),
        graphs: vec![graph],
        regressions: Vec::new(),
        notes: vec![hostile.to_owned()],
    };
    let Some(mut browser) = opened(folder.path(), &view) else { return };
    assert_eq!(browser.evaluate("document.querySelector('h1').textContent"), hostile);
    assert_eq!(browser.evaluate("document.querySelector('.key label').textContent"), hostile);
    assert_eq!(browser.evaluate("document.querySelectorAll('b').length"), 0);
    assert_eq!(points(&mut browser), 2);
    assert_eq!(complaints(&browser), Vec::<String>::new());
}

#[test]
fn a_view_without_points_is_an_empty_drawing() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mut browser) = opened(folder.path(), &View::default()) else { return };
    assert_eq!(points(&mut browser), 0);
    assert_eq!(complaints(&browser), Vec::<String>::new());
}

#[test]
fn a_file_that_was_cut_off_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mut browser) = opened(folder.path(), &view(400_000)) else { return };
    let file = folder.path().join("view.html");
    let text = std::fs::read_to_string(&file).expect("a page");
    std::fs::write(&file, &text[..text.len() / 2]).expect("half of it");
    browser.open(&file);
    let seconds = 100_000.0 * 519.0 / RATE;
    browser.evaluate(&format!("location.hash = '#t={:.3}-{:.3}'; 1", 0.9 * seconds, 0.9 * seconds + 1.0));
    let said = browser.evaluate(
        "new Promise(done => setTimeout(function look() {
            const error = document.querySelector('.error');
            error === null ? setTimeout(look, 50) : done(error.textContent); }, 50))",
    );
    assert!(said.as_str().is_some_and(|said| said.contains("is missing: this file is incomplete")), "{said}");
}

#[test]
fn a_page_that_cannot_be_written_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("missing/view.html");
    let error = report::layers::write(&file, &View::default()).expect_err("no such folder");
    let begin = format!("cannot write the page of the multi-layer view to {}: ", file.display());
    assert!(error.to_string().starts_with(&begin), "{error}");
    assert!(error.to_string().contains("choose a folder"), "{error}");
    std::fs::create_dir(folder.path().join("folder.html")).expect("a folder");
    report::layers::write(&folder.path().join("folder.html"), &View::default())
        .expect_err("a folder is no file");
    assert!(!folder.path().join("folder.html.new").exists());
}
