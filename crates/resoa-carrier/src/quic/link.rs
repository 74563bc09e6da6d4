//! One connection over QUIC: its authentication, messages and end. [`hearing`] processes what the
//! other side sends.

mod hearing;

use super::incoming::Incoming;
use super::introduction::Introduction;
use super::outgoing::{Outgoing, Weather};
use super::wire::Frame;
use super::{ROOM, WAITING};
use crate::Allowed;
use crate::farewell::Farewell;
use crate::keys::{PublicKey, SecretKey};
use crate::outage::{Outage, patience};
use crate::stage::Stage;
use crate::tcp::backlog::Backlog;
use bytes::Bytes;
use quinn_proto::{StreamId, VarInt};
use resoa_protocol::lhp::{Connection, DisconnectReason, Handed, Identity, Indication, Statistics};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Close code: everything has been delivered, and there is no more.
const CLOSED: u32 = 0;
/// Close code: ends at once, whatever is in flight; or the server's user rejects the client.
const RESET: u32 = 1;
/// Close code: the server does not accept this client's key, which the reason proves.
const TURNED_AWAY: u32 = 2;
/// Close code: not the expected peer, or not this protocol.
const FORGED: u32 = 3;
/// Priority of the control stream, above that of messages.
const CONTROL: i32 = 1;

/// A connection; see the [module](self).
#[derive(Debug)]
pub(super) struct Link {
    /// Number by which our user knows it.
    pub(super) name: Connection,
    pub(super) quic: quinn_proto::Connection,
    pub(super) stage: Stage,
    introduction: Introduction,
    /// When the connection began.
    pub(super) since: Instant,
    control: Option<StreamId>,
    heard: Backlog,
    said: Backlog,
    incoming: Incoming,
    outgoing: Outgoing,
    /// The client knows that the server's user has accepted it.
    is_taken: bool,
    /// Number of the other side's messages, if it has closed.
    end: Option<u64>,
    /// Whether we have reported that all messages of the other side were passed on, and whether it
    /// has reported the same of ours.
    through: [bool; 2],
    farewell: Farewell,
    silence: Duration,
    /// Our user was told to stop.
    full: bool,
    /// Our user wants messages at the moment.
    pub(super) wanted: bool,
    /// Number of sent frames that ask for an acknowledgement, and whether any is answered.
    asked: u64,
    outage: Outage,
}

impl Link {
    fn new(
        name: Connection,
        quic: quinn_proto::Connection,
        stage: Stage,
        introduction: Introduction,
        silence: Duration,
    ) -> Self {
        Self {
            name,
            quic,
            stage,
            introduction,
            since: Instant::now(),
            control: None,
            heard: Backlog::default(),
            said: Backlog::default(),
            incoming: Incoming::new(),
            outgoing: Outgoing::new(ROOM),
            is_taken: false,
            end: None,
            through: [false; 2],
            farewell: Farewell::default(),
            silence,
            full: false,
            wanted: true,
            asked: 0,
            outage: Outage::default(),
        }
    }

    pub(super) fn client(
        name: Connection,
        quic: quinn_proto::Connection,
        key: Arc<SecretKey>,
        server: PublicKey,
        silence: Duration,
    ) -> Self {
        Self::new(name, quic, Stage::Asking, Introduction::Client(key, server), silence)
    }

    pub(super) fn server(
        name: Connection,
        quic: quinn_proto::Connection,
        key: Arc<SecretKey>,
        allowed: Allowed,
        silence: Duration,
    ) -> Self {
        Self::new(name, quic, Stage::Unknown, Introduction::Server(key, allowed), silence)
    }

    /// Returns whether the other side is not authenticated, or never was.
    pub(super) fn is_strange(&self) -> bool {
        !self.introduction.is_done()
    }

    pub(super) fn accept(&mut self) {
        if self.stage == Stage::Offered {
            self.stage = Stage::Up;
            self.say(Frame::Taken);
        }
    }

    /// Takes a message, and returns whether the connection takes more.
    pub(super) fn send(&mut self, message: &[u8]) -> Handed {
        self.hand_over(message, None)
    }

    /// Takes a message that may be lost and has already waited this long.
    pub(super) fn send_or_lose(&mut self, message: &[u8], waited: Duration, now: Instant) -> Handed {
        self.hand_over(message, Some(self.time(now).saturating_sub(waited)))
    }

    fn hand_over(&mut self, message: &[u8], handed_over: Option<Duration>) -> Handed {
        if self.stage == Stage::Up {
            self.outgoing.push(message, handed_over);
            self.full |= self.outgoing.waiting() >= WAITING;
        }
        if self.full { Handed::TakenLast } else { Handed::Taken }
    }

    /// Returns the time since the connection began.
    fn time(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.since)
    }

    pub(super) fn close(&mut self, now: Instant) {
        match self.stage {
            Stage::Up => {
                self.stage = Stage::Closing;
                let messages = self.outgoing.count();
                self.say(Frame::End { messages });
            }
            Stage::Closing | Stage::Over(_) | Stage::Gone => {}
            Stage::Asking | Stage::Unknown | Stage::Offered => self.reset(now),
        }
    }

    /// Resets the connection. Our user is not told, because it asked for this.
    pub(super) fn reset(&mut self, now: Instant) {
        self.leave(now, RESET, Bytes::new());
        self.stage = Stage::Gone;
    }

    /// Ends the connection because the other side has not introduced itself in time.
    pub(super) fn give_up(&mut self, now: Instant) {
        self.leave(now, FORGED, Bytes::new());
        self.over(DisconnectReason::Unreachable);
    }

    fn leave(&mut self, now: Instant, code: u32, reason: Bytes) {
        if !self.quic.is_closed() {
            self.quic.close(now, VarInt::from_u32(code), reason);
        }
    }

    /// A user that never knew of the connection, or has closed it, is not told of its end.
    fn over(&mut self, why: DisconnectReason) {
        self.stage = match self.stage {
            Stage::Asking | Stage::Offered | Stage::Up => Stage::Over(why),
            Stage::Over(first) => Stage::Over(first),
            Stage::Unknown | Stage::Closing | Stage::Gone => Stage::Gone,
        };
    }

    fn say(&mut self, frame: Frame) {
        frame.write(self.said.behind());
    }

    /// Notes that something has arrived.
    pub(super) fn answered(&mut self, now: Instant) {
        let patience = patience(self.quic.stats().path.rtt);
        self.outage.answered(false, patience, self.time(now));
    }

    /// Notes that something may have been sent.
    pub(super) fn sent(&mut self, now: Instant) {
        let sent = self.quic.stats().frame_tx;
        let asked = sent.stream + sent.ping + sent.crypto;
        if asked > std::mem::replace(&mut self.asked, asked) {
            self.outage.sent(self.time(now));
        }
    }

    /// Returns whether something was sent and should have been answered by now.
    fn is_silent(&self, now: Instant) -> bool {
        let expected = self.quic.stats().path.rtt * 4 + SLOW;
        self.outage.silent_since().is_some_and(|since| self.time(now) >= since + expected)
    }

    /// Hands messages to QUIC, and gives up late ones.
    fn write(&mut self, now: Instant) {
        let weather = if self.is_silent(now) { Weather::Silent } else { Weather::Fair };
        let (time, patience) = (self.time(now), patience(self.quic.stats().path.rtt));
        let outage = &self.outage;
        let is_late = |handed_over| outage.late_from(handed_over, patience).is_some_and(|from| from <= time);
        self.outgoing.write(&mut self.quic, weather, is_late);
    }

    /// Processes events and queues, and reports to the user. Datagrams that result must be sent
    /// afterwards.
    pub(super) fn progress(&mut self, now: Instant, happened: &mut Vec<Indication>) {
        while let Some(event) = self.quic.poll() {
            self.happened(event, now);
        }
        self.tell(now, happened);
        if matches!(self.stage, Stage::Up | Stage::Closing) {
            self.write(now);
            if self.full && self.outgoing.waiting() < WAITING / 2 {
                self.full = false;
                if self.stage == Stage::Up {
                    happened.push(Indication::On);
                }
            }
        }
        self.flush();
        // This count changes until the other side has everything, because QUIC sends the rest, if
        // only again.
        let left = self.quic.stats().frame_tx.stream;
        if self.stage == Stage::Closing && self.farewell.is_over(left, now, self.silence) {
            self.reset(now);
        }
    }

    /// Returns when the connection has something to do even if nothing happens.
    pub(super) fn deadline(&mut self) -> Option<Instant> {
        let farewell = self.farewell.due().filter(|_| self.stage == Stage::Closing);
        self.quic.poll_timeout().into_iter().chain(farewell).min()
    }

    /// Reports to our user what it does not know yet.
    fn tell(&mut self, now: Instant, happened: &mut Vec<Indication>) {
        if self.stage == Stage::Unknown && self.introduction.is_done() {
            self.stage = Stage::Offered;
            let client = self.introduction.client().map(|key| key.0.to_vec());
            happened.push(Indication::Connect { identity: Identity(client.unwrap_or_default()) });
        }
        if self.stage == Stage::Asking && self.is_taken {
            self.stage = Stage::Up;
            happened.push(Indication::Connected);
        }
        let is_closing = self.stage == Stage::Closing;
        if is_closing || self.wanted && matches!(self.stage, Stage::Up | Stage::Over(_)) {
            while let Some(came) = self.incoming.take() {
                if !is_closing {
                    happened.push(came.into());
                }
            }
        }
        if let Some((done, limit)) = self.incoming.report() {
            self.say(Frame::Report { done, limit });
        }
        if self.end.is_some_and(|messages| self.incoming.is_through(messages)) {
            self.ended(now);
        }
        if let Stage::Over(why) = self.stage {
            happened.push(Indication::Disconnected(why));
            self.stage = Stage::Gone;
        }
    }

    /// Ends the connection from our side: the other side has closed it, and all its messages have
    /// been passed on.
    fn ended(&mut self, now: Instant) {
        match self.stage {
            Stage::Up => {
                self.leave(now, CLOSED, Bytes::new());
                self.over(DisconnectReason::Closed);
            }
            Stage::Closing => {
                if !std::mem::replace(&mut self.through[0], true) {
                    self.say(Frame::Through);
                }
                if self.through[1] {
                    self.leave(now, CLOSED, Bytes::new());
                    self.stage = Stage::Gone;
                }
            }
            _ => {}
        }
    }

    fn flush(&mut self) {
        let Some(control) = self.control else { return };
        if self.said.is_empty() {
            return;
        }
        let mut stream = self.quic.send_stream(control);
        let _ = stream.set_priority(CONTROL);
        if let Ok(count) = stream.write(self.said.waiting()) {
            self.said.gone(count);
        }
    }

    pub(super) fn statistics(&self, now: Instant) -> Statistics {
        let stats = self.quic.stats();
        let path = stats.path;
        let is_there = matches!(self.stage, Stage::Up | Stage::Offered | Stage::Closing);
        // Before the first acknowledgement, this is QUIC's default.
        let round_trip = (is_there && stats.frame_rx.acks > 0).then_some(path.rtt);
        let healthy = is_there && !self.is_silent(now);
        Statistics { round_trip, healthy, retransmissions: path.lost_packets }
    }
}

/// Allowance for the delay of acknowledgements by their sender and by a busy host.
const SLOW: Duration = Duration::from_millis(200);
