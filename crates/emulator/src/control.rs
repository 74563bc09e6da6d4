//! Telling a running event loop what to do, from another thread.

use crate::event_loop::WayId;
use link::Link;
use link::units::Time;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// What a link is to do when the loop comes by: change a parameter, answer a question.
pub type Visit = Box<dyn FnOnce(&mut Link, Time) + Send>;

/// Something the event loop is told.
pub enum Command {
    /// End the run: what is still inside the link is lost.
    Stop,
    /// Tell the observer something that people should know when they read about this run.
    Note(String),
    /// Call on the link of one way, with the time at which the loop does so.
    Visit(WayId, Visit),
}

/// The sending side; clones share the loop.
#[derive(Clone)]
pub struct Control {
    commands: Sender<Command>,
    bell: Arc<OwnedFd>,
}

/// The loop's side.
pub struct Controls {
    commands: Receiver<Command>,
    bell: Arc<OwnedFd>,
}

/// A pair of both sides.
///
/// # Errors
/// If the kernel has no descriptor left.
pub fn control() -> std::io::Result<(Control, Controls)> {
    let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let (sender, receiver) = channel();
    Ok((Control { commands: sender, bell: Arc::clone(&bell) }, Controls { commands: receiver, bell }))
}

impl Control {
    /// Gives the loop a command and wakes it. Does nothing when the loop has ended.
    pub fn tell(&self, command: Command) {
        if self.commands.send(command).is_ok() {
            // The counter cannot overflow: the loop empties it, and 2^64 commands do not fit into
            // memory.
            let _ = io::write(&self.bell, &1u64.to_ne_bytes());
        }
    }

    /// Calls on the link of one way and returns what `visit` returns; `None` when the loop has
    /// ended.
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
    /// The next command, if there is one. A control that is gone has nothing more to say.
    pub(crate) fn next(&self) -> Option<Command> {
        self.commands.try_recv().ok()
    }

    /// Readable when there is a command. The driver waits for it beside its ports and calls
    /// [`Bell::hush`].
    #[must_use]
    pub fn bell(&self) -> Bell {
        Bell(Arc::clone(&self.bell))
    }
}

/// The descriptor that rings when there is a command.
pub struct Bell(Arc<OwnedFd>);

impl Bell {
    /// Makes the descriptor unreadable until the next command.
    pub fn hush(&self) {
        let mut count = [0; 8];
        // Nothing to read means that it is quiet already.
        let _ = io::read(&self.0, &mut count);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
