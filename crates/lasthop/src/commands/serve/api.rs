//! Routes of the HTTP interface: a call becomes a request to a link, and its answer a reply.

use super::links::Links;
use super::openapi;
use crate::failure::Failure;
use crate::outputs;
use crate::remote::{Answer, Request};
use experiment::catalogue;
use link::profile::Content;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A call of the interface.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// `GET` or `POST`.
    pub method: &'a str,
    /// Path of the URL.
    pub path: &'a str,
    /// Header `Authorization`.
    pub authorization: Option<&'a str>,
    /// Body.
    pub body: &'a str,
}

/// The reply.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply {
    /// Status of HTTP.
    pub status: u16,
    /// Media type of the body.
    pub kind: &'static str,
    /// Body.
    pub body: Vec<u8>,
}

/// The interface.
pub struct Api<L> {
    links: L,
    token: String,
    /// Addresses under which other machines reach it.
    addresses: Vec<String>,
    /// Directory for captures.
    folder: PathBuf,
    /// The last capture of each link.
    captures: Mutex<HashMap<String, PathBuf>>,
}

/// A change, as in `lasthop link set`.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// `up`, `down` or `both`.
    pub direction: String,
    /// Parameters, as in `lasthop link set`: `rate=2mbit,delay=40ms`, `profile=lte`,
    /// `outage=now+1s`.
    pub parameters: String,
}

/// Result of a change.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct Changed {
    /// Name and new description of each changed direction.
    pub now: Vec<(String, String)>,
}

/// Whether to capture.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Begin a capture, or end it.
    pub record: bool,
}

/// The capture of a link.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct CaptureState {
    /// File that is written now, in the directory of `lasthop serve --captures`.
    pub file: Option<String>,
    /// Its size so far.
    pub bytes: u64,
}

/// A profile.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct ProfileName {
    /// Name for `profile=` or `loss=`.
    pub name: String,
    /// `link` or `loss`.
    pub kind: &'static str,
    /// Title.
    pub title: String,
}

impl Reply {
    fn json(status: u16, value: &impl Serialize) -> Self {
        let body = serde_json::to_vec(value).expect("values of this program are JSON");
        Self { status, kind: "application/json", body }
    }

    /// Returns an error with a text for the user.
    pub fn error(status: u16, why: &str) -> Self {
        Self::json(status, &json!({ "error": why }))
    }
}

impl<L: Links> Api<L> {
    /// Returns an interface to `links`, whose callers must know `token`.
    pub fn new(links: L, token: String, addresses: Vec<String>, folder: PathBuf) -> Self {
        Self { links, token, addresses, folder, captures: Mutex::default() }
    }

    /// Answers a call.
    pub fn answer(&self, call: &Call) -> Reply {
        let path = call.path.split(['?', '#']).next().unwrap_or_default();
        match (call.method, path) {
            ("GET", "/") => {
                return Reply {
                    status: 200,
                    kind: "text/html; charset=utf-8",
                    body: report::html::live().into_bytes(),
                };
            }
            ("GET", "/api/openapi.json") => return Reply::json(200, &openapi::description()),
            _ => {}
        }
        if !self.knows(call.authorization) {
            return Reply::error(
                401,
                "the token is missing or wrong: use the address that lasthop serve printed",
            );
        }
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let reply = match (call.method, &parts[..]) {
            ("GET", ["api", "links"]) => self.links.list().map(|links| Reply::json(200, &links)),
            ("GET", ["api", "profiles"]) => profiles(),
            ("GET", ["api", "addresses"]) => Ok(Reply::json(200, &self.addresses)),
            ("GET", ["api", "links", id]) => self.link(id, &Request::Status, |answer| match answer {
                Answer::Status(status) => Some(Reply::json(200, &status)),
                _ => None,
            }),
            ("POST", ["api", "links", id, "set"]) => self.set(id, call.body),
            ("GET", ["api", "links", id, "capture"]) => self.capture(id),
            ("POST", ["api", "links", id, "capture"]) => self.record(id, call.body),
            ("GET", ["api", "links", id, "capture", "file"]) => Ok(self.file(id)),
            ("GET" | "POST", _) => Ok(Reply::error(404, "there is no such path: see /api/openapi.json")),
            _ => Ok(Reply::error(405, "only GET and POST are known here")),
        };
        reply.unwrap_or_else(|error| Reply::error(404, &error.to_string()))
    }

    /// Compares in a time that does not depend on where the texts differ.
    fn knows(&self, authorization: Option<&str>) -> bool {
        let Some(given) = authorization.and_then(|value| value.strip_prefix("Bearer ")) else { return false };
        let differ = given.bytes().zip(self.token.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
        given.len() == self.token.len() && differ == 0
    }

    /// Asks a link, and makes the reply of its answer.
    fn link(
        &self,
        id: &str,
        request: &Request,
        reply: impl FnOnce(Answer) -> Option<Reply>,
    ) -> Result<Reply, Failure> {
        Ok(match self.links.ask(id, request)? {
            Answer::Refused(why) => Reply::error(400, &why),
            answer => {
                reply(answer).unwrap_or_else(|| Reply::error(500, "the link gave an unexpected answer"))
            }
        })
    }

    fn set(&self, id: &str, body: &str) -> Result<Reply, Failure> {
        let Change { direction, parameters } = match serde_json::from_str(body) {
            Ok(change) => change,
            Err(error) => return Ok(Reply::error(400, &format!("the body is no change: {error}"))),
        };
        self.link(id, &Request::Set { direction, parameters }, |answer| match answer {
            Answer::Changed { now } => Some(Reply::json(200, &Changed { now })),
            _ => None,
        })
    }

    fn capture(&self, id: &str) -> Result<Reply, Failure> {
        self.link(id, &Request::Status, |answer| match answer {
            Answer::Status(status) => Some(state(status.capture)),
            _ => None,
        })
    }

    fn record(&self, id: &str, body: &str) -> Result<Reply, Failure> {
        let Record { record } = match serde_json::from_str(body) {
            Ok(record) => record,
            Err(error) => {
                return Ok(Reply::error(400, &format!("the body must be {{\"record\": true}}: {error}")));
            }
        };
        let file = record.then(|| outputs::free_capture(&self.folder, &format!("link-{id}")));
        let request = Request::Capture { file: file.clone() };
        self.link(id, &request, |answer| match answer {
            Answer::Capture { file: written } => {
                if let Some(file) = written {
                    self.captures().insert(id.to_owned(), file);
                }
                Some(state(file))
            }
            _ => None,
        })
    }

    /// Returns the last capture of a link, also after the link has ended.
    fn file(&self, id: &str) -> Reply {
        let Some(path) = self.captures().get(id).cloned() else {
            return Reply::error(404, "nothing was captured of this link");
        };
        match fs::read(&path) {
            Ok(body) => Reply { status: 200, kind: "application/x-pcapng", body },
            Err(error) => Reply::error(404, &format!("{}: {error}", path.display())),
        }
    }

    fn captures(&self) -> MutexGuard<'_, HashMap<String, PathBuf>> {
        self.captures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn state(file: Option<PathBuf>) -> Reply {
    let bytes = file.as_ref().and_then(|file| fs::metadata(file).ok()).map_or(0, |metadata| metadata.len());
    let name = |file: PathBuf| Some(file.file_name()?.to_string_lossy().into_owned());
    Reply::json(200, &CaptureState { file: file.and_then(name), bytes })
}

fn profiles() -> Result<Reply, Failure> {
    let all: Vec<_> = catalogue::all()?
        .into_iter()
        .map(|profile| ProfileName {
            kind: if matches!(profile.content, Content::Link(_)) { "link" } else { "loss" },
            name: profile.name,
            title: profile.title,
        })
        .collect();
    Ok(Reply::json(200, &all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::watch::example;
    use crate::remote;

    /// One link, which records captures in name only.
    struct One;

    impl Links for One {
        fn list(&self) -> Result<Vec<remote::Running>, Failure> {
            Ok(vec![example::status(5).link])
        }

        fn ask(&self, id: &str, request: &Request) -> Result<Answer, Failure> {
            if id != "1" {
                return Err(format!("`{id}` matches no link").into());
            }
            Ok(match request {
                Request::Status => Answer::Status(Box::new(example::status(5))),
                Request::Set { direction, parameters } if parameters == "rate=1mbit" => {
                    Answer::Changed { now: vec![(direction.clone(), "1Mbit/s".to_owned())] }
                }
                Request::Capture { file } => Answer::Capture { file: file.clone() },
                _ => Answer::Refused("not this".to_owned()),
            })
        }
    }

    fn call(method: &str, path: &str, token: Option<&str>, body: &str) -> (u16, serde_json::Value) {
        let folder = std::env::temp_dir();
        let api =
            Api::new(One, "0123456789abcdef".to_owned(), vec!["http://192.0.2.1:8181/".to_owned()], folder);
        let authorization = token.map(|token| format!("Bearer {token}"));
        let reply = api.answer(&Call { method, path, authorization: authorization.as_deref(), body });
        (reply.status, serde_json::from_slice(&reply.body).unwrap_or_default())
    }

    const TOKEN: Option<&str> = Some("0123456789abcdef");

    #[test]
    fn nothing_is_read_or_changed_without_the_token() {
        let paths = openapi::description()["paths"].as_object().expect("paths").clone();
        assert!(paths.len() > 6, "{paths:?}");
        for (path, methods) in paths {
            let path = path.replace("{id}", "1");
            for method in methods.as_object().expect("methods").keys() {
                let method = method.to_uppercase();
                for token in [None, Some(""), Some("0123456789abcdeX"), Some("0123456789abcdef0")] {
                    let (status, _) = call(&method, &path, token, "{}");
                    let is_open = path == "/api/openapi.json";
                    assert_eq!(status, if is_open { 200 } else { 401 }, "{method} {path} {token:?}");
                }
                // Every path of the description exists.
                let (status, reply) = call(&method, &path, TOKEN, r#"{"record": true}"#);
                assert!(
                    !reply["error"].to_string().contains("no such path"),
                    "{method} {path} {status} {reply}"
                );
            }
        }
    }

    #[test]
    fn a_link_is_shown_and_changed() {
        let (status, links) = call("GET", "/api/links", TOKEN, "");
        assert_eq!((status, &links[0]["id"]), (200, &json!("1")));
        let (status, link) = call("GET", "/api/links/1?x", TOKEN, "");
        assert_eq!((status, &link["down"]["rate"]), (200, &json!(2_000_000)));
        let change = r#"{"direction": "down", "parameters": "rate=1mbit"}"#;
        let changed = json!({ "now": [["down", "1Mbit/s"]] });
        assert_eq!(call("POST", "/api/links/1/set", TOKEN, change), (200, changed));
        let (status, profiles) = call("GET", "/api/profiles", TOKEN, "");
        assert_eq!((status, &profiles[0]["kind"]), (200, &json!("link")));
        let (status, addresses) = call("GET", "/api/addresses", TOKEN, "");
        assert_eq!((status, addresses), (200, json!(["http://192.0.2.1:8181/"])));
        let (status, capture) = call("POST", "/api/links/1/capture", TOKEN, r#"{"record": true}"#);
        assert_eq!((status, &capture["file"]), (200, &json!("link-1.pcapng")));
    }

    #[test]
    fn refusals_say_why() {
        let error = |(status, reply): (u16, serde_json::Value)| {
            format!("{status} {}", reply["error"].as_str().unwrap_or_default())
        };
        let set = |body| error(call("POST", "/api/links/1/set", TOKEN, body));
        insta::assert_snapshot!(
            [
                set("rate=1mbit"),
                set(r#"{"direction": "down"}"#),
                set(r#"{"direction": "down", "parameters": "rate=2mbit"}"#),
                error(call("GET", "/api/links/7", TOKEN, "")),
                error(call("GET", "/api/links/1/capture/file", TOKEN, "")),
                error(call("GET", "/api/nothing", TOKEN, "")),
                error(call("DELETE", "/api/links/1", TOKEN, "")),
                error(call("GET", "/api/links", None, "")),
            ]
            .join("\n")
        );
    }
}
