//! `shutdown` and `close` (6.2.3): the messages to the server, and the lifetime of the client's
//! half after them.
//!
//! | read by the program | still to be sent | messages | state afterwards |
//! |---|---|---|---|
//! | not all | anything | CLOSE by RST | gone |
//! | all | nothing | CLOSE | gone |
//! | all | some data | CLOSE_DATAPENDING, the data, CLOSE | orphan until the last CLOSE |
//!
//! CLOSE also closes a connecting socket. Only the server's stack knows whether it then sends
//! nothing, because it still waits for an answer, or FIN.
//!
//! With SO_LINGER the messages are the same, and the program waits until the far host has
//! acknowledged everything including FIN, or the time has expired.

use super::{Lsm, Remote, State};
use crate::Errno;
use crate::calls::{Action, CallId, Cause, Value};
use crate::message::{Call, CloseState, Half, RsockType, Update};
use crate::settings::{LingerPolicy, mutant};
use std::time::Duration;

impl Lsm {
    pub(super) fn shutdown(
        &mut self,
        half: Half,
        now: Duration,
        out: &mut Vec<Action>,
    ) -> Result<Value, Errno> {
        match self.state {
            State::Listening if half.reads() => self.stop_listening(out),
            State::Listening => {}
            State::Connected { halves, .. } if halves.are_over() => return Err(Errno::ENOTCONN),
            State::Connected { .. } => self.shut(half, out),
            State::Connecting { .. } => self.give_up(now, out),
            State::Datagram(mut halves) => {
                halves.shut(half);
                self.state = State::Datagram(halves);
                // The halves are shut down nevertheless (`inet_shutdown`).
                return if self.peer.is_some() { Ok(Value::Done) } else { Err(Errno::ENOTCONN) };
            }
            _ => return Err(Errno::ENOTCONN),
        }
        Ok(Value::Done)
    }

    /// Shuts down halves of a connection. Shutting down only the reading half has no effect at the
    /// server: arriving data can still be read, as on Linux (A6). With both halves shut, the server
    /// is told, and its TCP refuses further data.
    fn shut(&mut self, half: Half, out: &mut Vec<Action>) {
        let Some(halves) = self.state.halves_mut() else { return };
        let before = *halves;
        halves.shut(half);
        let reading_shut = halves.reading_shut;
        if before.sending_shut && half.reads() && !before.reading_shut {
            self.tell(Call::Shutdown { half: Half::Read, state: CloseState::Close }, out);
        }
        if !half.writes() || before.sending_shut {
            return;
        }
        let half = if reading_shut { Half::Both } else { Half::Write };
        let call = |state| Call::Shutdown { half, state };
        if self.sending.is_empty() {
            self.tell(call(CloseState::Close), out);
        } else {
            self.tell(call(CloseState::DataPending), out);
            self.sending.afterwards = Some(call(CloseState::Close));
        }
        self.io(Cause::HalfShut, out);
    }

    /// Gives up an attempt to connect. `shutdown` of either half does so, and waiting calls get
    /// ECONNRESET (`inet_shutdown`). Answers that the server has sent by then belong to no socket
    /// any more. So the socket counts as lost instead of becoming new, for which it would need
    /// another number.
    fn give_up(&mut self, now: Duration, out: &mut Vec<Action>) {
        self.tell(Call::Close { state: CloseState::Close, abort: true, linger: false }, out);
        self.lose(now, out);
    }

    /// Closes the socket after its last file descriptor. Returns the result of `close`, or `None`
    /// if it waits.
    pub(super) fn close(
        &mut self,
        call: CallId,
        may_wait: bool,
        now: Duration,
        out: &mut Vec<Action>,
    ) -> Option<Value> {
        self.cut_off(Errno::EBADF, out);
        let is_stream = self.create.kind == RsockType::Stream;
        let linger = self.options.linger.filter(|_| is_stream);
        let has_unread = is_stream && !self.receiving.is_empty();
        let abort = match self.state {
            // The server's stack may be connected by now. Then the far host gets a FIN, as from any
            // program that closes right after connecting.
            State::Connecting { .. } => linger == Some(Duration::ZERO),
            State::Connected { .. } => has_unread || linger == Some(Duration::ZERO),
            // A server that is lost, or that never knew of the socket, gets no message.
            _ => false,
        };
        let is_connected = matches!(self.state, State::Connected { .. });
        let has_rest = !self.sending.is_empty() && (is_connected || !is_stream);
        let waits = is_connected && !abort && linger.is_some() && may_wait && self.close_waits();
        let last = Call::Close { state: CloseState::Close, abort, linger: waits };
        self.state = match linger {
            Some(linger) if waits => State::Lingering { call, deadline: now + linger },
            _ => State::Closed,
        };
        // If the server could not create its half, the close does not create it.
        if self.remote == Remote::NotMade {
            self.remote = Remote::Made;
        }
        if self.remote == Remote::Unknown {
            self.state = State::Closed;
        } else if abort || !has_rest || mutant!(self.settings, CloseBeforeQueued) {
            self.sending.afterwards = None;
            self.tell(last, out);
            self.everything_sent(out);
        } else {
            self.tell(Call::Close { state: CloseState::DataPending, abort, linger: waits }, out);
            self.sending.afterwards = Some(last);
            if !waits && !mutant!(self.settings, FreesBeforeSecondClose) {
                self.state = State::Orphan;
            }
        }
        (!waits).then_some(Value::Done)
    }

    /// Returns whether a lingering close waits. On Linux even a non-blocking socket lingers (A5).
    fn close_waits(&self) -> bool {
        self.settings.linger == LingerPolicy::Linux || !self.nonblocking
    }

    /// Called after all data, and the message that was to follow it, were sent.
    pub(super) fn everything_sent(&mut self, out: &mut Vec<Action>) {
        if self.state == State::Orphan {
            self.state = State::Closed;
        }
        if matches!(self.state, State::Lingering { .. }) && mutant!(self.settings, LingerUntilHandedOver) {
            self.linger_ended(Ok(Value::Done), State::Closed, out);
        }
    }

    /// Processes an update for a socket that the program has closed.
    pub(super) fn update_closing(&mut self, update: &Update, out: &mut Vec<Action>) {
        match *update {
            Update::SendFreed(count) => self.freed(count, out),
            Update::PeerClosed => self.tell(Call::FinDelivered, out),
            Update::AllAcknowledged => self.linger_ended(Ok(Value::Done), State::Closed, out),
            // Later datagrams are not affected by the loss of one.
            Update::SocketError(_) if self.create.kind != RsockType::Stream => {}
            Update::SocketError(error) => self.delivery_failed(error, out),
            Update::StateClosed => self.delivery_failed(Errno::ECONNRESET, out),
            // Nobody will read the data. The server refuses such data (CLOSE_DATAPENDING), or sent
            // it before it knew.
            _ => {}
        }
    }

    /// Handles that the remaining data cannot be delivered.
    pub(super) fn delivery_failed(&mut self, error: Errno, out: &mut Vec<Action>) {
        self.sending.discard();
        let result = match self.settings.linger {
            LingerPolicy::Linux => Ok(Value::Done),
            LingerPolicy::Bsd => Err(error),
        };
        self.linger_ended(result, State::Closed, out);
        self.state = State::Closed;
    }

    fn linger_ended(&mut self, result: Result<Value, Errno>, then: State, out: &mut Vec<Action>) {
        if let State::Lingering { call, .. } = self.state {
            self.state = then;
            self.give_back(call, result, out);
        }
    }

    /// Handles the timeout of a lingering `close`.
    pub(super) fn linger_expired(&mut self, out: &mut Vec<Action>) {
        match self.settings.linger {
            LingerPolicy::Linux => self.linger_no_longer(out),
            LingerPolicy::Bsd => {
                self.tell(Call::LingerExpired, out);
                self.sending.discard();
                self.linger_ended(Err(Errno::EAGAIN), State::Closed, out);
            }
        }
    }

    /// Lets a lingering `close` return while delivery continues.
    pub(super) fn linger_no_longer(&mut self, out: &mut Vec<Action>) {
        let then = if self.sending.afterwards.is_some() { State::Orphan } else { State::Closed };
        self.linger_ended(Ok(Value::Done), then, out);
    }
}
