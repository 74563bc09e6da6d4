//! A headless Chromium with one page, controlled by the Chrome DevTools protocol.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tungstenite::{Message, WebSocket};

/// Maximum time for an answer of the browser; after that the test fails.
const PATIENCE: Duration = Duration::from_mins(2);

/// The browser; ended, and its profile removed, when dropped.
pub struct Browser {
    process: Child,
    socket: WebSocket<TcpStream>,
    session: Option<String>,
    next: u64,
    /// Notifications received so far: method and parameters.
    pub events: Vec<(String, Value)>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts Chromium with a window of this size; `None` if it is not installed, which is printed.
    pub fn start(width: u32, height: u32) -> Option<Self> {
        let profile = tempfile::tempdir().expect("a folder");
        let child = Command::new("chromium")
            // No sandbox: root cannot have one. The page is our own, and the network is off.
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--no-first-run", "--disable-background-networking", "--remote-debugging-port=0"])
            .arg(format!("--window-size={width},{height}"))
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut process) = child else {
            skip::skip!("chromium is not installed");
            return None;
        };
        let stderr = BufReader::new(process.stderr.take().expect("a pipe"));
        let mut lines = stderr.lines().map_while(Result::ok);
        let url = lines
            .find_map(|line| Some(line.split_once("DevTools listening on ")?.1.to_owned()))
            .expect("Chromium says where it listens");
        // It continues to print; a full pipe would block it.
        std::thread::spawn(move || lines.for_each(drop));
        let address = url.trim_start_matches("ws://").split('/').next().expect("an address").to_owned();
        let stream = TcpStream::connect(address).expect("Chromium listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        let (socket, _) = tungstenite::client(url, stream).expect("a WebSocket");
        let mut browser =
            Self { process, socket, session: None, next: 0, events: Vec::new(), _profile: profile };
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", &attach);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser.call("Page.setLifecycleEventsEnabled", &json!({ "enabled": true }));
        Some(browser)
    }

    /// Opens a file and waits until it has been loaded.
    #[allow(dead_code, reason = "not every page is a file")]
    pub fn open(&mut self, file: &Path) {
        self.visit(&format!("file://{}", file.display()));
    }

    /// Opens an address and waits until it has been loaded. The load event of the previous page may
    /// still arrive, and is ignored.
    pub fn visit(&mut self, url: &str) {
        self.events.clear();
        let navigation = self.call("Page.navigate", &json!({ "url": url }));
        let loader = &navigation["loaderId"];
        assert!(loader.is_string(), "{navigation}");
        self.until(|page, event| event == "load" && page == loader);
    }

    /// Loads the page again and waits until it has been loaded.
    #[allow(dead_code, reason = "not every test reloads its page")]
    pub fn reload(&mut self) {
        self.events.clear();
        self.call("Page.reload", &json!({}));
        let loader = self.until(|_, event| event == "init");
        self.until(|page, event| event == "load" && *page == loader);
    }

    /// Waits for an event in the life of a page, which has an identifier. Returns the latter.
    fn until(&mut self, is_it: impl Fn(&Value, &Value) -> bool) -> Value {
        let is_it = |(method, event): &&(String, Value)| {
            method == "Page.lifecycleEvent" && is_it(&event["loaderId"], &event["name"])
        };
        loop {
            if let Some((_, event)) = self.events.iter().find(is_it) {
                return event["loaderId"].clone();
            }
            let message = self.read();
            self.events.extend(notification(&message));
        }
    }

    /// Returns the value of an expression in the page; a promise is awaited.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let result = self.call("Runtime.evaluate", &parameters);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Sends a command and waits for its result.
    pub fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.next += 1;
        let mut command = json!({ "id": self.next, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            command["sessionId"] = session.as_str().into();
        }
        self.socket.send(Message::text(command.to_string())).expect("Chromium takes commands");
        loop {
            let message = self.read();
            if message["id"] == self.next {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.extend(notification(&message));
        }
    }

    fn read(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.socket.read().expect("Chromium answers") {
                return serde_json::from_str(&text).expect("JSON");
            }
        }
    }
}

fn notification(message: &Value) -> Option<(String, Value)> {
    Some((message["method"].as_str()?.to_owned(), message["params"].clone()))
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
