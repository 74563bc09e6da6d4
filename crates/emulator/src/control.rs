//! Commands from other threads to a running event loop.

use crate::event_loop::WayId;
use link::Link;
use link::units::Time;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A closure that changes or queries a link. The event loop calls it with the link and the current
/// time.
pub type Visit = Box<dyn FnOnce(&mut Link, Time) + Send>;

/// A command to the event loop.
pub enum Command {
    /// End the run. Packets that are still inside a link are lost.
    Stop,
    /// Pass a note to the observer, for readers of this run's results.
    Note(String),
    /// Call a closure on the link of one way.
    Visit(WayId, Visit),
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

    /// Calls `visit` on the link of one way and returns its result. `None` if the loop has ended.
    pub fn visit<T: Send + 'static>(
        &self,
        way: WayId,
        visit: impl FnOnce(&mut Link, Time) -> T + Send + 'static,
    ) -> Option<T> {
        let (answer, answered) = channel();
        self.tell(Command::Visit(
            way,
            Box::new(move |link, now| {
                let _ = answer.send(visit(link, now));
            }),
        ));
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
