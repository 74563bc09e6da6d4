//! A connection attempt that takes time, is refused, is no longer wanted, or loses its link, each
//! at any moment.

use super::far::FarClose;
use super::program::Doing;
use super::stream::SMALL;
use super::world::{CREATE, Connects, LINK, World, address};
use crate::calls::SocketCall;
use crate::calls::{CallId, Value};
use crate::message::Operation;
use crate::settings::LingerPolicy;
use crate::{Errno, RsockId};
use stateright::{Checker, Model, Property};

struct Connecting {
    nonblocking: bool,
    /// Whether the link may fail. That frees everything at the server, so a model with outages
    /// cannot detect a half that is forgotten there.
    outage: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    world: World,
    /// Number of `connect` calls, and result of the last one.
    tries: u8,
    last: Option<Result<Value, Errno>>,
    closed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Up,
    Down,
    ArriveNear,
    ArriveFar,
    Answer(bool),
    Connect,
    Interrupt,
    Close,
    FarClose,
    LoseClient,
    LoseServer,
}

const SOCKET: RsockId = RsockId(1);
const TRIES: u8 = 3;

impl Connecting {
    fn steps(&self, state: &State) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut on = |is_possible: bool, step| {
            if is_possible {
                steps.push(step);
            }
        };
        let world = &state.world;
        let [client_lost, server_lost] = world.lost;
        on(!world.up.is_empty() && !server_lost, Step::Up);
        on(!world.down.is_empty() && !client_lost, Step::Down);
        let is_asked = matches!(world.connects, Connects::Now(_));
        on(is_asked, Step::Answer(true));
        on(is_asked, Step::Answer(false));
        if !world.connections.is_empty() {
            let [near, far] = world.connection().under_way();
            on(near, Step::ArriveNear);
            on(far, Step::ArriveFar);
            on(world.connection().is_open(), Step::FarClose);
        }
        let is_free = world.program.is_free() && !state.closed;
        on(is_free && state.tries < TRIES, Step::Connect);
        on(!world.program.is_free(), Step::Interrupt);
        on(is_free, Step::Close);
        on(self.outage && !client_lost, Step::LoseClient);
        on(self.outage && !server_lost, Step::LoseServer);
        steps
    }

    fn step(state: &mut State, step: Step) {
        let world = &mut state.world;
        match step {
            Step::Up => drop(world.step_up()),
            Step::Down => drop(world.step_down()),
            Step::ArriveNear => {
                let endpoint = world.connection_mut().0;
                world.arrive_near(endpoint);
            }
            Step::ArriveFar => world.connection_mut().1.arrive_far(),
            Step::FarClose => world.connection_mut().1.close(),
            Step::Answer(is_connected) => world.answer(is_connected),
            Step::Connect => {
                state.tries += 1;
                world.program.begin();
                world.call(SOCKET, Operation::Connect(address(9)));
            }
            Step::Interrupt => {
                world.at_client(|client, out| client.interrupt(SOCKET, CallId(0), super::world::NOW, out));
            }
            Step::Close => {
                state.closed = true;
                world.program.start(Doing::Close);
                world.call(SOCKET, SocketCall::Close { may_wait: true });
            }
            Step::LoseClient => world.lose_client(),
            Step::LoseServer => world.lose_server(),
        }
        if let Some(result) = world.program.result() {
            state.last = Some(result.clone());
        }
    }

    /// I12: a program that was told of a connection has had one.
    fn success_is_true(state: &State) -> bool {
        let is_success = matches!(state.last, Some(Ok(_) | Err(Errno::EISCONN)));
        !is_success || !state.world.connections.is_empty() || state.world.lost[0]
    }

    /// I9: the errors with which `connect` may end.
    fn errors_are_known(&self, state: &State) -> bool {
        match state.last {
            Some(Err(Errno::EINPROGRESS | Errno::EALREADY)) => self.nonblocking,
            Some(Err(Errno::EINTR)) => !self.nonblocking,
            None | Some(Ok(_) | Err(Errno::ECONNREFUSED | Errno::EISCONN | Errno::ECONNRESET)) => true,
            // After an error that no `connect` has reported; in this model only the loss of the
            // link.
            Some(Err(Errno::ECONNABORTED)) => state.world.lost[0],
            _ => false,
        }
    }

    /// C37, E13, I15: at the end nothing is left, and no far host keeps a connection that nobody
    /// wants.
    fn ends(&self, state: &State) -> bool {
        if !self.steps(state).is_empty() {
            return true;
        }
        let world = &state.world;
        world.program.is_free()
            && world.client.sockets() == 0
            && world.server.sockets(LINK) == 0
            && world.connections.values().all(|connection| connection.program.close != FarClose::Waits)
    }
}

impl Model for Connecting {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let mut world = World::new(SMALL, LingerPolicy::Linux, None);
        world.connects = Connects::Late;
        assert_eq!(world.client.socket(CREATE), Ok(SOCKET));
        world.program.begin();
        world.call(SOCKET, SocketCall::SetNonblocking(self.nonblocking));
        world.program = super::program::Program::default();
        vec![State { world, tries: 0, last: None, closed: false }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        steps.extend(self.steps(state));
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut state = state.clone();
        Self::step(&mut state, step);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("I12: success is true", |_: &Self, state| Self::success_is_true(state)),
            Property::always("I9: errors are known", |model: &Self, state| model.errors_are_known(state)),
            Property::always("I15: all ends", |model: &Self, state| model.ends(state)),
            Property::sometimes("connects at the second try", |_: &Self, state: &State| {
                state.tries == 2 && state.last == Some(Ok(Value::Done))
            }),
        ]
    }
}

/// C36, C37, C102, I9, I12, I15: blocking and non-blocking, with and without an outage.
#[test]
fn connections_that_take_their_time() {
    for (nonblocking, outage) in [(false, false), (true, false), (false, true), (true, true)] {
        let checker = Connecting { nonblocking, outage }.checker().threads(2).spawn_bfs().join();
        let name = if nonblocking { "connecting, non-blocking" } else { "connecting" };
        let outage = if outage { ", outage" } else { "" };
        println!(
            "{name}{outage}: {} states, {} transitions",
            checker.unique_state_count(),
            checker.state_count()
        );
        for (property, path) in checker.discoveries() {
            if property.starts_with('I') {
                println!("  {property}: {:?}", path.into_actions());
            }
        }
        checker.assert_properties();
    }
}
