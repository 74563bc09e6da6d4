//! The receiver: takes packets, runs all five phases in order, returns verdicts.

use crate::connections::{Connection, Connections};
use crate::detect::{Arrival, Detection};
use crate::localize::localize;
use crate::risk::{self, Localized};
use crate::{
    Counters, Handshake, Mode, Parameters, Ranges, Reason, SegmentVerdict, Sockets, Track, Tuple, salvage,
    thesis,
};
use packet::{Field, TcpHeader};

/// The receiving host's side of TCP Lite: the connections that it knows, and its counters.
#[derive(Debug, Clone)]
pub struct Receiver {
    parameters: Parameters,
    connections: Connections,
    counters: Counters,
}

/// The verdict on a segment, and the connection that counts it.
type Outcome = (SegmentVerdict, Option<Tuple>);

impl Receiver {
    /// Creates a receiver that knows no connections.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self { parameters, connections: Connections::default(), counters: Counters::default() }
    }

    /// Records that a connection was established.
    pub fn open(&mut self, connection: Tuple, handshake: Handshake, lite: bool) {
        let track = Track::established(&handshake, lite, &self.parameters);
        self.connections.insert(connection, track, Some(handshake.rcv_nxt));
    }

    /// Records that the application switched Lite on or off when its socket expected `rcv_nxt`.
    ///
    /// If Lite is switched on late, what was known is no longer believed, because segments have
    /// passed unseen. It stays valid only if no data have arrived since the handshake. A connection
    /// that was not opened here becomes known by this call.
    pub fn switch(&mut self, connection: Tuple, lite: bool, rcv_nxt: u32) {
        let Some(Connection { track, first, .. }) = self.connections.get_mut(&connection) else {
            let track = Track::unknown(rcv_nxt, lite, &self.parameters);
            self.connections.insert(connection, track, None);
            return;
        };
        if lite && !track.lite && *first != Some(rcv_nxt) {
            track.restart(rcv_nxt);
        }
        track.lite = lite;
        self.connections.recount(connection.pair);
    }

    /// Forgets a connection that has ended.
    pub fn close(&mut self, connection: &Tuple) {
        self.connections.remove(connection);
    }

    /// Returns what is remembered of a connection.
    #[must_use]
    pub fn track(&self, connection: &Tuple) -> Option<&Track> {
        self.connections.get(connection).map(|connection| &connection.track)
    }

    /// Returns the parts of a connection's stream that may be damaged (TL-06).
    #[must_use]
    pub fn ranges(&self, connection: &Tuple) -> Option<&Ranges> {
        self.connections.get(connection).map(|connection| &connection.ranges)
    }

    /// Returns the counters of one connection: of the segments that could be assigned to it.
    #[must_use]
    pub fn connection_counters(&self, connection: &Tuple) -> Option<&Counters> {
        self.connections.get(connection).map(|connection| &connection.counters)
    }

    /// Returns the counters of all segments.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Judges one IP packet, and repairs it if the verdict is [`SegmentVerdict::Accept`]. Otherwise
    /// the bytes stay unchanged.
    ///
    /// `bytes` starts with the IP header. `merged` is the payload size of the parts if the kernel
    /// merged several segments into this one, which means that it has verified them. `now` is in
    /// nanoseconds of any clock that does not go back.
    pub fn packet(
        &mut self,
        bytes: &mut [u8],
        merged: Option<u16>,
        now: u64,
        sockets: &impl Sockets,
    ) -> SegmentVerdict {
        let Some(arrival) = Arrival::read(bytes, merged.is_some()) else { return SegmentVerdict::NotOurs };
        let segment = &mut bytes[arrival.segment.clone()];
        let (verdict, counted_for) = match self.parameters.mode {
            Mode::Recovery => self.recover(&arrival, segment, merged, now, sockets),
            Mode::Thesis => self.trust(&arrival, segment, merged, sockets),
        };
        self.counters.count(verdict);
        if let Some(connection) = counted_for.and_then(|tuple| self.connections.get_mut(&tuple)) {
            connection.counters.count(verdict);
        }
        verdict
    }

    /// Recovery mode: phases 1 and 2, then the repair.
    fn recover(
        &mut self,
        arrival: &Arrival,
        segment: &mut [u8],
        merged: Option<u16>,
        now: u64,
        sockets: &impl Sockets,
    ) -> Outcome {
        if !self.connections.has_lite(arrival.pair) {
            return (SegmentVerdict::NotOurs, None);
        }
        let Some(header) = TcpHeader::read(segment) else {
            return (SegmentVerdict::Discard(Reason::Short), None);
        };
        let named = named(arrival, &header);
        let mut exact = self.connections.get_mut(&named);
        if exact.as_ref().is_some_and(|connection| !connection.track.lite) {
            return (SegmentVerdict::NotLite, None);
        }
        let counted_for = exact.is_some().then_some(named);
        let detection = match merged {
            Some(_) if exact.is_none() => return (SegmentVerdict::NotOurs, None),
            Some(_) => Detection::Right,
            None => arrival.detect(&header, segment),
        };
        match detection {
            Detection::Right => {
                if let Some(connection) = &mut exact {
                    connection.track.learn(segment, merged, &self.parameters);
                }
                return (SegmentVerdict::Pass, counted_for);
            }
            Detection::Partial => return (SegmentVerdict::Unverifiable, counted_for),
            Detection::Wrong if !arrival.is_ip_right => {
                return (SegmentVerdict::Discard(Reason::Ip), counted_for);
            }
            Detection::Wrong => {}
        }

        let is_approximate = exact.is_none();
        let found = if is_approximate {
            let (lite, crowded) =
                (self.connections.lite(arrival.pair), self.connections.is_crowded(arrival.pair));
            localize(&named, &header, lite, crowded, &self.parameters)
        } else {
            Ok(named)
        };
        let connection = match found {
            Ok(connection) => connection,
            Err(reason) => return (SegmentVerdict::Discard(reason), None),
        };
        let Some(view) = sockets.view(&connection) else {
            // The connection ended unseen.
            self.connections.remove(&connection);
            return (SegmentVerdict::Discard(Reason::NoConnection), None);
        };
        if !view.settings.on {
            return (SegmentVerdict::Discard(Reason::NoConnection), Some(connection));
        }
        let damaged = Localized { connection, is_approximate, header, segment, arrival, view };
        let repair = match self.weigh(&damaged, now) {
            Ok(repair) => repair,
            Err(reason) => return (SegmentVerdict::Discard(reason), Some(connection)),
        };
        salvage::write(&repair.header, repair.acceptance.confirmed, arrival, segment);
        (SegmentVerdict::Accept(repair.acceptance), Some(connection))
    }

    /// Phase 3: assesses the repair, and updates what is remembered if it will be made.
    fn weigh(&mut self, damaged: &Localized<'_>, now: u64) -> Result<risk::Repair, Reason> {
        let known = self.connections.get_mut(&damaged.connection);
        let Connection { track, ranges, .. } = known.ok_or(Reason::NoConnection)?;
        track.catch_up(&damaged.view);
        let repair = risk::assess(damaged, track, &self.parameters, now)?;
        track.advance(repair.header.fixed.get(Field::Sequence), repair.len, self.parameters.window);
        if repair.acceptance.confirmed {
            track.learn_confirmed(&repair.header.options);
        }
        if let Some(range) = repair.damaged.clone() {
            ranges.note(range);
        }
        Ok(repair)
    }

    /// Thesis mode.
    fn trust(
        &mut self,
        arrival: &Arrival,
        segment: &mut [u8],
        merged: Option<u16>,
        sockets: &impl Sockets,
    ) -> Outcome {
        let Some(header) = TcpHeader::read(segment) else { return (SegmentVerdict::NotOurs, None) };
        let named = named(arrival, &header);
        match arrival.detect(&header, segment) {
            _ if merged.is_some() => return (SegmentVerdict::Pass, Some(named)),
            Detection::Right => return (SegmentVerdict::Pass, Some(named)),
            Detection::Partial => return (SegmentVerdict::Unverifiable, Some(named)),
            Detection::Wrong => {}
        }
        let (verdict, damaged) = thesis::judge(&named, &header, segment.len(), arrival, sockets);
        if matches!(verdict, SegmentVerdict::Accept(_)) {
            arrival.complete(segment);
        }
        if let (Some(range), Some(connection)) = (damaged, self.connections.get_mut(&named)) {
            connection.ranges.note(range);
        }
        (verdict, Some(named))
    }
}

/// Returns the connection that the ports of a segment name.
fn named(arrival: &Arrival, header: &TcpHeader) -> Tuple {
    arrival.pair.tuple(header.get(Field::SourcePort) as u16, header.get(Field::DestinationPort) as u16)
}

#[cfg(test)]
mod tests;
