//! Parser of filters.
//!
//! ```text
//! all   = term { "and" term }  |  term { "or" term }
//! term  = "not" term  |  "(" all ")"  |  primitive
//! ```

use super::{End, Filter, Flag, Primitive, Protocol, Tree, Version};
use std::str::FromStr;

/// Maximum nesting of parentheses and negations.
const DEPTH: usize = 64;
const TOO_DEEP: &str = "a simpler filter, with at most 64 levels of parentheses and `not`";

const TERM: &str = "a primitive (tcp, udp, icmp, icmp6, ip, ip6, port N, host A, src or dst before these two, greater N, less N, \
                    syn, fin, rst), `not` or `(`";
const OPERATOR: &str = "`and`, `or` or the end";

/// Error of a text that is not a filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("filter `{text}`, column {column}: found `{found}`, expected {wanted}")]
pub struct FilterError {
    /// The whole text.
    pub text: String,
    /// Column of the error, in characters from 1.
    pub column: usize,
    /// The token at that column, or `the end`.
    pub found: String,
    /// What the parser expected.
    pub wanted: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Token<'a> {
    text: &'a str,
    column: usize,
}

struct Parser<'a> {
    text: &'a str,
    /// Never empty: the last token marks the end and has an empty text.
    tokens: Vec<Token<'a>>,
    next: usize,
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let mut parser = Parser { text, tokens: tokens(text), next: 0 };
        let tree = parser.all(0)?;
        let rest = parser.peek();
        if rest.text.is_empty() { Ok(Self { tree }) } else { Err(parser.wrong(rest, OPERATOR)) }
    }
}

/// Splits a text into words, parentheses and operators.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    let mut column = 1;
    while let Some(c) = rest.chars().next() {
        let special = |c: char| matches!(c, '(' | ')' | '!' | '&' | '|');
        let length = if c.is_whitespace() {
            c.len_utf8()
        } else if rest.starts_with("&&") || rest.starts_with("||") {
            2
        } else if special(c) {
            1
        } else {
            rest.find(|c: char| c.is_whitespace() || special(c)).unwrap_or(rest.len())
        };
        let (token, after) = rest.split_at(length);
        if !c.is_whitespace() {
            tokens.push(Token { text: token, column });
        }
        column += token.chars().count();
        rest = after;
    }
    tokens.push(Token { text: "", column });
    tokens
}

/// Returns the operator that a token stands for.
fn operator(token: Token<'_>) -> Option<&'static str> {
    match token.text {
        "and" | "&&" => Some("and"),
        "or" | "||" => Some("or"),
        _ => None,
    }
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens[self.next]
    }

    fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn wrong(&self, token: Token<'_>, wanted: &'static str) -> FilterError {
        let found = if token.text.is_empty() { "the end" } else { token.text };
        FilterError { text: self.text.to_owned(), column: token.column, found: found.to_owned(), wanted }
    }

    fn all(&mut self, depth: usize) -> Result<Tree, FilterError> {
        let mut terms = vec![self.term(depth)?];
        let Some(first) = operator(self.peek()) else { return Ok(terms.remove(0)) };
        while let Some(next) = operator(self.peek()) {
            if next != first {
                return Err(self.wrong(
                    self.peek(),
                    "the same operator: `and` and `or` side by side need parentheses, such as `(a and b) or c`",
                ));
            }
            self.take();
            terms.push(self.term(depth)?);
        }
        Ok(if first == "and" { Tree::All(terms) } else { Tree::Any(terms) })
    }

    fn term(&mut self, depth: usize) -> Result<Tree, FilterError> {
        let token = self.peek();
        if depth > DEPTH {
            return Err(self.wrong(token, TOO_DEEP));
        }
        match token.text {
            "not" | "!" => {
                self.take();
                Ok(Tree::Not(Box::new(self.term(depth + 1)?)))
            }
            "(" => {
                self.take();
                let tree = self.all(depth + 1)?;
                let end = self.take();
                if end.text == ")" { Ok(tree) } else { Err(self.wrong(end, "`and`, `or` or `)`")) }
            }
            _ => self.primitives(depth),
        }
    }

    /// Parses a primitive, or two that need no `and` between them.
    fn primitives(&mut self, depth: usize) -> Result<Tree, FilterError> {
        let token = self.peek();
        let first = self.primitive()?;
        let at = |place: usize| self.tokens.get(place).map(|token| token.text);
        let subject = match at(self.next) {
            Some("src" | "dst") => at(self.next + 1),
            other => other,
        };
        let joins = match first {
            Primitive::Protocol(Protocol::Tcp | Protocol::Udp) => subject == Some("port"),
            Primitive::Version(_) => subject == Some("host"),
            _ => false,
        };
        if joins {
            // The printed form is `(tcp and port 80)`, one level deeper.
            if depth == DEPTH {
                return Err(self.wrong(token, TOO_DEEP));
            }
            let second = self.primitive()?;
            return Ok(Tree::All(vec![Tree::Is(first), Tree::Is(second)]));
        }
        Ok(Tree::Is(first))
    }

    fn primitive(&mut self) -> Result<Primitive, FilterError> {
        let token = self.take();
        Ok(match token.text {
            "ip" => Primitive::Version(Version::Ip),
            "ip6" => Primitive::Version(Version::Ip6),
            "tcp" => Primitive::Protocol(Protocol::Tcp),
            "udp" => Primitive::Protocol(Protocol::Udp),
            "icmp" => Primitive::Protocol(Protocol::Icmp),
            "icmp6" => Primitive::Protocol(Protocol::Icmp6),
            "syn" => Primitive::Flag(Flag::Syn),
            "fin" => Primitive::Flag(Flag::Fin),
            "rst" => Primitive::Flag(Flag::Rst),
            "greater" => Primitive::Greater(self.value("a number of bytes")?),
            "less" => Primitive::Less(self.value("a number of bytes")?),
            "src" => self.end(End::Source)?,
            "dst" => self.end(End::Destination)?,
            "port" | "host" => {
                self.next -= 1;
                self.end(End::Either)?
            }
            _ => return Err(self.wrong(token, TERM)),
        })
    }

    fn end(&mut self, end: End) -> Result<Primitive, FilterError> {
        let token = self.take();
        match token.text {
            "port" => Ok(Primitive::Port(end, self.value("a port from 0 to 65535")?)),
            "host" => Ok(Primitive::Host(end, self.value("an IPv4 or IPv6 address")?)),
            _ => Err(self.wrong(token, "`port` or `host`")),
        }
    }

    fn value<T: FromStr>(&mut self, wanted: &'static str) -> Result<T, FilterError> {
        let token = self.take();
        // Rust's parser would accept a plus sign; the language does not.
        let value = (!token.text.starts_with('+')).then(|| token.text.parse().ok()).flatten();
        value.ok_or_else(|| self.wrong(token, wanted))
    }
}
