//! Names that a client may look up.
//!
//! A look-up leaves the host: name servers see it, and the owner of the name's zone reads the data
//! that the client put into the name. The same holds for the look-up of an address, which asks for
//! a name below `in-addr.arpa` or `ip6.arpa`.

use super::network::Unreadable;
use super::rules::Rules;
use std::fmt::Write;
use std::net::IpAddr;
use std::str::FromStr;

/// Maximum length of a name in bytes (RFC 1035 3.1), without the trailing dot.
const LONGEST: usize = 253;

/// Pattern for names in a policy: `any`, `www.example.org`, or `*.example.org` for all names below
/// `example.org`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern {
    /// The pattern in lower case, without the star.
    suffix: String,
    below: bool,
}

impl NamePattern {
    /// Whether a name matches. Names are compared as ASCII, ignoring case and a trailing dot.
    #[must_use]
    pub fn fits(&self, name: &str) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        if !self.below {
            return name == self.suffix;
        }
        let front = name.strip_suffix(&self.suffix);
        front.is_some_and(|front| self.suffix.is_empty() || front.len() > 1 && front.ends_with('.'))
    }
}

impl FromStr for NamePattern {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        if text == "any" {
            return Ok(Self { suffix: String::new(), below: true });
        }
        let rest = text.strip_prefix("*.");
        let suffix = rest.unwrap_or(text);
        let suffix = suffix.strip_suffix('.').unwrap_or(suffix);
        let is_label = |label: &str| {
            let is_letter = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
            (1..=63).contains(&label.len()) && label.bytes().all(is_letter)
        };
        if suffix.len() > LONGEST || !suffix.split('.').all(is_label) {
            return Err(Unreadable::because(format!(
                "`{text}` is not a name: write `www.example.org`, `*.example.org` for all names below it, or `any`; write names beyond ASCII as `xn--...`"
            )));
        }
        Ok(Self { suffix: suffix.to_ascii_lowercase(), below: rest.is_some() })
    }
}

impl Rules {
    /// Whether a name may be looked up.
    #[must_use]
    pub fn may_look_up(&self, name: &str) -> bool {
        match &self.names {
            // A client without destinations needs no names.
            None => !self.allow.is_empty(),
            Some(patterns) => patterns.iter().any(|pattern| pattern.fits(name)),
        }
    }
}

/// Returns the name that is looked up to find the name of an address (RFC 1035 3.5, RFC 3596 2.5).
#[must_use]
pub fn reverse(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [first, second, third, fourth] = address.octets();
            format!("{fourth}.{third}.{second}.{first}.in-addr.arpa")
        }
        IpAddr::V6(address) => {
            let mut name = String::new();
            for octet in address.octets().into_iter().rev() {
                // Writing to a string cannot fail.
                let _ = write!(name, "{:x}.{:x}.", octet & 0xf, octet >> 4);
            }
            name + "ip6.arpa"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, name: &str) -> bool {
        pattern.parse::<NamePattern>().expect(pattern).fits(name)
    }

    /// A name matches itself, ignoring case. A star stands for one or more labels in front, and for
    /// nothing else.
    #[test]
    fn patterns_fit() {
        for (pattern, name) in [
            ("any", "example.org"),
            ("any", "localhost"),
            ("example.org", "Example.ORG."),
            ("EXAMPLE.org.", "example.org"),
            ("*.example.org", "www.example.org"),
            ("*.example.org", "a.b.example.org."),
            ("*.in-addr.arpa", "1.2.0.192.in-addr.arpa"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("example.org", "www.example.org"),
            ("*.example.org", "example.org"),
            ("*.example.org", ".example.org"),
            ("*.example.org", "wwwexample.org"),
            ("*.example.org", "www.example.org.evil.net"),
            ("*.example.org", "www.example.orgx"),
            ("example.org", "example.org.."),
            ("example.org", ""),
        ] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    /// The error for an invalid pattern shows valid ones.
    #[test]
    fn what_is_no_pattern() {
        let long = format!("*.{}", "a.".repeat(130));
        for text in ["", "*", "*.", "w*.example.org", "a..b", ".", "b\u{fc}cher.example", "a b", &long] {
            let error = text.parse::<NamePattern>().expect_err(text).to_string();
            assert!(error.contains("is not a name") && error.contains("*.example.org"), "{error}");
        }
    }

    /// Without patterns, a client that has destinations may look up all names.
    #[test]
    fn which_may_be_looked_up() {
        assert!(Rules::default().may_look_up("example.org"));
        assert!(!Rules { allow: Vec::new(), ..Rules::default() }.may_look_up("example.org"));
        let names = Some(vec!["*.example.org".parse().expect("a pattern")]);
        let some = Rules { names, ..Rules::default() };
        assert!(some.may_look_up("www.example.org") && !some.may_look_up("secret.evil.net"));
        assert!(!some.may_look_up(&reverse([192, 0, 2, 1].into())));
        assert!(!Rules { names: Some(Vec::new()), ..Rules::default() }.may_look_up("example.org"));
    }

    /// The examples of both RFCs.
    #[test]
    fn reverse_names() {
        assert_eq!(reverse([10, 2, 0, 52].into()), "52.0.2.10.in-addr.arpa");
        assert_eq!(reverse("::ffff:10.2.0.52".parse().expect("an address")), "52.0.2.10.in-addr.arpa");
        assert_eq!(
            reverse("4321:0:1:2:3:4:567:89ab".parse().expect("an address")),
            "b.a.9.8.7.6.5.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.0.0.0.0.1.2.3.4.ip6.arpa"
        );
    }
}
