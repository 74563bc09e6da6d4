//! The part of HTTP/1.1 that a receiver of media needs: one GET, and the header of its response.

use crate::medium::Medium;

/// What is wrong with a URL or a response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The URL is invalid.
    #[error("`{0}` is not the URL of a file: write http://HOST[:PORT]/PATH")]
    Url(String),
    /// The response is not HTTP.
    #[error("the response is not HTTP: {0}")]
    Response(String),
    /// The server answers with another status than 200.
    #[error("the server answered {status} {reason}")]
    Status {
        /// The status code.
        status: u16,
        /// The reason phrase.
        reason: String,
    },
    /// The medium cannot be damaged.
    #[error("content type `{0}` does not tolerate damage: expected image/jpeg, audio/wav or audio/L16")]
    Medium(String),
    /// The response has no `Content-Length`. The length of the body must be known from the header,
    /// because chunk sizes in the body could be damaged.
    #[error("the response has no Content-Length: the length must be in the header, which arrives intact")]
    Length,
}

/// The address of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// Host name or address.
    pub host: String,
    /// Port; 80 by default.
    pub port: u16,
    /// Path, including the leading slash.
    pub path: String,
}

impl std::str::FromStr for Url {
    type Err = HttpError;

    fn from_str(text: &str) -> Result<Self, HttpError> {
        let wrong = || HttpError::Url(text.to_owned());
        let (authority, path) =
            text.strip_prefix("http://").and_then(|rest| rest.split_once('/')).ok_or_else(wrong)?;
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| wrong())?),
            None => (authority, 80),
        };
        if host.is_empty()
            || text.chars().any(|character| character.is_whitespace() || character.is_control())
        {
            return Err(wrong());
        }
        Ok(Self { host: host.to_owned(), port, path: format!("/{path}") })
    }
}

impl Url {
    /// Returns the request. It asks the server to close the connection, so that nothing follows the
    /// body.
    #[must_use]
    pub fn request(&self) -> String {
        let Self { host, port, path } = self;
        format!(
            "GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\nAccept-Encoding: identity\r\n\r\n"
        )
    }
}

/// The header of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Length of the header in bytes.
    pub len: usize,
    /// Medium of the body.
    pub medium: Medium,
    /// Value of the `Content-Type` field.
    pub content_type: String,
    /// Length of the body in bytes.
    pub body: usize,
}

/// Parses the header at the start of a response. Returns `None` if it is longer than these bytes.
///
/// # Errors
/// If it is not HTTP, has no known medium, or states no length.
pub fn head(response: &[u8]) -> Result<Option<Head>, HttpError> {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut parsed = httparse::Response::new(&mut fields);
    let len = match parsed.parse(response) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(HttpError::Response(error.to_string())),
    };
    let status = parsed.code.unwrap_or_default();
    if status != 200 {
        return Err(HttpError::Status { status, reason: parsed.reason.unwrap_or_default().to_owned() });
    }
    let field = |name: &str| {
        let field = parsed.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
        field.map(|field| String::from_utf8_lossy(field.value).trim().to_owned())
    };
    let content_type = field("Content-Type").unwrap_or_default();
    let medium = Medium::of_content_type(&content_type);
    let medium = medium.ok_or_else(|| HttpError::Medium(content_type.clone()))?;
    let length = field("Content-Length").and_then(|value| value.parse().ok());
    if field("Transfer-Encoding").is_some() {
        return Err(HttpError::Length);
    }
    Ok(Some(Head { len, medium, content_type, body: length.ok_or(HttpError::Length)? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let url: Url = "http://host.lasthop:8000/a/picture.jpg".parse().expect("a URL");
        assert_eq!(url, Url { host: "host.lasthop".into(), port: 8000, path: "/a/picture.jpg".into() });
        let plain: Url = "http://192.0.2.1/".parse().expect("a URL");
        assert_eq!((plain.port, plain.path.as_str()), (80, "/"));
        assert!(url.request().starts_with("GET /a/picture.jpg HTTP/1.1\r\nHost: host.lasthop:8000\r\n"));
        for wrong in
            ["https://a/b", "http://a", "http:///b", "http://a:x/b", "http://a/b c", "http://a/\r\nX: y"]
        {
            assert!(wrong.parse::<Url>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_header_says_what_comes_and_how_long() {
        let text = "HTTP/1.0 200 OK\r\nContent-type: image/jpeg\r\nContent-Length: 12\r\n\r\n";
        let response = [text.as_bytes(), &[0xff, 0xd8]].concat();
        let expected =
            Head { len: text.len(), medium: Medium::Jpeg, content_type: "image/jpeg".into(), body: 12 };
        assert_eq!(head(&response), Ok(Some(expected)));
        for len in 0..text.len() {
            assert_eq!(head(&response[..len]), Ok(None), "{len} bytes");
        }
    }

    #[test]
    fn what_cannot_be_received_is_said() {
        let said = |text: &str| head(text.as_bytes()).expect_err("refused").to_string();
        assert_eq!(said("HTTP/1.1 404 Not Found\r\n\r\n"), "the server answered 404 Not Found");
        assert_eq!(
            said("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1\r\n\r\n"),
            "content type `text/html` does not tolerate damage: expected image/jpeg, audio/wav or audio/L16"
        );
        let chunked = "HTTP/1.1 200 OK\r\nContent-Type: audio/wav\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert!(said(chunked).starts_with("the response has no Content-Length"));
        assert!(said("220 mail.example ESMTP\r\n").starts_with("the response is not HTTP"));
    }
}
