//! The modes of an end, each with the variables that exist only in it.

use crate::Persistency;

/// Which mode an end is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Mode {
    /// Not yet connected.
    Disconnected,
    /// Sends XID.
    Negotiating(Command),
    /// Sends SABM. `answered` if a SABM of the other end was answered meanwhile.
    Connecting { command: Command, answered: bool },
    /// Connected. The other end is not known to be, so it could lose what is sent to a second SABM,
    /// and nothing numbered is sent.
    Accepted,
    /// Connected, and so is the other end.
    Connected(Connection),
    /// Sends DISC.
    Disconnecting(Command),
    /// Disconnected for good.
    Ended,
}

impl Mode {
    /// Counts timers down by a tick. Returns whether T1 has expired.
    pub fn tick(&mut self) -> bool {
        match self {
            Self::Disconnected | Self::Accepted | Self::Ended => false,
            Self::Negotiating(command) | Self::Connecting { command, .. } | Self::Disconnecting(command) => {
                count_down(&mut command.wait)
            }
            Self::Connected(connection) => connection.tick(),
        }
    }
}

/// A command that is repeated every T1: a poll, SABM, XID or DISC. A new one is due at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Command {
    /// How often T1 has expired. Not counted where there is no limit.
    attempts: u16,
    /// Ticks until T1 expires; 0 if the command is due.
    wait: u16,
}

impl Command {
    /// Notes that T1 has expired. Returns whether it has done so once too often.
    pub fn expire(&mut self, persistency: Persistency) -> bool {
        let Some(most) = persistency.retransmissions else { return false };
        self.attempts = self.attempts.saturating_add(1).min(most.saturating_add(1));
        self.attempts > most
    }

    /// Returns whether the command is to be sent now. If so, T1 starts.
    pub fn send(&mut self, t1: u16) -> bool {
        let is_due = self.wait == 0;
        if is_due {
            self.wait = t1;
        }
        is_due
    }
}

/// Variables of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Connection {
    pub timer: Timer,
    /// Ticks until REJ is sent (again); `None` if none is wanted.
    pub reject: Option<u16>,
    /// Ticks until the other end is told again that the oldest frame was given up.
    pub skip: u16,
    pub peer: Peer,
    /// X in the last field that was sent.
    pub told_stop: bool,
    /// X must be sent even if there is nothing else to send.
    pub status_due: bool,
}

/// What the other end has said about its room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Peer {
    /// It sent RNR.
    pub busy: bool,
    /// It sent XOFF.
    pub stop: bool,
}

/// T1 of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) enum Timer {
    /// Nothing is outstanding.
    #[default]
    Stopped,
    /// Ticks until T1 expires.
    Running(u16),
    /// T1 has expired: between P and F.
    Polling(Command),
}

impl Connection {
    fn tick(&mut self) -> bool {
        if let Some(reject) = &mut self.reject {
            count_down(reject);
        }
        count_down(&mut self.skip);
        match &mut self.timer {
            Timer::Stopped => false,
            Timer::Running(ticks) => count_down(ticks),
            Timer::Polling(poll) => count_down(&mut poll.wait),
        }
    }

    /// Polls the other end, because T1 has expired. Returns whether it has done so once too often.
    pub fn poll(&mut self, persistency: Persistency) -> bool {
        let mut poll = match self.timer {
            Timer::Polling(poll) => poll,
            Timer::Stopped | Timer::Running(_) => Command::default(),
        };
        let is_spent = poll.expire(persistency);
        self.timer = Timer::Polling(poll);
        is_spent
    }

    pub fn is_polling(&self) -> bool {
        matches!(self.timer, Timer::Polling(_))
    }

    /// Counts polls from 0 again, because a frame was given up.
    pub fn forgive(&mut self) {
        if let Timer::Polling(poll) = &mut self.timer {
            poll.attempts = 0;
        }
    }
}

/// Returns whether the last of these ticks is over.
fn count_down(ticks: &mut u16) -> bool {
    let is_last = *ticks == 1;
    *ticks = ticks.saturating_sub(1);
    is_last
}
