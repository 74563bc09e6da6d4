//! One connection over QUIC: who is there, messages, and how it ends.

use super::incoming::Incoming;
use super::introduction::{Introduction, Refused};
use super::outgoing::{Outgoing, Weather};
use super::session;
use super::wire::{Frame, Malformed};
use super::{ROOM, WAITING};
use crate::Allowed;
use crate::farewell::Farewell;
use crate::keys::{PublicKey, SecretKey};
use crate::outage::{Outage, patience};
use crate::stage::Stage;
use crate::tcp::backlog::Backlog;
use bytes::Bytes;
use quinn_proto::{ApplicationClose, ConnectionError, Dir, Event, StreamEvent, StreamId, VarInt};
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

    fn happened(&mut self, event: Event, now: Instant) {
        let outcome = match event {
            Event::Connected => self.begin(),
            Event::ConnectionLost { reason } => {
                let why = self.reason(&reason);
                self.over(why);
                Ok(())
            }
            Event::Stream(StreamEvent::Opened { dir }) => {
                let mut outcome = Ok(());
                while let Some(stream) = self.quic.streams().accept(dir) {
                    if dir == Dir::Bi {
                        self.control = Some(stream);
                    }
                    outcome = outcome.and_then(|()| self.read(stream));
                }
                outcome
            }
            Event::Stream(StreamEvent::Readable { id }) => self.read(id),
            _ => Ok(()),
        };
        let (code, reason) = match outcome {
            Ok(()) => return,
            Err(Refused::Forged) => (FORGED, Bytes::new()),
            Err(Refused::TurnedAway(reason)) => (TURNED_AWAY, reason.into()),
        };
        self.leave(now, code, reason);
        self.over(Ended::Unreachable);
    }

    /// A client's session is there.
    fn begin(&mut self) -> Result<(), Refused> {
        let first = self.introduction.begin(session::binding(&self.quic))?;
        if !first.is_empty() {
            self.control = self.quic.streams().open(Dir::Bi);
            self.said.behind().extend(first);
        }
        Ok(())
    }

    fn reason(&mut self, reason: &ConnectionError) -> Ended {
        match reason {
            ConnectionError::ApplicationClosed(ApplicationClose { error_code, reason }) => {
                match error_code.into_inner().try_into() {
                    // What anybody could have written is not believed.
                    _ if !self.introduction.is_done() && !self.introduction.is_turned_away(reason) => {
                        Ended::Unreachable
                    }
                    Ok(CLOSED) => Ended::Closed,
                    _ => Ended::Reset,
                }
            }
            // It was there, and has forgotten us. Before, it may be who is in between.
            ConnectionError::Reset if self.introduction.is_done() => Ended::Reset,
            _ => Ended::Unreachable,
        }
    }

    fn read(&mut self, stream: StreamId) -> Result<(), Refused> {
        let mut octets = Vec::new();
        {
            let mut reading = self.quic.recv_stream(stream);
            let Ok(mut chunks) = reading.read(true) else { return Ok(()) };
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                octets.push(chunk.bytes);
            }
            // Whatever it says, what there is to be sent is asked for.
            let _ = chunks.finalize();
        }
        for octets in octets {
            if Some(stream) == self.control {
                self.heard.behind().extend_from_slice(&octets);
            } else if self.introduction.is_done() {
                self.incoming.heard(stream, &octets).map_err(|Malformed| Refused::Forged)?;
            }
        }
        if Some(stream) == self.control { self.listen() } else { Ok(()) }
    }

    /// What the other side says beside messages.
    fn listen(&mut self) -> Result<(), Refused> {
        if !self.introduction.is_done() {
            let session = session::binding(&self.quic);
            self.introduction.hear(session, &mut self.heard, self.said.behind())?;
            if !self.introduction.is_done() {
                return Ok(());
            }
            session::open(&mut self.quic);
        }
        while let Some((frame, length)) =
            Frame::read(self.heard.waiting()).map_err(|Malformed| Refused::Forged)?
        {
            self.heard.gone(length);
            match frame {
                Frame::Taken => self.is_taken = true,
                Frame::Report { done, limit } => self.outgoing.report(done, limit),
                Frame::End { messages } => self.end = Some(messages),
                Frame::Through => self.through[1] = true,
            }
        }
        Ok(())
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
