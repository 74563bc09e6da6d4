//! Runs a script: its link under the shipped event loop, in a world where nothing is late.

use crate::script::line::SHORTEST;
use crate::script::{Arrival, BAD_STATE, End, Script, ScriptError, Setting};
use emulator::guest::{Form, KernelLoop, Order, Replay};
use emulator::host::Planned;
use emulator::kernel::Segments;
use emulator::simulated::Simulated;
use emulator::{Command, Control, Emulator, LinkChange, Observer, PortId, WayId, control};
use etherparse::PacketBuilder;
use link::arq;
use link::profile::{Content, LinkProfile, Parameters, Profile, Resolve, builtin};
use link::stage::StageCommand;
use link::stage::errors::ErrorSpec;
use link::units::Time;
use link::{ChannelState, Direction, Effect, Link, Loss, Packet, Seed};
use packet::{Frame, Layer};
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, channel};

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
    let built = plan(script, &link, seed)?.link;
    let (changes, results) = changes(script, &link, seed)?;
    let (control, controls) = control().expect("an eventfd");
    let watch = Watch { control, changes, told: false, arrivals: Vec::new(), ended: Vec::new() };
    let mut emulator = Emulator::new(Simulated::new(packets(script).into()), watch);
    emulator.add_link(built, Direction::BOTH.map(from));
    let ending = emulator.run(&controls).expect("a simulated world has no errors");
    accepted(script, results)?;
    Ok(account(ending.observer, ending.driver.sent))
}

/// Runs `script` on the loop of a guest's kernel ([`emulator::guest`]), whose timers are on time.
pub fn run_in_kernel(script: &Script) -> Result<Account, ScriptError> {
    /// The kernel's clock when the run begins.
    const ORIGIN: u64 = 5_000_000_000;
    let (link, seed) = head(script)?;
    let planned = plan(script, &link, seed)?;
    let (mut changes, results) = changes(script, &link, seed)?;
    let (control, _controls) = control().expect("an eventfd");
    let (arrivals, ended, none) = (Vec::new(), Vec::new(), VecDeque::new());
    let mut replay = Replay::new(Watch { control, changes: none, told: false, arrivals, ended });
    let mut kernel = KernelLoop::default();
    let tell = |kernel: &mut KernelLoop, now: u64, order: &Order| {
        kernel.order(now, &borsh::to_vec(order).expect("memory"));
    };
    let form = Form { layer: Layer::Ip, segments: Segments::Split };
    let Planned { link: mirror, spec, seed, watch } = planned;
    tell(&mut kernel, 0, &Order::Add { spec: Box::new(spec), seed, watch, form });
    replay.add(mirror);
    tell(&mut kernel, ORIGIN, &Order::Begin { origin: ORIGIN, wants_bytes: true });

    let (mut packets, mut sent) = (packets(script), Vec::new());
    // The simulated driver lists ports in their order. In a kernel, arrivals have an order.
    packets.make_contiguous().sort_by_key(|&(at, port, _)| (at, port));
    loop {
        let arrival = packets.front().map_or(Time::NEVER, |packet| packet.0);
        let change = changes.front().map_or(Time::NEVER, |change| change.at);
        let due =
            if kernel.due() == u64::MAX { Time::NEVER } else { Time::from_nanos(kernel.due() - ORIGIN) };
        let now = arrival.min(due).min(change);
        if now == Time::NEVER {
            break;
        }
        let clock = now.as_nanos() + ORIGIN;
        if let Some((_, PortId(port), frame)) = packets.pop_front_if(|packet| packet.0 == now) {
            kernel.packet(port as u32, clock, &frame.to_bytes());
        } else if due == now {
            kernel.turn(clock);
        } else if let Some(Prepared { command: Command::Change(way, change, answer), .. }) =
            changes.pop_front()
        {
            replay.expect(change.clone(), answer);
            tell(&mut kernel, clock, &Order::Change { way, change });
        }
        sent.extend(
            kernel
                .outgoing()
                .iter()
                .map(|its| (now, PortId(its.port as usize), Frame::owned(Layer::Ip, its.bytes.clone()))),
        );
        kernel.sent(0, 0);
        // A reader may get the stream in any pieces.
        for piece in kernel.events().chunks(7) {
            replay.take(piece).expect("events");
        }
    }
    let last = sent.last().map_or(0, |(at, ..)| at.as_nanos());
    tell(&mut kernel, ORIGIN + last, &Order::Finish);
    replay.take(kernel.events()).expect("events");
    accepted(script, results)?;
    Ok(account(replay.ending().expect("the run has ended").observer, sent))
}

fn plan(script: &Script, link: &LinkProfile, seed: u64) -> Result<Planned, ScriptError> {
    let seed = Seed::campaign(seed).run(0).link("link");
    let planned = link.spec().and_then(|spec| Planned::build(spec, seed, arq::hop::Watch::default()));
    planned.map_err(|error| script.error(1, error))
}

fn packets(script: &Script) -> VecDeque<(Time, PortId, Frame)> {
    let arrivals = script.arrivals.iter();
    arrivals.map(|(_, arrival)| (arrival.at, from(arrival.direction), frame(arrival))).collect()
}

/// Returns the first error of a change.
fn accepted(script: &Script, results: Results) -> Result<(), ScriptError> {
    results.into_iter().try_for_each(|(line, result)| {
        result.try_recv().unwrap_or(Ok(())).map_err(|why| script.error(line, why))
    })
}

fn account(watch: Watch, sent: Vec<(Time, PortId, Frame)>) -> Account {
    let (lost, left): (Vec<_>, Vec<_>) = watch.ended.into_iter().partition(|end| end.lost);
    assert_eq!(left.len(), sent.len(), "what is delivered is sent, and nothing else is");
    let left = left.into_iter().zip(sent);
    let left = left.map(|(end, (at, port, frame))| as_sent(end, at, port, &frame)).collect();
    Account { arrivals: watch.arrivals, left, lost }
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

/// Results of changes, by line of the script.
type Results = Vec<(usize, Receiver<Result<(), String>>)>;

fn changes(
    script: &Script,
    link: &LinkProfile,
    seed: u64,
) -> Result<(VecDeque<Prepared>, Results), ScriptError> {
    let mut link = link.clone();
    let (mut prepared, mut results) = (VecDeque::new(), Results::new());
    for (line, change) in &script.changes {
        let former = link.clone();
        let direction = change.direction;
        let commands = put(&mut link, direction, &change.parameters, &mut Files(script))
            .map_err(|why| script.error(*line, why))?;
        let next = link.clone();
        let seed = Seed::campaign(seed).run(0).link("link").direction(direction);
        let spec = |link: &LinkProfile| link.spec().map_err(|why| script.error(*line, why.to_string()));
        let changed = LinkChange {
            former: spec(&former)?,
            next: spec(&next)?,
            seed,
            commands: commands.into_iter().map(|(stage, command)| (stage.to_owned(), command)).collect(),
        };
        let (answer, answered) = channel();
        let command = Command::Change(way(change.direction), Box::new(changed), answer);
        prepared.push_back(Prepared { at: change.at, command });
        results.push((*line, answered));
    }
    Ok((prepared, results))
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
