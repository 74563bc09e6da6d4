//! One connection over QUIC: who is there, messages, and how it ends; [`hearing`] is what the other
//! side says.

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
use resoa_protocol::lhp::{Connection, Ended, Handed, Identity, Indication, Statistics};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Everything has been delivered, and there is no more.
const CLOSED: u32 = 0;
/// At once, whatever is under way; or the server's user does not take the client.
const RESET: u32 = 1;
/// The server does not take the client; the reason proves it.
const TURNED_AWAY: u32 = 2;
/// Not the other side that it should be, or not of this protocol.
const FORGED: u32 = 3;
/// More urgent than messages.
const CONTROL: i32 = 1;

/// A connection; see the [module](self).
#[derive(Debug)]
pub(super) struct Link {
    /// As our user knows it.
    pub(super) name: Connection,
    pub(super) quic: quinn_proto::Connection,
    pub(super) stage: Stage,
    introduction: Introduction,
    /// When it began.
    pub(super) since: Instant,
    control: Option<StreamId>,
    heard: Backlog,
    said: Backlog,
    incoming: Incoming,
    outgoing: Outgoing,
    /// The server's user has taken the client, as the client knows.
    is_taken: bool,
    /// How many messages the other side has said that there are.
    end: Option<u64>,
    /// Whether we have said that the other side's messages are through, and it that ours are.
    through: [bool; 2],
    farewell: Farewell,
    silence: Duration,
    /// Our user was told to stop.
    full: bool,
    /// Our user wants messages at the moment.
    pub(super) wanted: bool,
    /// Frames sent that ask for an acknowledgement, and whether any comes.
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

    /// Whether it is not known who the other side is, or was.
    pub(super) fn is_strange(&self) -> bool {
        !self.introduction.is_done()
    }

    pub(super) fn accept(&mut self) {
        if self.stage == Stage::Offered {
            self.stage = Stage::Up;
            self.say(Frame::Taken);
        }
    }

    /// Takes a message, and says whether it takes more.
    pub(super) fn send(&mut self, message: &[u8]) -> Handed {
        self.hand_over(message, None)
    }

    /// The same of one that may be lost and has waited for so long.
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

    /// Since it began.
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

    /// Ends it for both sides; our user knows.
    pub(super) fn reset(&mut self, now: Instant) {
        self.leave(now, RESET, Bytes::new());
        self.stage = Stage::Gone;
    }

    /// The other side has had its time to say who it is.
    pub(super) fn give_up(&mut self, now: Instant) {
        self.leave(now, FORGED, Bytes::new());
        self.over(Ended::Unreachable);
    }

    fn leave(&mut self, now: Instant, code: u32, reason: Bytes) {
        if !self.quic.is_closed() {
            self.quic.close(now, VarInt::from_u32(code), reason);
        }
    }

    /// Who was never introduced to our user, or has been given up by it, is not spoken of.
    fn over(&mut self, why: Ended) {
        self.stage = match self.stage {
            Stage::Asking | Stage::Offered | Stage::Up => Stage::Over(why),
            Stage::Over(first) => Stage::Over(first),
            Stage::Unknown | Stage::Closing | Stage::Gone => Stage::Gone,
        };
    }

    fn say(&mut self, frame: Frame) {
        frame.write(self.said.behind());
    }

    /// Something has come.
    pub(super) fn answered(&mut self, now: Instant) {
        let patience = patience(self.quic.stats().path.rtt);
        self.outage.answered(false, patience, self.time(now));
    }

    /// Something may have been sent.
    pub(super) fn sent(&mut self, now: Instant) {
        let sent = self.quic.stats().frame_tx;
        let asked = sent.stream + sent.ping + sent.crypto;
        if asked > std::mem::replace(&mut self.asked, asked) {
            self.outage.sent(self.time(now));
        }
    }

    /// Whether something was sent and should have been answered by now.
    fn is_silent(&self, now: Instant) -> bool {
        let expected = self.quic.stats().path.rtt * 4 + SLOW;
        self.outage.silent_since().is_some_and(|since| self.time(now) >= since + expected)
    }

    /// Hands messages to QUIC, and gives up what is late.
    fn write(&mut self, now: Instant) {
        let weather = if self.is_silent(now) { Weather::Silent } else { Weather::Fair };
        let (time, patience) = (self.time(now), patience(self.quic.stats().path.rtt));
        let outage = &self.outage;
        let is_late = |handed_over| outage.late_from(handed_over, patience).is_some_and(|from| from <= time);
        self.outgoing.write(&mut self.quic, weather, is_late);
    }

    /// Does what there is to be done. What it comes to is to be sent.
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
        // As long as the other side has not everything something is sent, be it again.
        let left = self.quic.stats().frame_tx.stream;
        if self.stage == Stage::Closing && self.farewell.is_over(left, now, self.silence) {
            self.reset(now);
        }
    }

    /// When there is something to do, though nothing happens.
    pub(super) fn deadline(&mut self) -> Option<Instant> {
        let farewell = self.farewell.due().filter(|_| self.stage == Stage::Closing);
        self.quic.poll_timeout().into_iter().chain(farewell).min()
    }

    /// Tells our user what it does not know.
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

    /// The other side has no more to say, and all of it has been passed on.
    fn ended(&mut self, now: Instant) {
        match self.stage {
            Stage::Up => {
                self.leave(now, CLOSED, Bytes::new());
                self.over(Ended::Closed);
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
        // Before anything was acknowledged it is what QUIC takes it for.
        let round_trip = (is_there && stats.frame_rx.acks > 0).then_some(path.rtt);
        let healthy = is_there && !self.is_silent(now);
        Statistics { round_trip, healthy, retransmissions: path.lost_packets }
    }
}

/// An acknowledgement may be delayed by its sender, and by a busy host.
const SLOW: Duration = Duration::from_millis(200);
