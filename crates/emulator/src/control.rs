//! Commands from other threads to a running event loop.

use crate::event_loop::WayId;
use borsh::{BorshDeserialize, BorshSerialize};
use link::seed::Seed;
use link::stage::StageCommand;
use link::units::Time;
use link::{Link, LinkSpec};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A change of one direction of a running link. It is data, because the link may be in another
/// address space: that of a guest's kernel.
#[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct LinkChange {
    /// The link before the change.
    pub former: LinkSpec,
    /// The link after it.
    pub next: LinkSpec,
    /// Seed of the direction.
    pub seed: Seed,
    /// Commands for stages, by the name of the stage, after the change.
    pub commands: Vec<(String, StageCommand)>,
}

impl LinkChange {
    /// Makes the change on the way `way` of `link` at `now`.
    ///
    /// # Errors
    /// As [`LinkSpec::change_into`], and if a stage does not know its command.
    pub fn make(&self, way: WayId, link: &mut Link, now: Time) -> Result<(), String> {
        let direction = way.direction();
        self.former.change_into(&self.next, direction, link, &self.seed, now)?;
        self.commands.iter().try_for_each(|(stage, command)| link.obey(direction, stage, *command, now))
    }
}

/// A command to the event loop.
pub enum Command {
    /// End the run. Packets that are still inside a link are lost.
    Stop,
    /// Pass a note to the observer, for readers of this run's results.
    Note(String),
    /// Show the observer everything that has happened until now, and say so.
    Settle(Sender<()>),
    /// Send the number of packets that wait in one way of a link ([`Link::waiting`]). The loop of a
    /// guest does not answer.
    Waiting(WayId, Sender<usize>),
    /// Change one way of a link, and send the result.
    Change(WayId, Box<LinkChange>, Sender<Result<(), String>>),
}

/// The sending side of the command channel. Clones send to the same loop.
#[derive(Clone)]
pub struct Control {
    commands: Sender<Command>,
    bell: Arc<OwnedFd>,
}

/// The event loop's side of the command channel.
pub struct Controls {
    commands: Receiver<Command>,
    bell: Arc<OwnedFd>,
}

/// Creates a command channel and returns both sides.
///
/// # Errors
/// If the kernel has no file descriptor left.
pub fn control() -> std::io::Result<(Control, Controls)> {
    let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let (sender, receiver) = channel();
    Ok((Control { commands: sender, bell: Arc::clone(&bell) }, Controls { commands: receiver, bell }))
}

impl Control {
    /// Sends the loop a command and wakes it. Does nothing if the loop has ended.
    pub fn tell(&self, command: Command) {
        if self.commands.send(command).is_ok() {
            // The counter cannot overflow: the loop empties it, and 2^64 commands do not fit into
            // memory.
            let _ = io::write(&self.bell, &1u64.to_ne_bytes());
        }
    }

    /// Returns when the observer has seen everything that has happened until now, or the loop has
    /// ended.
    pub fn settle(&self) {
        let (answer, answered) = channel();
        self.tell(Command::Settle(answer));
        // An error means that the loop has ended.
        let _ = answered.recv();
    }

    /// Returns the number of packets that wait in one way of a link. `None` if the loop has ended,
    /// or is in a guest.
    #[must_use]
    pub fn waiting(&self, way: WayId) -> Option<usize> {
        let (answer, answered) = channel();
        self.tell(Command::Waiting(way, answer));
        answered.recv().ok()
    }

    /// Changes one way of a link and returns the result. `None` if the loop has ended.
    #[must_use]
    pub fn change(&self, way: WayId, change: LinkChange) -> Option<Result<(), String>> {
        let (answer, answered) = channel();
        self.tell(Command::Change(way, Box::new(change), answer));
        answered.recv().ok()
    }
}

impl Controls {
    /// Returns the next command, if there is one. `None` also if every [`Control`] is gone.
    pub(crate) fn next(&self) -> Option<Command> {
        self.commands.try_recv().ok()
    }

    /// Returns the descriptor that is readable when there is a command. The driver waits for it
    /// along with its ports and calls [`Bell::hush`].
    #[must_use]
    pub fn bell(&self) -> Bell {
        Bell(Arc::clone(&self.bell))
    }
}

/// An eventfd that is readable when there is a command.
pub struct Bell(Arc<OwnedFd>);

impl Bell {
    /// Makes the descriptor unreadable until the next command.
    pub fn hush(&self) {
        let mut count = [0; 8];
        // An error means that there was nothing to read: the descriptor is unreadable already.
        let _ = io::read(&self.0, &mut count);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
