//! Listing and changing running links.

use super::{Failure, link_seed};
use crate::remote::{self, Answer, Request, Running};
use capture::{LinkId, Live};
use emulator::{Command, Control, WayId};
use experiment::catalogue::Catalogue;
use link::Direction;
use link::profile::{LinkProfile, Parameters};
use netlab::Registry;
use netlab::state::State;
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
}

impl Remote {
    pub fn new(
        id: String,
        command: String,
        link: &LinkProfile,
        seed: u64,
        control: Control,
        live: Live,
    ) -> Self {
        let link = Mutex::new(link.clone());
        Self { id, command, seed, started: Instant::now(), link, control, live }
    }

    /// Answers a request.
    pub fn answer(&self, request: Request) -> Answer {
        match request {
            Request::Show => self.show(),
            Request::Set { direction, parameters } => match self.set(&direction, &parameters) {
                Ok(now) => Answer::Changed { now },
                Err(why) => Answer::Refused(why),
            },
        }
    }

    fn show(&self) -> Answer {
        let link = self.link.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
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
            let (changed, commands) = (next.clone(), parameters.commands());
            let done = self.control.visit(WayId::of(0, direction), move |link, now| {
                former.change_into(&changed, direction, link, &seed, now)?;
                for (stage, command) in commands {
                    link.obey(direction, stage, command, now)?;
                }
                Ok::<_, String>(())
            });
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
    let registry = Registry::open()?;
    let running: Vec<_> =
        registry.list()?.into_iter().filter(State::is_running).map(|state| state.id).collect();
    // The first digits suffice if they identify one link.
    let mut matching = running.iter().filter(|known| known.starts_with(id));
    let (Some(found), None) = (matching.next(), matching.next()) else {
        let known = if running.is_empty() {
            "no link is running".to_owned()
        } else {
            format!("running: {}", running.join(", "))
        };
        return Err(format!("`{id}` matches no link, or more than one ({known})").into());
    };
    let request = Request::Set { direction: direction.to_owned(), parameters: parameters.to_owned() };
    match remote::ask(&registry.path().join(found).join(remote::SOCKET), &request)? {
        Answer::Changed { now } => {
            for (direction, is) in now {
                anstream::println!("{direction:<4} {is}");
            }
            Ok(0)
        }
        Answer::Refused(why) => Err(why.into()),
        Answer::Link(_) => {
            Err("the link gave an unexpected answer: it may be of another version of lasthop".into())
        }
    }
}
