//! Listing and changing running links, and running more programs behind them.

use super::{Failure, command_line, link_seed};
use crate::notice::Notice;
use crate::remote::{self, Answer, Request, Running};
use capture::{LinkId, Live};
use emulator::{Command, Control, LinkChange, WayId};
use experiment::catalogue::Catalogue;
use link::Direction;
use link::profile::{LinkProfile, Parameters};
use netlab::state::State;
use netlab::{Entrance, Registry};
use std::ffi::OsString;
use std::sync::Mutex;
use std::time::Instant;

/// Answers requests on behalf of a running link.
pub struct Remote {
    id: String,
    command: String,
    seed: u64,
    started: Instant,
    /// Current parameters of both directions.
    link: Mutex<LinkProfile>,
    control: Control,
    /// Counters of the recorder so far.
    live: Live,
    entrance: Entrance,
}

impl Remote {
    pub fn new(
        id: String,
        command: String,
        link: &LinkProfile,
        seed: u64,
        control: Control,
        live: Live,
        entrance: Entrance,
    ) -> Self {
        let link = Mutex::new(link.clone());
        Self { id, command, seed, started: Instant::now(), link, control, live, entrance }
    }

    /// Answers a request.
    pub fn answer(&self, request: Request) -> Answer {
        match request {
            Request::Show => self.show(),
            Request::Enter => Answer::Entrance(self.entrance.clone()),
            Request::Set { direction, parameters } => match self.set(&direction, &parameters) {
                Ok(now) => Answer::Changed { now },
                Err(why) => Answer::Refused(why),
            },
        }
    }

    fn show(&self) -> Answer {
        let link = self.link.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.control.settle();
        let summary = self.live.summary();
        let counted = |direction| {
            let counters = summary.way(LinkId(0), direction);
            (counters.packets, counters.lost)
        };
        let (up, down) = (counted(capture::Direction::Up), counted(capture::Direction::Down));
        Answer::Link(Running {
            id: self.id.clone(),
            pid: std::process::id(),
            command: self.command.clone(),
            seconds: self.started.elapsed().as_secs(),
            up: link.described(Direction::Up),
            down: link.described(Direction::Down),
            packets: (up.0, down.0),
            lost: (up.1, down.1),
        })
    }

    fn set(&self, directions: &str, parameters: &str) -> Result<Vec<(String, String)>, String> {
        let directions: &[Direction] = match directions {
            "up" => &[Direction::Up],
            "down" => &[Direction::Down],
            "both" => &Direction::BOTH,
            other => return Err(format!("`{other}` is not a direction: use up, down or both")),
        };
        let parameters_as_given = parameters;
        let parameters: Parameters = parameters.parse().map_err(|error| format!("{error}"))?;
        let mut link = self.link.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut now = Vec::new();
        for &direction in directions {
            let (former, mut next) = (link.clone(), link.clone());
            let changed = next.direction_mut(direction);
            parameters.apply(changed, &mut Catalogue::default()).map_err(|error| error.to_string())?;
            let shown = next.described(direction);
            let seed = link_seed(self.seed).direction(direction);
            let spec = |link: &LinkProfile| link.spec().map_err(|error| error.to_string());
            let commands = parameters.commands().into_iter();
            let change = LinkChange {
                former: spec(&former)?,
                next: spec(&next)?,
                seed,
                commands: commands.map(|(stage, command)| (stage.to_owned(), command)).collect(),
            };
            let done = self.control.change(WayId::of(0, direction), change);
            done.ok_or("the link has ended")??;
            self.control.tell(Command::Note(format!("{direction} changed ({parameters_as_given}): {shown}")));
            now.push((direction.to_string(), shown));
            *link = next;
        }
        Ok(now)
    }
}

/// Runs `lasthop link list`.
pub fn list(json: bool) -> Result<i32, Failure> {
    let registry = Registry::open()?;
    let mut found = false;
    for state in registry.list()?.into_iter().filter(State::is_running) {
        let socket = registry.path().join(&state.id).join(remote::SOCKET);
        // A link that has just ended or is about to start does not answer.
        let Ok(Answer::Link(running)) = remote::ask(&socket, &Request::Show) else { continue };
        found = true;
        if json {
            anstream::println!("{}", serde_json::to_string(&running)?);
            continue;
        }
        let Running { id, pid, command, seconds, up, down, packets, lost } = running;
        anstream::println!("link {id}  {command}  (process {pid}, {seconds} s)");
        anstream::println!("  up   {:>8} packets, {:>6} lost  {up}", packets.0, lost.0);
        anstream::println!("  down {:>8} packets, {:>6} lost  {down}", packets.1, lost.1);
    }
    if !found && !json {
        anstream::eprintln!("no link is running");
    }
    Ok(0)
}

/// Runs `lasthop link set`.
pub fn set(id: &str, direction: &str, parameters: &str) -> Result<i32, Failure> {
    let request = Request::Set { direction: direction.to_owned(), parameters: parameters.to_owned() };
    match ask(id, &request)? {
        Answer::Changed { now } => {
            for (direction, is) in now {
                anstream::println!("{direction:<4} {is}");
            }
            Ok(0)
        }
        Answer::Refused(why) => Err(why.into()),
        Answer::Link(_) | Answer::Entrance(_) => Err(unexpected()),
    }
}

/// Runs `lasthop link exec`: this process becomes the program. Returns only if it cannot be
/// executed.
pub fn exec(id: &str, command: &[OsString]) -> Result<i32, Failure> {
    let entrance = match ask(id, &Request::Enter)? {
        Answer::Entrance(entrance) => entrance,
        Answer::Refused(why) => return Err(why.into()),
        Answer::Link(_) | Answer::Changed { .. } => return Err(unexpected()),
    };
    let ended = entrance.execute(&command_line(command))?;
    if let Some(message) = ended.message() {
        Notice::new(false).warn(message);
    }
    Ok(ended.status().into())
}

/// Sends `request` to the running link whose id begins with `id`.
fn ask(id: &str, request: &Request) -> Result<Answer, Failure> {
    let registry = Registry::open()?;
    let running: Vec<_> =
        registry.list()?.into_iter().filter(State::is_running).map(|state| state.id).collect();
    let found = matching(id, &running)?;
    Ok(remote::ask(&registry.path().join(found).join(remote::SOCKET), request)?)
}

/// Returns the running link with this id, or else the only one whose id begins with it.
fn matching<'a>(id: &str, running: &'a [String]) -> Result<&'a str, Failure> {
    if let Some(exact) = running.iter().find(|known| *known == id) {
        return Ok(exact);
    }
    let mut beginning = running.iter().filter(|known| known.starts_with(id));
    if let (Some(found), None) = (beginning.next(), beginning.next()) {
        return Ok(found);
    }
    let known = if running.is_empty() {
        "no link is running".to_owned()
    } else {
        format!("running: {}", running.join(", "))
    };
    Err(format!("`{id}` matches no link, or more than one ({known})").into())
}

fn unexpected() -> Failure {
    "the link gave an unexpected answer: it may be of another version of lasthop".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_digits_identify_a_link_unless_another_has_the_whole_id() {
        let running = ["1", "10", "25"].map(str::to_owned);
        let found = |id| matching(id, &running).map_err(|error| error.to_string());
        assert_eq!((found("1"), found("2")), (Ok("1"), Ok("25")));
        let refused = |id: &str| format!("`{id}` matches no link, or more than one (running: 1, 10, 25)");
        assert_eq!((found(""), found("3")), (Err(refused("")), Err(refused("3"))));
        let none = matching("1", &[]).map_err(|error| error.to_string());
        assert_eq!(none, Err("`1` matches no link, or more than one (no link is running)".to_owned()));
    }
}
