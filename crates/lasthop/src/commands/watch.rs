//! `lasthop watch`: shows a running link live in the terminal, and changes it by keys.

#[cfg(test)]
pub mod example;
mod history;
mod keys;
mod screen;
mod view;

use crate::commands::link::running;
use crate::failure::Failure;
use crate::pipe;
use crate::remote::{self, Answer, Request, Status};
use clap::Args;
use history::History;
use keys::Action;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use std::env;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use view::View;

/// Arguments of `lasthop watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Keys:
  Tab            choose the direction that the others change: both, up, down
  o, O           outage of 1 s, of 5 s
  +, -           rate times 1.25, or divided by it
  <, >           delay 10 ms shorter, longer
  :              write parameters, as for lasthop link set
  p              take over the directions of a link profile
  c              capture into a file of this directory (pcapng), or end the capture
  v              show flows, or sums for each device behind the link
  q              end

Flows are counted from the first look on. With --json, each line is the state of the link; counters
are those since its start. It ends with the link.")]
pub struct WatchArguments {
    /// ID of the link in `lasthop link list`, or its first digits [default: the only one that runs]
    pub id: Option<String>,
    /// Print one JSON object per interval instead
    #[arg(long)]
    pub json: bool,
    /// Time between two looks, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = clap::value_parser!(u64).range(20..=60_000))]
    pub interval: u64,
}

/// Shows a link until the user or the link ends it.
pub fn run(arguments: &WatchArguments) -> Result<i32, Failure> {
    let socket = running::socket(arguments.id.as_deref())?;
    let interval = Duration::from_millis(arguments.interval);
    // Also reports a link that does not answer, before the terminal changes.
    let first = status(&socket)?.ok_or("the link has ended")?;
    if arguments.json {
        return pipe::status(print(&socket, first, interval));
    }
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err("watch needs a terminal: use --json for programs".into());
    }
    let ended = ratatui::run(|terminal| show(terminal, &socket, first, interval))?;
    if ended {
        anstream::eprintln!("lasthop: the link has ended");
    }
    Ok(0)
}

/// Asks for the state of a link; `None` if the link has ended.
fn status(socket: &Path) -> Result<Option<Status>, Failure> {
    match remote::ask(socket, &Request::Status) {
        Ok(Answer::Status(status)) => Ok(Some(*status)),
        Ok(Answer::Refused(why)) => Err(why.into()),
        Ok(_) => Err(running::unexpected()),
        // A link closes its socket when it ends, and may do so before it has answered.
        Err(_) if !socket.exists() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn print(socket: &Path, first: Status, interval: Duration) -> Result<(), Failure> {
    let mut next = Some(first);
    while let Some(status) = next {
        writeln!(io::stdout(), "{}", serde_json::to_string(&status)?)?;
        thread::sleep(interval);
        next = self::status(socket)?;
    }
    Ok(())
}

/// Shows the link; returns whether the link has ended.
fn show(
    terminal: &mut DefaultTerminal,
    socket: &Path,
    first: Status,
    interval: Duration,
) -> Result<bool, Failure> {
    let mut history = History::default();
    let mut view = View { folder: env::current_dir()?, ..View::default() };
    history.add(first);
    let mut due = Instant::now() + interval;
    loop {
        terminal.draw(|frame| screen::draw(frame, &history, &view))?;
        if event::poll(due.saturating_duration_since(Instant::now()))? {
            let Event::Key(key) = event::read()? else { continue };
            if key.kind != KeyEventKind::Press {
                continue;
            }
            view.message = None;
            match keys::press(&mut view, history.newest(), key) {
                Action::Nothing => {}
                Action::Quit => return Ok(false),
                Action::Ask(requests) => {
                    view.message = Some(ask(socket, &requests));
                    // The next key may change the same parameter again.
                    due = Instant::now();
                }
            }
            if due > Instant::now() {
                continue;
            }
        }
        let Some(status) = status(socket)? else { return Ok(true) };
        history.add(status);
        due = Instant::now() + interval;
    }
}

/// Sends requests to the link, and returns the result for the user.
fn ask(socket: &Path, requests: &[Request]) -> String {
    let mut changed = Vec::new();
    for request in requests {
        match remote::ask(socket, request) {
            Ok(Answer::Changed { now }) => {
                // The new parameters are on the screen.
                changed.extend(now.into_iter().map(|(direction, _)| format!("{direction} changed")));
            }
            Ok(Answer::Capture { file: Some(file) }) => changed.push(format!("capture: {}", file.display())),
            Ok(Answer::Capture { file: None }) => {}
            Ok(Answer::Refused(why)) => return why,
            Ok(_) => return running::unexpected().to_string(),
            Err(error) => return format!("the link does not answer: {error}"),
        }
    }
    changed.join(", ")
}
