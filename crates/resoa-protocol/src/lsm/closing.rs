//! `shutdown` and `close` (6.2.3): what is said to the server, and how long the client's half lives
//! on.
//!
//! | read by the program | waits here | said | then |
//! |---|---|---|---|
//! | not all | whatever | CLOSE by RST | gone |
//! | all | nothing | CLOSE | gone |
//! | all | something | CLOSE_DATAPENDING, the rest, CLOSE | an orphan until then |
//!
//! A socket that connects is closed by CLOSE as well. Whether its stack sends nothing (it still
//! waits for an answer) or FIN (it has one) is known there alone.
//!
//! With SO_LINGER the same is said, and the program waits until the far host has acknowledged
//! everything, FIN included, or the time is over.

use super::{Lsm, Remote, State};
use crate::Errno;
use crate::calls::{Action, CallId, Cause, Value};
use crate::message::{Call, CloseState, Half, Kind, Update};
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
                // It is done all the same (`inet_shutdown`).
                return if self.peer.is_some() { Ok(Value::Done) } else { Err(Errno::ENOTCONN) };
            }
            _ => return Err(Errno::ENOTCONN),
        }
        Ok(Value::Done)
    }

    /// The reading half alone is shut here: what comes can still be read, as on Linux (A6). With
    /// both shut nothing is, and the server is told, whose TCP then refuses it.
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

    /// `shutdown` of either half ends an attempt to connect, and who waits for that is told
    /// ECONNRESET (`inet_shutdown`). What the server has said by then is nobody's any more: so the
    /// socket is lost, and not as new, for which it would need another number.
    fn give_up(&mut self, now: Duration, out: &mut Vec<Action>) {
        self.tell(Call::Close { state: CloseState::Close, abort: true, linger: false }, out);
        self.lose(now, out);
    }

    /// The program's last descriptor is gone. What `close` returns, or `None` if it waits.
    pub(super) fn close(
        &mut self,
        call: CallId,
        may_wait: bool,
        now: Duration,
        out: &mut Vec<Action>,
    ) -> Option<Value> {
        self.cut_off(Errno::EBADF, out);
        let is_stream = self.create.kind == Kind::Stream;
        let linger = self.options.linger.filter(|_| is_stream);
        let has_unread = is_stream && !self.receiving.is_empty();
        let abort = match self.state {
            // The server's stack may be connected by now: then the far host is owed a FIN, as from
            // any program that closes what it has just connected.
            State::Connecting { .. } => linger == Some(Duration::ZERO),
            State::Connected { .. } => has_unread || linger == Some(Duration::ZERO),
            // A server that is lost, or that never heard of the socket, is told nothing.
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
        // What the server could not make is not made for this.
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

    /// On Linux even a non-blocking socket lingers (A5).
    fn close_waits(&self) -> bool {
        self.settings.linger == LingerPolicy::Linux || !self.nonblocking
    }

    /// Everything was sent, and so was what was to be said afterwards.
    pub(super) fn everything_sent(&mut self, out: &mut Vec<Action>) {
        if self.state == State::Orphan {
            self.state = State::Closed;
        }
        if matches!(self.state, State::Lingering { .. }) && mutant!(self.settings, LingerUntilHandedOver) {
            self.linger_ended(Ok(Value::Done), State::Closed, out);
        }
    }

    /// News for a socket that the program has closed.
    pub(super) fn update_closing(&mut self, update: &Update, out: &mut Vec<Action>) {
        match *update {
            Update::SendFreed(count) => self.freed(count, out),
            Update::PeerClosed => self.tell(Call::FinDelivered, out),
            Update::AllAcknowledged => self.linger_ended(Ok(Value::Done), State::Closed, out),
            // Of a datagram that was lost the next one knows nothing.
            Update::SocketError(_) if self.create.kind != Kind::Stream => {}
            Update::SocketError(error) => self.delivery_failed(error, out),
            Update::StateClosed => self.delivery_failed(Errno::ECONNRESET, out),
            // Nobody will read it: the server refuses such data (CLOSE_DATAPENDING) or has sent it
            // before it knew.
            _ => {}
        }
    }

    /// The rest cannot be delivered.
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

    /// The time of a lingering `close` is over.
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

    /// The program waits no longer, and delivery goes on.
    pub(super) fn linger_no_longer(&mut self, out: &mut Vec<Action>) {
        let then = if self.sending.afterwards.is_some() { State::Orphan } else { State::Closed };
        self.linger_ended(Ok(Value::Done), then, out);
    }
}
