//! The carriers to servers: the one across the last hop, and one within this process if there are
//! [local](rules) destinations. The rules choose the one that a socket uses.

mod association;
mod rules;

pub(crate) use association::{Association, AtHalf, Happened};
pub use rules::LocalRules;

use crate::poller::{Poller, Token};
use crate::stack::{Half, Stack};
use resoa_carrier::Carrier;
use resoa_protocol::message::{AddressMode, Create, Operation, Query};
use resoa_protocol::{Client, Errno, Settings, SocketCall, Stream, Timers};
use rules::Chooser;
use std::io;
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

/// See the [module](self).
pub(crate) struct Associations {
    remote: Association,
    /// `None` without rules for it.
    local: Option<Local>,
    /// Settings of the halves of sockets, at any server.
    settings: (Settings, Timers),
}

/// This host's own stack.
struct Local {
    association: Association,
    chooser: Chooser,
}

impl Associations {
    /// Creates the association with the server that `carrier` finds at `address`.
    pub(crate) fn new(
        mode: AddressMode,
        settings: (Settings, Timers),
        carrier: impl Carrier<Error = io::Error> + 'static,
        address: Vec<u8>,
        poller: &Poller,
    ) -> io::Result<Self> {
        poller.watch(Token::Carrier(Stack::Remote), carrier.descriptor())?;
        let remote = Association::new(Client::new(mode, settings.0, settings.1), carrier, address);
        Ok(Self { remote, local: None, settings })
    }

    /// Adds the server for the destinations of the rules.
    pub(crate) fn add_local(
        &mut self,
        rules: &LocalRules,
        carrier: impl Carrier<Error = io::Error> + 'static,
        poller: &Poller,
    ) -> io::Result<()> {
        poller.watch(Token::Carrier(Stack::Local), carrier.descriptor())?;
        let client = Client::new(AddressMode::Shared, self.settings.0, self.settings.1);
        let association = Association::new(client, carrier, Vec::new());
        self.local = Some(Local { association, chooser: Chooser::new(rules) });
        Ok(())
    }

    /// Returns the association of a stack.
    pub(crate) fn of(&self, stack: Stack) -> &Association {
        match (stack, &self.local) {
            (Stack::Local, Some(local)) => &local.association,
            _ => &self.remote,
        }
    }

    /// See [`of`](Self::of).
    pub(crate) fn of_mut(&mut self, stack: Stack) -> &mut Association {
        match (stack, &mut self.local) {
            (Stack::Local, Some(local)) => &mut local.association,
            _ => &mut self.remote,
        }
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Association> {
        [Some(&mut self.remote), self.local.as_mut().map(|local| &mut local.association)]
            .into_iter()
            .flatten()
    }

    /// Returns whether sockets can be created, because at least one stack is available.
    pub(crate) fn has_a_stack(&self) -> bool {
        self.remote.is_registered() || self.local.is_some()
    }

    pub(crate) fn has_local_rules(&self) -> bool {
        self.local.is_some()
    }

    /// Returns the stack of a socket whose destination is not known yet.
    pub(crate) fn default_stack(&self) -> Stack {
        if self.remote.is_registered() || self.local.is_none() { Stack::Remote } else { Stack::Local }
    }

    /// Returns the stack that a call chooses, if there is a choice and the call determines it.
    pub(crate) fn stack_for_call(&self, what: &SocketCall) -> Option<Stack> {
        let Local { chooser, .. } = self.local.as_ref()?;
        match what {
            SocketCall::Operation(Operation::Connect(to)) | SocketCall::Open { peer: to, .. } => {
                Some(chooser.to(*to))
            }
            SocketCall::Operation(Operation::Bind(address)) => Some(chooser.at(*address)),
            SocketCall::Operation(Operation::Listen { .. }) => Some(Stack::Remote),
            _ => None,
        }
    }

    /// Returns the stack for a datagram to this address, if there is a choice.
    pub(crate) fn stack_to(&self, to: SocketAddr) -> Option<Stack> {
        self.local.as_ref().map(|local| local.chooser.to(to))
    }

    /// Returns the stack that looks up a name.
    pub(crate) fn stack_for_query(&self, query: &Query) -> Stack {
        self.local.as_ref().map_or(Stack::Remote, |local| local.chooser.of(query))
    }

    /// Returns when [`expire`](Self::expire) has something to do.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let local = self.local.as_ref().and_then(|local| local.association.deadline());
        self.remote.deadline().into_iter().chain(local).min()
    }

    /// Does what is due.
    pub(crate) fn expire(&mut self, now: Duration) {
        self.all().for_each(|association| association.expire(now));
    }

    /// Returns the time until a carrier has something to do even if nothing comes.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        let local = self.local.as_ref().map(|local| &local.association);
        [Some(&self.remote), local].into_iter().flatten().filter_map(Association::time_left).min()
    }

    /// Returns the stacks whose carriers have something to do now even if nothing has come.
    pub(crate) fn due(&self) -> Vec<Stack> {
        let mut stacks = vec![Stack::Remote];
        stacks.extend(self.local.as_ref().map(|_| Stack::Local));
        stacks.retain(|&stack| self.of(stack).time_left().is_some_and(|left| left.is_zero()));
        stacks
    }

    /// Collects messages until [`flush`](Self::flush), so that they leave in one segment or packet,
    /// whatever their subject.
    pub(crate) fn gather(&mut self) {
        self.all().for_each(|association| association.carrier.gather());
    }

    /// See [`gather`](Self::gather).
    pub(crate) fn flush(&mut self) {
        self.all().for_each(|association| association.carrier.flush());
    }

    /// Takes the events of calls and sockets since the last call, in order.
    pub(crate) fn take_happened(&mut self, stack: Stack) -> Vec<Happened> {
        match (stack, &mut self.local) {
            (Stack::Remote, _) => self.remote.take_happened(),
            (Stack::Local, Some(local)) => local.association.take_happened(),
            (Stack::Local, None) => Vec::new(),
        }
    }

    /// The state of a half; `None` if there is none.
    pub(crate) fn stream(&self, half: Half) -> Option<Stream> {
        self.of(half.stack).client().stream(half.id)
    }

    /// Returns the clients at this instant.
    pub(crate) fn at(&mut self, now: Duration) -> Clients<'_> {
        Clients { associations: self, now }
    }
}

/// The clients at an instant.
pub(crate) struct Clients<'a> {
    associations: &'a mut Associations,
    now: Duration,
}

impl Clients<'_> {
    pub(crate) fn now(&self) -> Duration {
        self.now
    }

    /// Returns the half of a socket at this instant.
    pub(crate) fn half(&mut self, half: Half) -> AtHalf<'_> {
        AtHalf::new(self.associations.of_mut(half.stack), half.id, self.now)
    }

    /// Makes a half.
    pub(crate) fn socket(&mut self, stack: Stack, create: Create) -> Result<Half, Errno> {
        let id = self.associations.of_mut(stack).at(self.now, |client, _| client.socket(create))?;
        Ok(Half { stack, id })
    }
}

impl Deref for Clients<'_> {
    type Target = Associations;

    fn deref(&self) -> &Associations {
        self.associations
    }
}

impl DerefMut for Clients<'_> {
    fn deref_mut(&mut self) -> &mut Associations {
        self.associations
    }
}
