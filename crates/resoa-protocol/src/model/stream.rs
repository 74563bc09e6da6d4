//! One connection: data both ways, `shutdown` and `close` in every order at both ends, resets, and
//! a link that fails.

use super::far::FarClose;
use super::program::{Doing, READ};
use super::world::{Buffers, World};
use crate::RsockId;
use crate::calls::{ReceiveFlags, SendFlags, SocketCall};
use crate::message::{Half, Operation};
use crate::server::Server;
use crate::settings::{LingerPolicy, Mutation};
use stateright::{Checker, Model, Property};

/// Parameters of the model.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    pub(super) buffers: Buffers,
    /// Number of bytes that the client's program writes, and that the far host writes.
    pub(super) writes: [u8; 2],
    /// Whether each program may shut down its sending half before it closes.
    pub(super) shuts: [bool; 2],
    /// The client's program sets SO_LINGER.
    pub(super) linger: bool,
    /// The linger time may end at any moment.
    pub(super) expires: bool,
    pub(super) policy: LingerPolicy,
    /// The link may fail.
    pub(super) outage: bool,
    pub(super) mutation: Option<Mutation>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Step {
    Up,
    Down,
    ArriveNear,
    ArriveFar,
    Write,
    Read,
    Shut,
    Close,
    Expire,
    FarWrite,
    FarRead,
    FarShut,
    FarClose,
    LoseClient,
    LoseServer,
    /// Time passes, so that free room is reported.
    Remind,
    /// A call returns whose condition is fulfilled. Only the reference has this as a step of its
    /// own.
    Wake,
}

const SOCKET: RsockId = RsockId(1);
const SOL_SOCKET: i32 = 1;
const SO_LINGER: i32 = 13;

impl Stream {
    pub(super) fn steps(&self, world: &World) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut on = |is_possible: bool, step| {
            if is_possible {
                steps.push(step);
            }
        };
        let [client_lost, server_lost] = world.lost;
        on(!world.up.is_empty() && !server_lost, Step::Up);
        on(!world.down.is_empty() && !client_lost, Step::Down);
        let connection = world.connection();
        let [near, far] = connection.under_way();
        on(near, Step::ArriveNear);
        on(far, Step::ArriveFar);
        let program = &world.program;
        let is_open = program.is_free() && program.close.is_none();
        let is_well = is_open && program.error.is_none();
        on(is_well && !program.shut && program.written < self.writes[0], Step::Write);
        on(is_well && !program.eof, Step::Read);
        on(is_well && !program.shut && self.shuts[0], Step::Shut);
        on(is_open, Step::Close);
        on(self.expires && world.client.deadline().is_some_and(is_linger_time), Step::Expire);
        let far_writes = connection.is_open() && !connection.is_shut() && !connection.far.reset;
        on(far_writes && connection.program.written < self.writes[1], Step::FarWrite);
        on(connection.can_read(), Step::FarRead);
        on(far_writes && self.shuts[1], Step::FarShut);
        on(connection.is_open(), Step::FarClose);
        on(self.outage && !client_lost, Step::LoseClient);
        // If one side does not know of the outage, it learns of it when it sends something (E5).
        on((self.outage || client_lost) && !server_lost, Step::LoseServer);
        on(world.server.owes(), Step::Remind);
        steps
    }

    fn step(world: &mut World, step: Step) {
        match step {
            Step::Up => drop(world.step_up()),
            Step::Down => drop(world.step_down()),
            Step::ArriveNear => {
                let endpoint = world.connection_mut().0;
                world.arrive_near(endpoint);
            }
            Step::ArriveFar => world.connection_mut().1.arrive_far(),
            Step::Write => {
                let bytes = vec![world.program.written];
                world.program.start(Doing::Write);
                let flags = SendFlags { no_signal: true, ..SendFlags::default() };
                world.call(SOCKET, SocketCall::Send { bytes, to: None, flags });
            }
            Step::Read => {
                world.program.start(Doing::Read);
                let call = SocketCall::Receive { length: READ, flags: ReceiveFlags::default() };
                world.call(SOCKET, call);
            }
            Step::Shut => {
                world.program.start(Doing::Shut);
                world.call(SOCKET, SocketCall::Shutdown(Half::Write));
            }
            Step::Close => {
                world.program.start(Doing::Close);
                world.call(SOCKET, SocketCall::Close { may_wait: true });
            }
            Step::Expire => {
                if let Some(deadline) = world.client.deadline() {
                    world.at_client(|client, out| client.expire(deadline, out));
                }
            }
            Step::FarWrite => world.connection_mut().1.write(),
            Step::FarRead => world.connection_mut().1.read(),
            Step::FarShut => world.connection_mut().1.shut(),
            Step::FarClose => world.connection_mut().1.close(),
            Step::LoseClient => world.lose_client(),
            Step::LoseServer => world.lose_server(),
            Step::Remind => world.at_server(Server::remind),
            Step::Wake => {}
        }
    }

    /// I2, I4, I9, I10: calls end as they may, and data is read as it was written, in order.
    fn reads_what_was_written(world: &World) -> bool {
        let far = &world.connection().program;
        let read = &world.program.read;
        let written = |octets: &[u8], first: u8| {
            octets.iter().enumerate().all(|(at, &octet)| octet == first + at as u8)
        };
        !world.program.wrong
            && written(read, 0x80)
            && read.len() <= usize::from(far.written)
            && written(&far.read, 0)
            // The data of a write that has not returned yet may have been taken already.
            && far.read.len() <= usize::from(world.program.written) + usize::from(!world.program.is_free())
    }

    /// I3, I5, I6: no more data is on the way than the programs' buffers allow.
    fn keeps_to_buffers(&self, world: &World) -> bool {
        let connection = world.connection();
        let written = u32::from(world.program.written);
        let read = world.program.read.len() as u32;
        let far_read = connection.program.read.len() as u32;
        written <= connection.near.acknowledged + self.buffers.send
            && connection.far.sent <= read + self.buffers.receive
            && written <= far_read + self.buffers.send + self.buffers.far
    }

    /// I7: if a lingering `close` of the far host has returned, then all its data and the end of
    /// the stream have been in the host of the client's program; or that program has read
    /// everything and closed. (The program may have closed without reading since then, of which the
    /// far host learns later.)
    fn far_linger_is_true(world: &World) -> bool {
        let far = &world.connection().program;
        let all = usize::from(far.written);
        let (delivered, eof) = world.delivered;
        far.close != FarClose::Done
            || eof && delivered == all
            || world.program.is_closing() && world.program.read.len() == all
    }

    /// I7 at this side: if a lingering `close` has succeeded, the far host has everything. This
    /// does not hold with Linux's policy, where `close` also succeeds when its time is over. Nor
    /// does it hold for a `close` that did not wait, because not everything was read or the link
    /// had failed.
    fn linger_is_true(&self, world: &World) -> bool {
        let is_bound = self.linger && self.policy == LingerPolicy::Bsd;
        let connection = world.connection();
        !is_bound
            || world.program.close != Some(Ok(()))
            || world.delivered.0 != world.program.read.len()
            || world.lost[0]
            || connection.near.acknowledged >= u32::from(world.program.written)
            || connection.far.reset
            || connection.near.reset
    }

    /// I8, I15: where no further step is possible, all calls have returned and neither half of the
    /// socket is left.
    fn ends(&self, world: &World) -> bool {
        if !self.steps(world).is_empty() {
            return true;
        }
        let connection = world.connection();
        world.program.is_free()
            && world.client.sockets() == 0
            && world.server.sockets(super::world::LINK) == 0
            && connection.program.close != FarClose::Waits
    }

    /// I13: at the end, a far host whose data was not all read has received RST; except if both
    /// sides had sent FIN before, as on Linux.
    fn unread_is_reset(&self, world: &World) -> bool {
        if !self.steps(world).is_empty() {
            return true;
        }
        let connection = world.connection();
        let all_read = world.program.read.len() == usize::from(connection.program.written);
        all_read || connection.far.reset || connection.both_closed()
    }

    /// C53: without errors all written data arrives, whichever side closes first.
    fn delivers(&self, world: &World) -> bool {
        if !self.steps(world).is_empty() {
            return true;
        }
        let connection = world.connection();
        let is_well = !connection.far.reset && !connection.near.reset && world.lost == [false; 2];
        !is_well || connection.near.acknowledged == u32::from(world.program.written)
    }
}

/// Returns whether this is the deadline of a lingering `close`, the only timer that a model
/// expires.
fn is_linger_time(deadline: std::time::Duration) -> bool {
    deadline == LINGER
}

/// Linger time, which differs from all other times.
const LINGER: std::time::Duration = std::time::Duration::from_secs(7);

impl Model for Stream {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let mut world = World::new(self.buffers, self.policy, self.mutation);
        let socket = world.connected_socket();
        assert_eq!(socket, SOCKET);
        if self.linger {
            let seconds = LINGER.as_secs() as i32;
            let value = [1_i32.to_ne_bytes(), seconds.to_ne_bytes()].concat();
            world.program.begin();
            world.call(socket, Operation::SetOption { level: SOL_SOCKET, name: SO_LINGER, value });
        }
        world.program = super::program::Program::default();
        vec![world]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        steps.extend(self.steps(world));
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut world = world.clone();
        Self::step(&mut world, step);
        if let Some((octets, eof)) = world.client.holds(SOCKET) {
            let octets = world.program.read.len() + octets;
            world.delivered = (octets.max(world.delivered.0), eof && !world.lost[0] || world.delivered.1);
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("I10: what is read was written", |_: &Self, world| {
                Self::reads_what_was_written(world)
            }),
            Property::always("I3, I5, I6: within buffers", |model: &Self, world| {
                model.keeps_to_buffers(world)
            }),
            Property::always("I7: the far host's linger", |_: &Self, world: &World| {
                Self::far_linger_is_true(world)
            }),
            Property::always("I7: the program's linger", |model: &Self, world| model.linger_is_true(world)),
            Property::always("I8, I15: all ends", |model: &Self, world| model.ends(world)),
            Property::always("I13: unread is reset", |model: &Self, world| model.unread_is_reset(world)),
            Property::always("C53: delivers", |model: &Self, world| model.delivers(world)),
            Property::sometimes("the far host's linger succeeds", |_: &Self, world: &World| {
                world.connection().program.close == FarClose::Done
            }),
        ]
    }
}

pub(super) const SMALL: Buffers = Buffers { send: 1, server: 1, receive: 1, far: 1 };
/// The program has so much room that one or two bytes of free room are reported late.
pub(super) const LATE: Buffers = Buffers { send: 16, server: 16, ..SMALL };

impl Default for Stream {
    fn default() -> Self {
        Self {
            buffers: SMALL,
            writes: [1, 1],
            shuts: [false; 2],
            linger: false,
            expires: false,
            policy: LingerPolicy::Linux,
            outage: false,
            mutation: None,
        }
    }
}

pub(super) fn check(name: &str, model: Stream) -> impl Checker<Stream> {
    let checker = model.checker().threads(2).spawn_bfs().join();
    println!("{name}: {} states, {} transitions", checker.unique_state_count(), checker.state_count());
    for (property, path) in checker.discoveries() {
        if !property.starts_with("the ") {
            println!("  {property}: {:?}", path.into_actions());
        }
    }
    checker
}

/// I2 to I10, I13, I15, C21, C23, C65, C101: data both ways, and every order of closing.
#[test]
fn data_and_every_close() {
    check("one octet each way", Stream::default()).assert_properties();
    let buffers = Buffers { send: 2, server: 1, ..SMALL };
    check("two octets up", Stream { buffers, writes: [2, 0], ..Stream::default() }).assert_properties();
    check("two octets down", Stream { writes: [0, 2], ..Stream::default() }).assert_properties();
    let buffers = Buffers { send: 2, receive: 2, ..SMALL };
    check("two octets each way", Stream { buffers, writes: [2, 2], ..Stream::default() }).assert_properties();
}

/// I3, I15, C21, C107: free room that is reported late, or with data from the far host, is still
/// used.
#[test]
fn room_that_is_told_late() {
    check("room told late, up", Stream { buffers: LATE, writes: [2, 0], ..Stream::default() })
        .assert_properties();
    check("room told late, both ways", Stream { buffers: LATE, writes: [3, 1], ..Stream::default() })
        .assert_properties();
    let buffers = Buffers { send: 2, ..LATE };
    check("room scarce", Stream { buffers, writes: [3, 1], ..Stream::default() }).assert_properties();
}

/// C63: the sending half is shut down first, at one end or both.
#[test]
fn half_closes() {
    let shuts = [true, true];
    check("half closes, up", Stream { shuts, writes: [1, 0], ..Stream::default() }).assert_properties();
    check("half closes, down", Stream { shuts, writes: [0, 1], ..Stream::default() }).assert_properties();
    check("half closes, both ways", Stream { shuts, ..Stream::default() }).assert_properties();
}

/// C55, C56: SO_LINGER, with both policies.
#[test]
fn lingering() {
    for policy in [LingerPolicy::Linux, LingerPolicy::Bsd] {
        let buffers = Buffers { send: 2, ..SMALL };
        let linger = Stream { linger: true, expires: true, policy, buffers, ..Stream::default() };
        check("linger", Stream { writes: [2, 0], ..linger.clone() }).assert_properties();
        check("linger, both ways", Stream { writes: [1, 1], ..linger }).assert_properties();
    }
}

/// C75, C76, C77, C102: the link fails at any moment, and either side detects it first (I15:
/// nothing hangs).
#[test]
fn outages() {
    let outage = Stream { outage: true, ..Stream::default() };
    check("outage", outage.clone()).assert_properties();
    let linger = Stream { linger: true, policy: LingerPolicy::Bsd, writes: [1, 0], ..outage };
    check("outage, linger", linger).assert_properties();
}
