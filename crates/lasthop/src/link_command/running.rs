//! Links that run: what they are, and changing them.

use super::{Failure, way};
use crate::remote::{self, Answer, Request, Running};
use emulator::{Control, WayId};
use link::profile::{LinkProfile, Parameters};
use link::{Direction, Seed};
use netlab::state;
use std::sync::Mutex;
use std::time::Instant;

/// A running link's side of the conversation.
pub struct Remote {
    id: u32,
    command: String,
    seed: u64,
    started: Instant,
    /// What the directions are now.
    link: Mutex<LinkProfile>,
    control: Control,
    ways: [WayId; 2],
}

impl Remote {
    pub fn new(
        id: u32,
        command: String,
        link: &LinkProfile,
        seed: u64,
        control: Control,
        ways: [WayId; 2],
    ) -> Self {
        let link = Mutex::new(link.clone());
        Self { id, command, seed, started: Instant::now(), link, control, ways }
    }

    /// Does what is asked.
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
        let packets = self
            .ways
            .map(|way| self.control.visit(way, |pipeline, _| pipeline.arrivals()).unwrap_or_default());
        Answer::Link(Running {
            id: self.id.to_string(),
            pid: std::process::id(),
            command: self.command.clone(),
            seconds: self.started.elapsed().as_secs(),
            up: link.up.to_string(),
            down: link.down.to_string(),
            packets: (packets[0], packets[1]),
        })
    }

    fn set(&self, directions: &str, parameters: &str) -> Result<Vec<(String, String)>, String> {
        let directions: &[Direction] = match directions {
            "up" => &[Direction::Up],
            "down" => &[Direction::Down],
            "both" => &Direction::BOTH,
            other => return Err(format!("`{other}` is no direction: say up, down or both")),
        };
        let parameters: Parameters = parameters.parse().map_err(|error| format!("{error}"))?;
        let mut link = self.link.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut now = Vec::new();
        for &direction in directions {
            let mut changed = link.direction(direction).clone();
            parameters.apply(&mut changed, &mut super::assemble::Named).map_err(|error| error.to_string())?;
            let former = link.direction(direction).clone();
            let seed = Seed::campaign(self.seed).run(0).link("link").direction(direction);
            let (next, commands) = (changed.clone(), parameters.commands());
            let done = self.control.visit(way(direction), move |pipeline, now| {
                former.change_into(&next, pipeline, &seed, now)?;
                for (stage, command) in commands {
                    pipeline.obey(stage, command, now)?;
                }
                Ok::<_, String>(())
            });
            done.ok_or("the link has ended")??;
            now.push((direction.to_string(), changed.to_string()));
            *link.direction_mut(direction) = changed;
        }
        Ok(now)
    }
}

/// `lasthop link list`.
pub fn list(json: bool) -> Result<i32, Failure> {
    let mut found = false;
    for (folder, state) in state::list() {
        if !state.owner.is_alive() {
            continue;
        }
        let Ok(Answer::Link(running)) = remote::ask(&folder.join(remote::SOCKET), &Request::Show) else {
            continue;
        };
        found = true;
        if json {
            anstream::println!("{}", serde_json::to_string(&running)?);
            continue;
        }
        let Running { id, pid, command, seconds, up, down, packets } = running;
        anstream::println!("link {id}  {command}  (process {pid}, {seconds} s)");
        anstream::println!("  up   {:>8} packets  {up}", packets.0);
        anstream::println!("  down {:>8} packets  {down}", packets.1);
    }
    if !found && !json {
        anstream::eprintln!("no link runs");
    }
    Ok(0)
}

/// `lasthop link set`.
pub fn set(id: &str, direction: &str, parameters: &str) -> Result<i32, Failure> {
    let runs = state::list();
    let Some((folder, _)) = runs.iter().find(|(_, state)| state.id.to_string() == id) else {
        let ids: Vec<_> = runs.iter().map(|(_, state)| state.id.to_string()).collect();
        let known =
            if ids.is_empty() { "no link runs".to_owned() } else { format!("there are {}", ids.join(", ")) };
        return Err(format!("there is no link {id}: {known}").into());
    };
    let request = Request::Set { direction: direction.to_owned(), parameters: parameters.to_owned() };
    match remote::ask(&folder.join(remote::SOCKET), &request)? {
        Answer::Changed { now } => {
            for (direction, is) in now {
                anstream::println!("{direction:<4} {is}");
            }
            Ok(0)
        }
        Answer::Refused(why) => Err(why.into()),
        Answer::Link(_) => Err("the link answered something else".into()),
    }
}
