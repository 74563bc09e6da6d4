//! The receiving side of a connection: begin and end of its session, and the contents of its
//! streams.

use super::{CLOSED, FORGED, Link, TURNED_AWAY};
use crate::quic::introduction::Refused;
use crate::quic::session;
use crate::quic::wire::{Frame, Malformed};
use bytes::Bytes;
use quinn_proto::{ApplicationClose, ConnectionError, Dir, Event, StreamEvent, StreamId};
use resoa_protocol::lhp::DisconnectReason;
use std::time::Instant;

impl Link {
    /// Processes an event of QUIC.
    pub(super) fn happened(&mut self, event: Event, now: Instant) {
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
        self.over(DisconnectReason::Unreachable);
    }

    /// Begins the introduction when a client's session is established.
    fn begin(&mut self) -> Result<(), Refused> {
        let first = self.introduction.begin(session::binding(&self.quic))?;
        if !first.is_empty() {
            self.control = self.quic.streams().open(Dir::Bi);
            self.said.behind().extend(first);
        }
        Ok(())
    }

    fn reason(&mut self, reason: &ConnectionError) -> DisconnectReason {
        match reason {
            ConnectionError::ApplicationClosed(ApplicationClose { error_code, reason }) => {
                match error_code.into_inner().try_into() {
                    // Not authenticated, so anybody may have sent it.
                    _ if !self.introduction.is_done() && !self.introduction.is_turned_away(reason) => {
                        DisconnectReason::Unreachable
                    }
                    Ok(CLOSED) => DisconnectReason::Closed,
                    _ => DisconnectReason::Reset,
                }
            }
            // The server was there, and has lost the connection. Before the introduction this may
            // come from a man in the middle.
            ConnectionError::Reset if self.introduction.is_done() => DisconnectReason::Reset,
            _ => DisconnectReason::Unreachable,
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
            // Its result does not matter: the transmit function is always called afterwards.
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

    /// Processes the control stream.
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
}
