//! Actions of a reader on the page of a multi-layer view, and queries of what the page shows.

use crate::chromium::Browser;
use capture_analysis::layers::graph::View;
use serde_json::{Value, json};
use std::path::Path;

/// Margins of the drawing: left, top, left plus right, top plus bottom.
const ROOM: (f64, f64, f64, f64) = (112.0, 10.0, 126.0, 54.0);

/// Waits until everything that the window needs is drawn.
pub const DRAWN: &str = "new Promise(done => { let still = 0; requestAnimationFrame(function look() {
    const plot = document.querySelector('.layers');
    still = plot?.dataset.detail !== undefined && plot.dataset.detail !== 'waiting' ? still + 1 : 0;
    if (still > 2) done(1); else requestAnimationFrame(look); }); })";

pub const PLOT: &str = "document.querySelector('.layers')";

/// Opens a view as a page in `folder`; `None` without a browser.
pub fn opened(folder: &Path, view: &View) -> Option<Browser> {
    let mut browser = Browser::start(1400, 900)?;
    let file = folder.join("view.html");
    report::layers::write(&file, view).expect("a page");
    browser.open(&file);
    browser.evaluate(DRAWN);
    Some(browser)
}

/// Returns errors and warnings of the page, and requests for anything but itself.
pub fn complaints(browser: &Browser) -> Vec<String> {
    let bad = |(method, parameters): &&(String, Value)| match method.as_str() {
        "Runtime.consoleAPICalled" => {
            ["error", "warning"].contains(&parameters["type"].as_str().unwrap_or(""))
        }
        "Runtime.exceptionThrown" | "Log.entryAdded" => true,
        "Network.requestWillBeSent" => {
            let url = parameters["request"]["url"].as_str().unwrap_or("");
            !url.starts_with("data:") && !url.contains("/view.html")
        }
        _ => false,
    };
    browser.events.iter().filter(bad).map(|(_, parameters)| parameters.to_string()).collect()
}

/// Returns the shown range: from, to (ns), low, high (bytes).
pub fn range(browser: &mut Browser) -> [f64; 4] {
    let text = browser.evaluate(&format!("{PLOT}.dataset.range"));
    let ends: Vec<f64> =
        text.as_str().expect("a range").split(' ').map(|end| end.parse().expect("a number")).collect();
    ends.try_into().expect("four ends")
}

pub fn points(browser: &mut Browser) -> usize {
    let text = browser.evaluate(&format!("{PLOT}.dataset.points"));
    text.as_str().expect("a number").parse().expect("a number")
}

pub fn detail(browser: &mut Browser) -> String {
    browser.evaluate(&format!("{PLOT}.dataset.detail")).as_str().expect("a word").to_owned()
}

/// Shows a window by the fragment of the address.
pub fn go(browser: &mut Browser, fragment: &str) {
    browser.evaluate(&format!("location.hash = {fragment:?}; 1"));
    browser.evaluate(DRAWN);
}

pub fn key(browser: &mut Browser, key: &str) {
    browser.evaluate(&format!("{PLOT}.dispatchEvent(new KeyboardEvent('keydown', {{ key: {key:?} }}))"));
    browser.evaluate(DRAWN);
}

/// Returns the position on the screen of a share of the drawing; 0, 0 is bottom left.
pub fn place(browser: &mut Browser, x: f64, y: f64) -> (f64, f64) {
    let found = browser.evaluate(&format!(
        "{{ {PLOT}.scrollIntoView({{ block: 'center' }}); const box = {PLOT}.getBoundingClientRect(); [box.left, box.top, box.width, box.height] }}"
    ));
    let [left, top, width, height] = [0, 1, 2, 3].map(|part| found[part].as_f64().expect("a number"));
    (left + ROOM.0 + x * (width - ROOM.2), top + ROOM.1 + (1.0 - y) * (height - ROOM.3))
}

/// Sends a mouse event, with `shift` held or not.
pub fn mouse(browser: &mut Browser, kind: &str, (x, y): (f64, f64), shift: bool) {
    let modifiers = if shift { 8 } else { 0 };
    let event =
        json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1, "modifiers": modifiers });
    browser.call("Input.dispatchMouseEvent", &event);
}

/// Presses the button at one place and releases it at another.
pub fn drag(browser: &mut Browser, from: (f64, f64), to: (f64, f64), shift: bool) {
    mouse(browser, "mousePressed", from, shift);
    mouse(browser, "mouseMoved", (f64::midpoint(from.0, to.0), f64::midpoint(from.1, to.1)), shift);
    mouse(browser, "mouseMoved", to, shift);
    mouse(browser, "mouseReleased", to, shift);
    browser.evaluate(DRAWN);
}

/// Returns whether two values differ by at most `to`.
pub fn close(one: f64, other: f64, to: f64) -> bool {
    (one - other).abs() <= to
}

/// Counts the pixels of a canvas that have a colour.
pub fn coloured(browser: &mut Browser, canvas: usize, [red, green, blue]: [u8; 3]) -> u64 {
    let counted = browser.evaluate(&format!(
        "{{ const canvas = document.querySelectorAll('.layers canvas')[{canvas}];
            const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {{ willReadFrequently: true }});
            copy.drawImage(canvas, 0, 0);
            const {{ data }} = copy.getImageData(0, 0, canvas.width, canvas.height);
            let count = 0;
            for (let at = 0; at < data.length; at += 4) if (data[at] === {red} && data[at + 1] === {green} && data[at + 2] === {blue} && data[at + 3] > 0) count++;
            count }}"
    ));
    counted.as_u64().expect("a number")
}

/// Returns the text that the button saves.
pub fn saved(browser: &mut Browser) -> String {
    let text = browser.evaluate(
        "{ let saved = '';
           const click = HTMLAnchorElement.prototype.click;
           HTMLAnchorElement.prototype.click = function () { saved = decodeURIComponent(this.href.split(',').slice(1).join(',')); };
           document.querySelector('button.save').click();
           HTMLAnchorElement.prototype.click = click;
           saved }",
    );
    text.as_str().expect("a text").to_owned()
}
