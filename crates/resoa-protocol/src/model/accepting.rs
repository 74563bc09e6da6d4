//! A listener, two far hosts that connect, and a program that accepts, reads and closes in any
//! order.

use super::far::FarClose;
use super::stream::SMALL;
use super::world::{CREATE, LINK, World};
use crate::calls::{ReceiveFlags, SocketCall, Value};
use crate::message::Operation;
use crate::settings::{LingerPolicy, Mutation};
use crate::{Errno, RsockId};
use stateright::{Checker, Model, Property};

struct Accepting {
    backlog: u32,
    mutation: Option<Mutation>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    world: World,
    open: bool,
    children: Vec<Child>,
}

/// A connection that the program has accepted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Child {
    socket: RsockId,
    read: Vec<u8>,
    over: bool,
    closed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Up,
    Down,
    Arrival,
    ArriveNear(usize),
    FarWrite(usize),
    FarClose(usize),
    Accept,
    Read(usize),
    Close(usize),
    CloseListener,
}

const LISTENER: RsockId = RsockId(1);
const FAR_HOSTS: usize = 2;

impl Accepting {
    fn steps(state: &State) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut on = |is_possible: bool, step| {
            if is_possible {
                steps.push(step);
            }
        };
        let world = &state.world;
        on(!world.up.is_empty(), Step::Up);
        on(!world.down.is_empty(), Step::Down);
        let may_arrive = world.listener.is_some() && world.admits && world.connections.len() < FAR_HOSTS;
        on(may_arrive, Step::Arrival);
        for (at, connection) in world.connections.values().enumerate() {
            let [near, _] = connection.under_way();
            on(near, Step::ArriveNear(at));
            let is_open = connection.is_open();
            on(is_open && connection.program.written == 0 && !connection.far.reset, Step::FarWrite(at));
            on(is_open, Step::FarClose(at));
        }
        let may_accept = world.client.readiness(LISTENER).is_some_and(|ready| ready.input);
        on(state.open && may_accept, Step::Accept);
        on(state.open, Step::CloseListener);
        for (at, child) in state.children.iter().enumerate() {
            let readable = world.client.readiness(child.socket).is_some_and(|ready| ready.input);
            on(readable && !child.closed && !child.over, Step::Read(at));
            on(!child.closed, Step::Close(at));
        }
        steps
    }

    /// Executes a call that returns at once, and returns its result.
    fn call(world: &mut World, socket: RsockId, what: impl Into<SocketCall>) -> Result<Value, Errno> {
        world.program.begin();
        world.call(socket, what);
        world.program.result().cloned().expect("returns at once")
    }

    fn step(state: &mut State, step: Step) {
        let world = &mut state.world;
        let endpoint = |world: &World, at: usize| *world.connections.keys().nth(at).expect("is there");
        match step {
            Step::Up => drop(world.step_up()),
            Step::Down => drop(world.step_down()),
            Step::Arrival => world.arrival(),
            Step::ArriveNear(at) => world.arrive_near(endpoint(world, at)),
            Step::FarWrite(at) | Step::FarClose(at) => {
                let end = endpoint(world, at);
                let connection = world.connections.get_mut(&end).expect("is there");
                if matches!(step, Step::FarWrite(_)) {
                    connection.write();
                } else {
                    connection.close();
                }
            }
            Step::Accept => match Self::call(world, LISTENER, SocketCall::Accept) {
                Ok(Value::Accepted { socket, .. }) => {
                    state.children.push(Child { socket, read: Vec::new(), over: false, closed: false });
                }
                other => panic!("accept: {other:?}"),
            },
            Step::Read(at) => {
                let child = &mut state.children[at];
                let call = SocketCall::Receive { length: 2, flags: ReceiveFlags::default() };
                match Self::call(world, child.socket, call) {
                    Ok(Value::Bytes(bytes)) => {
                        child.over |= bytes.is_empty();
                        child.read.extend(bytes);
                    }
                    Err(Errno::ECONNRESET) => child.over = true,
                    other => panic!("read: {other:?}"),
                }
            }
            Step::Close(at) => {
                state.children[at].closed = true;
                drop(Self::call(world, state.children[at].socket, SocketCall::Close { may_wait: false }));
            }
            Step::CloseListener => {
                state.open = false;
                drop(Self::call(world, LISTENER, SocketCall::Close { may_wait: false }));
            }
        }
    }

    /// I16: everything that a program reads from a connection comes from one far host, and each
    /// connection has its own.
    fn is_no_alias(state: &State) -> bool {
        let first = |child: &Child| child.read.first().copied();
        let hosts: Vec<u8> = state.children.iter().filter_map(first).collect();
        hosts.iter().all(|host| matches!(host, 0x80 | 0x90))
            && (hosts.len() < 2 || hosts[0] != hosts[1])
            && state.children.iter().all(|child| child.read.len() <= 1)
    }

    /// I11: at most half of the backlog waits for the program, and the other half in the stack. One
    /// connection may always wait.
    fn keeps_to_backlog(&self, state: &State) -> bool {
        let waiting = state.world.server.waiting(LINK);
        waiting <= self.backlog.div_ceil(2).max(1) as usize
    }

    /// I15: at the end neither side has anything left, and each far host knows how its connection
    /// ended.
    fn ends(state: &State) -> bool {
        if !Self::steps(state).is_empty() {
            return true;
        }
        let world = &state.world;
        let known = |connection: &super::far::Connection| connection.program.close != FarClose::Waits;
        world.client.sockets() == 0
            && world.server.sockets(LINK) == 0
            && world.connections.values().all(known)
    }

    /// C33: when no message is in flight, both sides count the same connections as not accepted.
    fn both_count_alike(state: &State) -> bool {
        let World { up, down, client, server, .. } = &state.world;
        !up.is_empty() || !down.is_empty() || client.waiting() == server.waiting(LINK)
    }
}

impl Model for Accepting {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let mut world = World::new(SMALL, LingerPolicy::Linux, self.mutation);
        assert_eq!(world.client.socket(CREATE), Ok(LISTENER));
        world.program.begin();
        world.call(LISTENER, Operation::Listen { backlog: self.backlog });
        world.exchange();
        assert_eq!(world.program.result(), Some(&Ok(Value::Done)));
        vec![State { world, open: true, children: Vec::new() }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        steps.extend(Self::steps(state));
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut state = state.clone();
        Self::step(&mut state, step);
        // Segments to a far host arrive at once. The model `stream` covers all orders of these.
        for connection in state.world.connections.values_mut() {
            while connection.under_way()[1] {
                connection.arrive_far();
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("I16: no alias", |_: &Self, state| Self::is_no_alias(state)),
            Property::always("I11: backlog", |model: &Self, state| model.keeps_to_backlog(state)),
            Property::always("I15: all ends", |_: &Self, state| Self::ends(state)),
            Property::always("C33: both count alike", |_: &Self, state| Self::both_count_alike(state)),
            Property::sometimes("two are accepted", |_: &Self, state: &State| state.children.len() == 2),
        ]
    }
}

fn check(name: &str, model: Accepting) -> impl Checker<Accepting> {
    let checker = model.checker().threads(2).spawn_bfs().join();
    println!("{name}: {} states, {} transitions", checker.unique_state_count(), checker.state_count());
    for (property, path) in checker.discoveries() {
        if property != "two are accepted" {
            println!("  {property}: {:?}", path.into_actions());
        }
    }
    checker
}

/// C33, C34, I11, I15, I16: two connections that wait, are accepted, are reset, or lose their
/// listener.
#[test]
fn two_connections() {
    check("listener, backlog 4", Accepting { backlog: 4, mutation: None }).assert_properties();
    check("listener, backlog 2", Accepting { backlog: 2, mutation: None }).assert_properties();
    check("listener, backlog 1", Accepting { backlog: 1, mutation: None }).assert_properties();
}

/// C104: a client that does not tell the server of `accept` is detected.
#[test]
fn accepted_is_told() {
    let checker =
        check("ACCEPTED omitted", Accepting { backlog: 1, mutation: Some(Mutation::AcceptedOmitted) });
    assert!(checker.discovery("C33: both count alike").is_some());
}
