//! The page of `lasthop serve` in a real browser, with a link that carries a download.

#[path = "../../report/tests/chromium/mod.rs"]
mod chromium;

use chromium::Browser;
use netlab::Namespace;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Processes that end with the test.
struct Running(Vec<Child>);

impl Drop for Running {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // SIGTERM, so that the link removes what it has made.
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            let _ = child.wait();
        }
    }
}

/// Runs a shell script in the folder until the test ends.
fn script(folder: &Path, text: &str) -> Child {
    let binary = Path::new(env!("CARGO_BIN_EXE_lasthop")).parent().expect("a folder").display();
    Command::new("bash")
        .args(["-c", text])
        .current_dir(folder)
        .env("PATH", format!("{binary}:{}", std::env::var("PATH").unwrap_or_default()))
        .env("LASTHOP_STATE_DIR", folder.join("state"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("bash runs")
}

/// Waits in the page until an expression is true, or fails with the text of the page.
fn wait_for(browser: &mut Browser, condition: &str) {
    let met = browser.evaluate(&format!(
        "new Promise(done => {{
            const until = Date.now() + 60000;
            const look = () => ({condition}) ? done(true) : Date.now() > until ? done(false) : setTimeout(look, 50);
            look();
        }})"
    ));
    let text =
        if met == true { String::new() } else { browser.evaluate("document.body.innerText").to_string() };
    assert_eq!(met, true, "{condition}: {text}");
}

/// The page finds the link, shows its rate and its flow, and switches its profile while a device
/// downloads.
#[test]
fn a_download_while_the_profile_is_changed_from_the_page() {
    let Ok(namespace) = Namespace::new() else {
        skip::skip!("making network namespaces needs root");
        return;
    };
    namespace
        .enter(|| {
            look();
            Ok(())
        })
        .expect("entered");
}

fn look() {
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).status();
    assert!(up.is_ok_and(|status| status.success()), "the loopback device");
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let Some(mut browser) = Browser::start(1280, 1000) else { return };
    std::fs::write(folder.join("data"), vec![b'x'; 40_000_000]).expect("a file");
    let mut running = Running(vec![script(
        folder,
        "python3 -m http.server 8000 >/dev/null 2>&1 & server=$!
         trap 'kill $server $!; wait' TERM
         until (exec 3<>/dev/tcp/127.0.0.1/8000) 2>/dev/null; do sleep 0.05; done
         lasthop link -q --down rate=4mbit,delay=20ms --seed 1 \
            -- curl -s -o copy http://host.lasthop:8000/data & wait $!",
    )]);
    let mut serve = script(
        folder,
        "until lasthop link list 2>/dev/null | grep -q ^link; do sleep 0.05; done
         exec lasthop serve --listen 127.0.0.1:0",
    );
    let mut url = String::new();
    BufReader::new(serve.stdout.take().expect("a pipe")).read_line(&mut url).expect("an address");
    running.0.push(serve);
    browser.visit(url.trim());
    wait_for(&mut browser, "/[34]\\.\\d+ Mbit\\/s/.test(document.body.innerText)");
    wait_for(&mut browser, "/:8000/.test(document.body.innerText)");
    wait_for(
        &mut browser,
        "[...document.querySelectorAll('#profile option')].some(option => option.textContent.startsWith('umts'))",
    );
    let found = browser.evaluate(
        "{ const list = document.getElementById('profile');
            const option = [...list.options].find(option => option.textContent.startsWith('umts'));
            list.value = option.value; list.dispatchEvent(new Event('change', { bubbles: true }));
            [...document.querySelectorAll('button')].find(button => button.textContent === 'Switch').click(); true }",
    );
    assert_eq!(found, true);
    // The rate that arrives is that of the profile, not only its description.
    wait_for(&mut browser, "/3[678]\\d(\\.\\d)? kbit\\/s of 384 kbit\\/s/.test(document.body.innerText)");
    if let Some(to) = std::env::var_os("LASTHOP_TEST_PICTURES") {
        let picture =
            browser.call("Page.captureScreenshot", &serde_json::json!({ "captureBeyondViewport": true }));
        std::fs::write(Path::new(&to).join("serve.png.base64"), picture["data"].as_str().unwrap_or_default())
            .expect("a file");
    }
    let errors = browser.events.iter().filter(|(method, _)| method == "Runtime.exceptionThrown").count();
    assert_eq!(errors, 0, "{:?}", browser.events);
}
