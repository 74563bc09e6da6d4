//! `lasthop cc watch`: states of TCP senders, live.

mod connections;

use super::arguments::WatchArguments;
use crate::failure::Failure;
use crate::signals::SignalPipe;
use capture::senders::{Header, SCHEMA, SenderState};
use capture::{Schema, WallTime};
use congestion::recorder::{self, Node, RecorderError};
use connections::Connections;
use netlab::Namespace;
use serde_json::{Map, Value};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Escape sequence that clears a terminal and moves the cursor to the upper left corner.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Watches until Ctrl-C, or until the reader of the output goes away.
pub fn watch(arguments: &WatchArguments) -> Result<i32, Failure> {
    let namespace = arguments.namespace.as_deref().map(super::namespace).transpose()?;
    let namespace = namespace.map_or_else(Namespace::current, Ok)?;
    let name = arguments.namespace.clone().unwrap_or_else(|| "here".to_owned());
    let node = Node { name: name.clone(), addresses: Vec::new(), cookie: namespace.cookie()? };
    let stop = SignalPipe::of(&[SIGINT, SIGTERM, SIGHUP])?;
    let mut output = io::BufWriter::new(io::stdout().lock());
    let watched = if arguments.json {
        let header = header(name);
        recorder::watch(&[node], stop.descriptor(), |states| print_lines(&mut output, states, &header))
    } else {
        let mut table = Screen::new(arguments);
        recorder::watch(&[node], stop.descriptor(), |states| table.show(&mut output, states))
    };
    match watched {
        Ok(0) => Ok(0),
        Ok(lost) => {
            anstream::eprintln!(
                "lasthop: {lost} states arrived faster than they were read and are not shown"
            );
            Ok(0)
        }
        Err(RecorderError::Source(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// Returns the header that the columns need besides a state.
fn header(node: String) -> Header {
    Header {
        schema: SCHEMA,
        lasthop: env!("CARGO_PKG_VERSION").to_owned(),
        started: WallTime::from_nanos(0),
        seed: 0,
        source: String::new(),
        nodes: vec![node],
    }
}

/// Prints each state as a JSON object on a line of its own, with the columns of
/// `lasthop analyze --senders`. Unknown values are left out.
fn print_lines(output: &mut impl Write, states: &[SenderState], header: &Header) -> io::Result<()> {
    for state in states {
        let mut line = Map::new();
        for column in SenderState::COLUMNS {
            let value = match column.cell(state, header) {
                capture::column::Cell::Null => continue,
                capture::column::Cell::Bool(value) => Value::from(value),
                capture::column::Cell::Number(number) => Value::from(number),
                capture::column::Cell::Text(text) => Value::from(text.into_owned()),
            };
            line.insert(column.name.to_owned(), value);
        }
        writeln!(output, "{}", Value::Object(line))?;
    }
    // Each batch is flushed, so no line waits for the next batch.
    output.flush()
}

/// The table of connections, drawn again at intervals.
struct Screen {
    connections: Connections,
    every: Duration,
    drawn: Option<Instant>,
    terminal: bool,
}

impl Screen {
    fn new(arguments: &WatchArguments) -> Self {
        Self {
            connections: Connections::new(arguments.all),
            every: Duration::from_secs_f64(arguments.every),
            drawn: None,
            terminal: io::stdout().is_terminal(),
        }
    }

    fn show(&mut self, output: &mut impl Write, states: &[SenderState]) -> io::Result<()> {
        self.connections.take(states);
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < self.every) {
            return Ok(());
        }
        self.drawn = Some(Instant::now());
        let text = self.connections.table();
        if self.terminal {
            writeln!(output, "{CLEAR}{text}")?;
        } else if !self.connections.is_empty() {
            writeln!(output, "{text}\n")?;
        }
        output.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_what_is_known_under_the_names_of_the_table() {
        let (local, remote) = (([10, 0, 0, 1], 5001).into(), ([10, 0, 0, 2], 80).into());
        let state = SenderState { cwnd: 17, ..SenderState::nothing_known(local, remote) };
        let mut lines = Vec::new();
        print_lines(&mut lines, &[state, state], &header("here".to_owned())).expect("written");
        let text = String::from_utf8(lines).expect("text");
        let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(rows.len(), 2);
        assert_eq!((&rows[0]["node"], &rows[0]["cwnd_segments"]), (&"here".into(), &17.into()));
        assert_eq!(rows[0]["src"], "10.0.0.1");
        assert!(rows[0].get("cc_verdict").is_none() && rows[0].get("ssthresh_segments").is_none());
    }
}
