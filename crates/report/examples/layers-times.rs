//! Measures the page of a multi-layer view in a headless Chromium: `cargo run -p report --example
//! layers-times -- FILE [TURNS]`.
//!
//! Columns of the output:
//!
//! * First drawing: from the start of navigation until every tile of the whole view is drawn.
//! * Read: until the browser has read the file to its end.
//! * Work: processor time of the page's main thread per frame.
//! * Frames: time from one animation frame to the next while the reader zooms by the wheel, drags,
//!   and jumps by keys.

#[path = "../tests/chromium/mod.rs"]
mod chromium;

use chromium::Browser;
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;

/// Steps of the wheel, and of a drag.
const STEPS: u32 = 120;

const READY: &str = "new Promise(done => { const look = () => document.readyState === 'complete' && performance.getEntriesByName('layers drawn').length > 0
    && document.querySelector('.layers').dataset.detail !== 'waiting' ? done(1) : setTimeout(look, 20); look(); })";

/// Records the times of frames until `watch.stopped` is set.
const WATCH: &str = "{ const watch = window.watch = { times: [], stopped: false };
    requestAnimationFrame(function next(time) { watch.times.push(time); if (!watch.stopped) requestAnimationFrame(next); }); 1 }";

const WATCHED: &str = "window.watch.stopped = true; window.watch.times.slice(1).map((time, place) => time - window.watch.times[place])";

/// Zooms in at the middle of the transfer's data: one step per frame, `DEPTH` by the wheel.
const ZOOM: &str = "new Promise(done => {
    const plot = document.querySelector('.layers');
    const whole = plot.dataset.range.split(' ').map(Number);
    const time = whole[1] / 2, bytes = time / 1e9 * 960 * 460 / 519;
    let left = STEPS;
    requestAnimationFrame(function next() {
        const [from, to, low, high] = plot.dataset.range.split(' ').map(Number);
        const box = plot.getBoundingClientRect();
        const wide = box.width - 126, tall = box.height - 54;
        const clientX = box.left + 112 + wide * (time - from) / (to - from), clientY = box.top + 10 + tall * (high - bytes) / (high - low);
        plot.dispatchEvent(new WheelEvent('wheel', { clientX, clientY, deltaY: -DEPTH, bubbles: true, cancelable: true }));
        if (--left > 0) requestAnimationFrame(next); else done(1);
    }); })";

/// Jumps by a quarter of the window along the data, and back.
const JUMP: &str = "new Promise(done => {
    const plot = document.querySelector('.layers');
    let step = 0;
    requestAnimationFrame(function next() {
        const forth = step % 16 < 8;
        for (const key of forth ? ['ArrowRight', 'ArrowUp'] : ['ArrowLeft', 'ArrowDown']) plot.dispatchEvent(new KeyboardEvent('keydown', { key }));
        if (++step < STEPS) requestAnimationFrame(next); else done(1);
    }); })";

/// Compares two ways to draw points: as rectangles of a path, as plot libraries do, and as pixels
/// of an image, as the page does.
const PAINTS: &str = "{
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [1400, 900];
    document.body.append(canvas);
    const context = canvas.getContext('2d');
    const points = Array.from({ length: 100000 }, (_, place) => [10 + place % 1380, 10 + Math.floor(880 * Math.abs(Math.sin(place * place)))]);
    const median = (draw) => Array.from({ length: 15 }, () => {
        const start = performance.now();
        draw();
        // What was drawn must be there before it can be read.
        context.getImageData(0, 0, 1, 1);
        return performance.now() - start;
    }).sort((one, other) => one - other)[7];
    const path = median(() => {
        context.clearRect(0, 0, 1400, 900);
        context.fillStyle = '#1f83cf';
        context.beginPath();
        for (const [x, y] of points) context.rect(x - 1, y - 1, 3, 3);
        context.fill();
    });
    const data = new ImageData(1400, 900);
    const pixels = new Uint32Array(data.data.buffer);
    const symbol = [-1401, -1400, -1399, -1, 0, 1, 1399, 1400, 1401];
    const picture = median(() => {
        pixels.fill(0);
        for (const [x, y] of points) for (const step of symbol) pixels[y * 1400 + x + step] = 0xffcf831f;
        context.putImageData(data, 0, 0);
    });
    [path, picture] }";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: layers-times FILE [TURNS]")?;
    let turns: u32 = arguments.next().map_or(Ok(3), |turns| turns.parse())?;
    let file = Path::new(&file).canonicalize()?;
    let size = std::fs::metadata(&file)?.len() as f64 / 1e6;
    println!("{} ({size:.1} MB), Chromium headless, 1400 x 900", file.display());
    for turn in 1..=turns {
        let mut browser = Browser::start(1400, 900).ok_or("chromium is not installed")?;
        browser.open(&file);
        browser.evaluate(READY);
        let times = browser.evaluate(
            "[performance.getEntriesByName('layers drawn')[0].startTime, performance.getEntriesByType('navigation')[0].loadEventStart,
              performance.memory?.usedJSHeapSize / 1e6]",
        );
        let points = browser.evaluate("document.querySelector('.layers').dataset.points");
        let [drawn, read, heap] = [0, 1, 2].map(|place| times[place].as_f64().unwrap_or(f64::NAN));
        println!(
            "turn {turn}: first drawing {drawn:.0} ms ({} points), read {read:.0} ms, heap {heap:.0} MB",
            text(&points)
        );
        frames(&mut browser, "drag", drag);
        // Zooms to 1 % of the time, and from there to half a percent of that.
        for depth in [26, 30] {
            frames(&mut browser, "zoom by the wheel", |browser| {
                browser.evaluate(&steps(ZOOM).replace("DEPTH", &depth.to_string()));
            });
            frames(&mut browser, "drag", drag);
            frames(&mut browser, "jump by keys", |browser| {
                browser.evaluate(&steps(JUMP));
            });
        }
    }
    let mut browser = Browser::start(1400, 900).ok_or("chromium is not installed")?;
    let ways = browser.evaluate(PAINTS);
    let [path, picture] = [0, 1].map(|way| ways[way].as_f64().unwrap_or(f64::NAN));
    println!(
        "100 000 points of 3 x 3 pixels on 1400 x 900: {path:.1} ms as one path, {picture:.1} ms as a picture (medians of 15)"
    );
    Ok(())
}

fn steps(action: &str) -> String {
    action.replace("STEPS", &STEPS.to_string())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

/// Prints statistics of the frames during an action.
fn frames(browser: &mut Browser, name: &str, act: impl FnOnce(&mut Browser)) {
    let before = browser.evaluate("document.querySelector('.layers').dataset.range");
    browser.evaluate(WATCH);
    let busy = tasks(browser);
    act(browser);
    let busy = tasks(browser) - busy;
    let frames = browser.evaluate(WATCHED);
    browser.evaluate(READY);
    let mut frames: Vec<f64> = frames.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    frames.sort_by(f64::total_cmp);
    let at =
        |share: f64| frames.get(((frames.len() - 1) as f64 * share) as usize).copied().unwrap_or(f64::NAN);
    let (range, points) = (
        browser.evaluate("document.querySelector('.layers').dataset.range"),
        browser.evaluate("document.querySelector('.layers').dataset.points"),
    );
    let seconds = |range: &Value| -> f64 {
        let ends: Vec<f64> = text(range).split(' ').filter_map(|end| end.parse().ok()).collect();
        (ends[1] - ends[0]) / 1e9
    };
    println!(
        "  {name:<18} {} frames, median {:.1} ms, 95 % {:.1} ms, longest {:.1} ms, work {:.1} ms each; from {:.0} s to {:.0} s wide, {} points at the end",
        frames.len(),
        at(0.5),
        at(0.95),
        at(1.0),
        busy * 1e3 / frames.len() as f64,
        seconds(&before),
        seconds(&range),
        text(&points)
    );
}

/// Returns the processor time in seconds that the page's main thread has used; on a busy machine
/// this is more informative than the durations of frames.
fn tasks(browser: &mut Browser) -> f64 {
    browser.call("Performance.enable", &json!({ "timeDomain": "threadTicks" }));
    let metrics = browser.call("Performance.getMetrics", &json!({}));
    let found =
        metrics["metrics"].as_array().into_iter().flatten().find(|metric| metric["name"] == "TaskDuration");
    found.and_then(|metric| metric["value"].as_f64()).unwrap_or(f64::NAN)
}

/// Drags back and forth by the mouse, as input of the browser itself.
fn drag(browser: &mut Browser) {
    let place = browser.evaluate("{ const box = document.querySelector('.layers').getBoundingClientRect(); [box.left, box.top, box.width, box.height] }");
    let [left, top, width, height] = [0, 1, 2, 3].map(|part| place[part].as_f64().unwrap_or(0.0));
    let mut mouse = |kind: &str, step: u32| {
        let share = 0.5 + 0.3 * (f64::from(step) / 10.0).sin();
        let (x, y) = (left + share * width, top + (1.0 - share) * height);
        let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1 });
        browser.call("Input.dispatchMouseEvent", &event);
    };
    mouse("mousePressed", 0);
    for step in 1..STEPS {
        mouse("mouseMoved", step);
    }
    mouse("mouseReleased", STEPS);
}
