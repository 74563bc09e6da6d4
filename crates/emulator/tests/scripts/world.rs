//! Runs a script: its link under the shipped event loop, in a world where nothing is late.

use crate::script::{Arrival, BAD_STATE, End, SHORTEST, Script, ScriptError, Setting};
use emulator::simulated::Simulated;
use emulator::{Command, Control, Emulator, Observer, PortId, WayId, control};
use etherparse::PacketBuilder;
use link::profile::{Content, LinkProfile, Parameters, Profile, Resolve, builtin};
use link::stage::StageCommand;
use link::stage::errors::ErrorSpec;
use link::units::Time;
use link::{ChannelState, Direction, Effect, Link, Loss, Packet, Seed};
use packet::{Frame, Layer};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};

/// The events of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// Packets that entered the link.
    pub arrivals: Vec<Arrival>,
    /// Packets that left, in order, at the times at which the driver sent them.
    pub left: Vec<End>,
    /// Packets that were lost, at their logical times.
    pub lost: Vec<End>,
}

/// Runs `script`.
pub fn run(script: &Script) -> Result<Account, ScriptError> {
    let (link, seed) = head(script)?;
    let built = link.build(&Seed::campaign(seed).run(0).link("link"));
    let built = built.map_err(|error| script.error(1, error))?;
    let refused = Arc::new(Mutex::new(None));
    let changes = changes(script, &link, seed, &refused)?;

    let packets =
        script.arrivals.iter().map(|(_, arrival)| (arrival.at, from(arrival.direction), frame(arrival)));
    let (control, controls) = control().expect("an eventfd");
    let watch = Watch { control, changes, told: false, arrivals: Vec::new(), ended: Vec::new() };
    let mut emulator = Emulator::new(Simulated::new(packets.collect()), watch, controls);
    emulator.add_link(built, Direction::BOTH.map(from));
    let ending = emulator.run().expect("a simulated world has no errors");
    if let Some((line, why)) = refused.lock().expect("nobody panics with it").take() {
        return Err(script.error(line, why));
    }

    let (lost, left): (Vec<_>, Vec<_>) = ending.observer.ended.into_iter().partition(|end| end.lost);
    assert_eq!(left.len(), ending.driver.sent.len(), "what is delivered is sent, and nothing else is");
    let left = left.into_iter().zip(ending.driver.sent);
    let left = left.map(|(end, (at, port, frame))| as_sent(end, at, port, &frame)).collect();
    Ok(Account { arrivals: ending.observer.arrivals, left, lost })
}

/// Builds the link of `script` and returns it with the seed.
fn head(script: &Script) -> Result<(LinkProfile, u64), ScriptError> {
    let (mut link, mut seed) = (LinkProfile::default(), 0);
    let mut files = Files(script);
    for (line, setting, value) in &script.options {
        let wrong = |why: String| script.error(*line, why);
        match setting {
            Setting::Seed => seed = value.parse().map_err(|_| wrong(format!("`{value}` is no seed")))?,
            Setting::Profile => match files.profile(value).map_err(wrong)? {
                Content::Link(profile) => link = profile,
                Content::Loss(_) => {
                    return Err(wrong(format!("{value} is a loss profile: say --loss {value}")));
                }
            },
            Setting::Loss => match files.profile(value).map_err(wrong)? {
                Content::Loss(loss) => link.add_losses(&loss),
                Content::Link(_) => return Err(wrong(format!("{value} is a link: say --profile {value}"))),
            },
            Setting::LinkLayer => link.set_arq(value).map_err(|error| wrong(error.to_string()))?,
            Setting::Parameters(direction) => {
                put(&mut link, *direction, value, &mut files).map_err(wrong)?;
            }
        }
    }
    Ok((link, seed))
}

/// Commands for stages, by stage name.
type Commands = Vec<(&'static str, StageCommand)>;

/// Applies `parameters` to a direction. Returns the commands for stages that they imply.
fn put(
    link: &mut LinkProfile,
    direction: Direction,
    parameters: &str,
    files: &mut Files<'_>,
) -> Result<Commands, String> {
    let parameters: Parameters = parameters.parse().map_err(|error| format!("{error}"))?;
    parameters.apply(link.direction_mut(direction), files).map_err(|error| error.to_string())?;
    Ok(parameters.commands())
}

/// Files and profiles that a script names: its own and the built-in ones.
struct Files<'a>(&'a Script);

impl Files<'_> {
    fn profile(&mut self, name: &str) -> Result<Content, String> {
        let own = self.0.files.get(name).map(|file| {
            // Blank lines in front give errors the line numbers of the script.
            (self.0.file.as_str(), "\n".repeat(file.line - 1) + &file.text)
        });
        let shipped = || {
            let profile = builtin().find(|(file, _)| file.trim_end_matches(".toml") == name);
            profile.map(|(file, text)| (file, text.to_owned()))
        };
        let (file, text) = own.or_else(shipped).ok_or_else(|| format!("there is no profile {name}"))?;
        let profile = Profile::parse(file, &text, &mut |name| self.file(name));
        profile.map(|profile| profile.content).map_err(|error| error.to_string())
    }
}

impl Resolve for Files<'_> {
    fn losses(&mut self, name: &str) -> Result<ErrorSpec, String> {
        match self.profile(name)? {
            Content::Loss(loss) => Ok(loss.errors),
            Content::Link(_) => Err(format!("{name} is a link profile")),
        }
    }

    fn file(&mut self, name: &str) -> io::Result<String> {
        let file = self.0.files.get(name);
        file.map(|file| file.text.clone()).ok_or_else(|| io::Error::other("the script has no such file"))
    }
}

/// A change of the link that is ready to be made.
struct Prepared {
    at: Time,
    command: Command,
}

/// The first error of a change, with its line.
type Refused = Arc<Mutex<Option<(usize, String)>>>;

fn changes(
    script: &Script,
    link: &LinkProfile,
    seed: u64,
    refused: &Refused,
) -> Result<VecDeque<Prepared>, ScriptError> {
    let mut link = link.clone();
    let mut prepared = VecDeque::new();
    for (line, change) in &script.changes {
        let former = link.clone();
        let direction = change.direction;
        let commands = put(&mut link, direction, &change.parameters, &mut Files(script))
            .map_err(|why| script.error(*line, why))?;
        let next = link.clone();
        let (place, refused) = (*line, Arc::clone(refused));
        let seed = Seed::campaign(seed).run(0).link("link").direction(direction);
        // Does the same as `lasthop link set`.
        let visit = move |link: &mut Link, now| {
            let changed = former.change_into(&next, direction, link, &seed, now);
            let obeyed = commands
                .into_iter()
                .try_for_each(|(stage, command)| link.obey(direction, stage, command, now));
            if let Err(why) = changed.and(obeyed) {
                refused.lock().expect("nobody panics with it").get_or_insert((place, why));
            }
        };
        prepared.push_back(Prepared {
            at: change.at,
            command: Command::Visit(way(change.direction), Box::new(visit)),
        });
    }
    Ok(prepared)
}

/// Records all events, and sends the commands for changes when they are due.
struct Watch {
    control: Control,
    changes: VecDeque<Prepared>,
    /// Whether the loop was sent the first change and has not made it yet.
    told: bool,
    arrivals: Vec<Arrival>,
    ended: Vec<End>,
}

impl Observer for Watch {
    fn entered(&mut self, way: WayId, number: u64, frame: &Frame, now: Time) {
        let (direction, said) = written(frame);
        assert_eq!(
            (direction, said),
            (self::direction(way), number),
            "packets go their own way in their order"
        );
        self.arrivals.push(Arrival { at: now, direction, number, length: frame.len() });
    }

    fn ended(&mut self, way: WayId, packet: &Packet) {
        let effect = |mark: &link::Mark| match mark.effect {
            Effect::Lost(Loss::Error) if packet.channel == Some(ChannelState::Bad) => BAD_STATE.to_owned(),
            Effect::Lost(loss) => loss.to_string(),
            other => other.to_string(),
        };
        self.ended.push(End {
            at: packet.at,
            direction: direction(way),
            number: packet.number,
            length: packet.frame.len(),
            lost: packet.loss().is_some(),
            effects: packet.marks.iter().map(effect).collect::<Vec<_>>().join(", "),
        });
    }

    fn visited(&mut self, _: WayId, _: &Link, _: Time) {
        self.told = false;
    }

    fn settled(&mut self, now: Time) {
        if !self.told
            && let Some(Prepared { command, .. }) = self.changes.pop_front_if(|change| change.at <= now)
        {
            self.control.tell(command);
            self.told = true;
        }
    }

    fn due(&self) -> Time {
        // The loop looks for commands after a wait, so this wait must take no time.
        if self.told { Time::ZERO } else { self.changes.front().map_or(Time::NEVER, |change| change.at) }
    }
}

/// The packet as the driver sent it. It must be the one that left the link.
fn as_sent(mut end: End, at: Time, port: PortId, frame: &Frame) -> End {
    if end.at != at {
        end.effects = format!("{} (its logical time is {})", end.effects, end.at);
    }
    let (direction, number) = written(frame);
    let other = match direction {
        Direction::Up => Direction::Down,
        Direction::Down => Direction::Up,
    };
    assert_eq!(port, from(other), "a packet goes to the other end");
    End { at, direction, number, length: frame.len(), ..end }
}

/// The port that packets of a direction come from.
const fn from(direction: Direction) -> PortId {
    match direction {
        Direction::Up => PortId(0),
        Direction::Down => PortId(1),
    }
}

const fn way(direction: Direction) -> WayId {
    WayId(from(direction).0)
}

fn direction(way: WayId) -> Direction {
    Direction::BOTH[way.0]
}

/// Creates a UDP datagram that carries its direction and its number.
fn frame(arrival: &Arrival) -> Frame {
    let (mobile, network) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let (source, destination) = match arrival.direction {
        Direction::Up => (mobile, network),
        Direction::Down => (network, mobile),
    };
    let mut payload = vec![0; arrival.length - HEADERS];
    payload[0] = from(arrival.direction).0 as u8;
    payload[1..3].copy_from_slice(&(arrival.number as u16).to_be_bytes());
    let mut bytes = Vec::with_capacity(arrival.length);
    let builder = PacketBuilder::ipv4(source, destination, 64).udp(1000, 2000);
    builder.write(&mut bytes, &payload).expect("a vector takes everything");
    Frame::owned(Layer::Ip, bytes)
}

/// Length of the IPv4 and UDP headers.
const HEADERS: usize = SHORTEST - 3;

/// Reads the direction and number that [`frame`] has written.
fn written(frame: &Frame) -> (Direction, u64) {
    let payload = &frame.head()[HEADERS..];
    (direction(WayId(payload[0].into())), u16::from_be_bytes([payload[1], payload[2]]).into())
}
