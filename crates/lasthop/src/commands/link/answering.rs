//! Answers to requests of other processes, on behalf of a running link.

use super::link_seed;
use crate::remote::{Answer, FlowStatus, Request, Running, Status, WayStatus};
use capture::flows::{End, FlowCounters, FlowId};
use capture::{LinkId, Live, RecordError, Summary};
use emulator::{Command, Control, LinkChange, WayId};
use experiment::catalogue::Catalogue;
use link::Direction;
use link::profile::{LinkProfile, Parameters};
use link::spec::DirectionSpec;
use link::stage::StageCommand;
use link::units::BitRate;
use netlab::Entrance;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
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
    /// `None` if no program can be behind the link.
    entrance: Option<Entrance>,
}

impl Remote {
    pub fn new(
        id: String,
        command: String,
        link: &LinkProfile,
        seed: u64,
        control: Control,
        live: Live,
        entrance: Option<Entrance>,
    ) -> Self {
        let link = Mutex::new(link.clone());
        Self { id, command, seed, started: Instant::now(), link, control, live, entrance }
    }

    /// Answers a request.
    pub fn answer(&self, request: Request) -> Answer {
        match request {
            Request::Show => Answer::Link(self.describe(&self.counters())),
            Request::Status => Answer::Status(Box::new(self.status())),
            Request::Capture { file } => match self.capture(file) {
                Ok(file) => Answer::Capture { file },
                Err(error) => Answer::Refused(error.to_string()),
            },
            Request::Enter => match &self.entrance {
                Some(entrance) => Answer::Entrance(entrance.clone()),
                None => Answer::Refused(format!(
                    "link {} is between two interfaces: no program can be behind it",
                    self.id
                )),
            },
            Request::Set { direction, parameters } => match self.set(&direction, &parameters) {
                Ok(now) => Answer::Changed { now },
                Err(why) => Answer::Refused(why),
            },
        }
    }

    /// Returns the counters with everything that has happened until now.
    fn counters(&self) -> Summary {
        self.control.settle();
        self.live.catch_up();
        self.live.summary()
    }

    fn describe(&self, summary: &Summary) -> Running {
        let link = self.link();
        let counted = |direction| {
            let counters = summary.way(LinkId(0), direction);
            (counters.packets, counters.lost)
        };
        Running {
            id: self.id.clone(),
            pid: std::process::id(),
            command: self.command.clone(),
            seconds: self.started.elapsed().as_secs(),
            up: link.described(Direction::Up),
            down: link.described(Direction::Down),
            packets: Direction::BOTH.map(|direction| counted(direction).0).into(),
            lost: Direction::BOTH.map(|direction| counted(direction).1).into(),
        }
    }

    fn status(&self) -> Status {
        let summary = self.counters();
        let at_ns = self.started.elapsed().as_nanos() as u64;
        let (mut flows, channels) = self.live.watched(|watched| {
            let flows: Vec<_> = watched.flows().map(|(id, counters)| flow(&id, counters)).collect();
            (flows, Direction::BOTH.map(|direction| watched.channel(LinkId(0), direction)))
        });
        let way = |direction: Direction| {
            let profile = self.link();
            let (rate, delay) = (profile.rate(direction), profile.direction(direction).delay());
            drop(profile);
            let counters = summary.way(LinkId(0), direction);
            let waiting = self.control.waiting(WayId::of(0, direction)).unwrap_or_default();
            let lost_by_reason = counters.lost_by_reason.iter();
            WayStatus {
                rate: rate.map(BitRate::as_bits_per_second),
                delay_ns: delay.as_nanos(),
                packets: counters.packets,
                bytes: counters.bytes,
                delivered: counters.delivered,
                delivered_bytes: counters.delivered_bytes,
                lost: counters.lost,
                lost_by_reason: lost_by_reason.map(|(loss, count)| (loss.name().to_owned(), count)).collect(),
                damaged: counters.damaged,
                duplicated: counters.duplicated,
                reordered: counters.reordered,
                congestion_marked: counters.congestion_marked,
                waiting: waiting as u64,
                delay_sum_ns: counters.delay.sum_nanos() as u64,
                queueing_sum_ns: counters.waiting.sum_nanos() as u64,
                channel: channels[direction as usize].map(|state| state.name().to_owned()),
            }
        };
        // Flows of equal size keep their places.
        flows.sort_by(|a, b| {
            b.bytes().cmp(&a.bytes()).then_with(|| (&a.inside, &a.outside).cmp(&(&b.inside, &b.outside)))
        });
        let capture = self.live.captures_to();
        let link = self.describe(&summary);
        Status { link, at_ns, up: way(Direction::Up), down: way(Direction::Down), capture, flows }
    }

    fn capture(&self, file: Option<PathBuf>) -> Result<Option<PathBuf>, RecordError> {
        if let Some(file) = file {
            self.live.capture(&file)?;
            return Ok(Some(file));
        }
        self.control.settle();
        self.live.catch_up();
        Ok(self.live.stop()?.and_then(|captured| captured.path))
    }

    fn link(&self) -> MutexGuard<'_, LinkProfile> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, directions: &str, parameters: &str) -> Result<Vec<(String, String)>, String> {
        let directions: &[Direction] = match directions {
            "up" => &[Direction::Up],
            "down" => &[Direction::Down],
            "both" => &Direction::BOTH,
            other => return Err(format!("`{other}` is not a direction: use up, down or both")),
        };
        let (name, listed) = split_profile(parameters);
        let changes: Parameters = listed.parse().map_err(|error| format!("{error}"))?;
        let mut catalogue = Catalogue::default();
        let mut link = self.link();
        let base = match name {
            Some(name) => profile(&link, name)?,
            None => link.clone(),
        };
        let mut wanted = Vec::new();
        for &direction in directions {
            let mut spec = base.direction(direction).clone();
            changes.apply(&mut spec, &mut catalogue).map_err(|error| error.to_string())?;
            wanted.push((direction, spec));
        }
        let commands = changes.commands().into_iter();
        let commands: Vec<_> = commands.map(|(stage, command)| (stage.to_owned(), command)).collect();
        self.change(&mut link, &wanted, &commands, parameters)
    }

    /// Changes directions of the link, and returns their names and new descriptions. `given` is
    /// what the user asked for. If one direction cannot change, none does.
    fn change(
        &self,
        link: &mut LinkProfile,
        wanted: &[(Direction, DirectionSpec)],
        commands: &[(String, StageCommand)],
        given: &str,
    ) -> Result<Vec<(String, String)>, String> {
        let before = link.clone();
        for (direction, spec) in wanted {
            if let Err(why) = self.change_one(link, *direction, spec, commands) {
                for (direction, _) in wanted.iter().take_while(|(changed, _)| changed != direction) {
                    self.change_one(link, *direction, before.direction(*direction), &[])?;
                }
                return Err(why);
            }
        }
        let one = |(direction, _): &(Direction, DirectionSpec)| {
            let shown = link.described(*direction);
            self.control.tell(Command::Note(format!("{direction} changed ({given}): {shown}")));
            (direction.to_string(), shown)
        };
        Ok(wanted.iter().map(one).collect())
    }

    fn change_one(
        &self,
        link: &mut LinkProfile,
        direction: Direction,
        wanted: &DirectionSpec,
        commands: &[(String, StageCommand)],
    ) -> Result<(), String> {
        let mut next = link.clone();
        *next.direction_mut(direction) = wanted.clone();
        let spec = |link: &LinkProfile| link.spec().map_err(|error| error.to_string());
        let seed = link_seed(self.seed).direction(direction);
        let change =
            LinkChange { former: spec(link)?, next: spec(&next)?, seed, commands: commands.to_vec() };
        self.control.change(WayId::of(0, direction), change).ok_or("the link has ended")??;
        *link = next;
        Ok(())
    }
}

/// Splits parameters that may begin with `profile=NAME`.
fn split_profile(parameters: &str) -> (Option<&str>, &str) {
    match parameters.trim_start().strip_prefix("profile=") {
        Some(rest) => {
            let (name, rest) = rest.split_once(',').unwrap_or((rest, ""));
            (Some(name.trim()), rest)
        }
        None => (None, parameters),
    }
}

/// Returns a profile whose directions a running link can take over. MTU and link layer stay.
fn profile(running: &LinkProfile, name: &str) -> Result<LinkProfile, String> {
    let (_, wanted) = Catalogue::default().link(name).map_err(|error| error.to_string())?;
    if wanted.arq.is_some() || running.arq.is_some() {
        let why = "a link layer (arq) cannot change while the link runs: start another link with --profile";
        return Err(format!("{why} {name}"));
    }
    Ok(wanted)
}

fn flow(id: &FlowId, [up, down]: [FlowCounters; 2]) -> FlowStatus {
    let protocol = match id.protocol {
        1 | 58 => "icmp".to_owned(),
        6 => "tcp".to_owned(),
        17 => "udp".to_owned(),
        other => other.to_string(),
    };
    let shown = |(address, port): End| match port {
        Some(port) => SocketAddr::new(address, port).to_string(),
        None => address.to_string(),
    };
    FlowStatus {
        protocol,
        inside: shown(id.inside),
        outside: shown(id.outside),
        up: up.into(),
        down: down.into(),
    }
}
