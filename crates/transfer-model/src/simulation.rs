//! A packet-by-packet simulation of the same transfers, which the formulas must agree with: each
//! hop sends packets one after the other in the order of their arrival, and TCP counts its window.

use crate::{ConnectMode, Hop, Path, ProxySizes, TcpSizes, Transfer};

/// One direction of a hop.
struct Line {
    hop: Hop,
    free: f64,
}

impl Line {
    fn new(hop: Hop) -> Self {
        Self { hop, free: 0.0 }
    }

    /// Returns when a packet that arrives `at` this time reaches the other end.
    fn carry(&mut self, at: f64, bytes: f64) -> f64 {
        self.free = self.free.max(at) + self.hop.sending(bytes);
        self.free + self.hop.delay
    }
}

/// Lines in the order in which packets cross them.
fn carry(lines: &mut [&mut Line], at: f64, bytes: f64) -> f64 {
    lines.iter_mut().fold(at, |at, line| line.carry(at, bytes))
}

/// A window of TCP: `send` is called with the time of each segment and returns that of its
/// acknowledgement.
fn transmit(start: f64, transfer: Transfer, mut send: impl FnMut(f64) -> f64) {
    // Acknowledgements arrive in order, each of which lets the window grow by a segment.
    let mut acknowledgements = std::collections::VecDeque::new();
    let (mut now, mut count, mut acknowledged) = (start, 0, 0);
    while count < transfer.segments {
        let window = (1 + acknowledged).min(transfer.window);
        while count < transfer.segments && count - acknowledged < window {
            acknowledgements.push_back(send(now));
            count += 1;
        }
        let Some(next) = acknowledgements.pop_front() else { return };
        (now, acknowledged) = (next, acknowledged + 1);
    }
}

/// Arrivals by TCP between client and server.
pub fn end_to_end(path: &Path, sizes: &TcpSizes, transfer: Transfer) -> Vec<f64> {
    let (mut up_air, mut up_net) = (Line::new(path.wireless), Line::new(path.internet));
    let (mut down_net, mut down_air) = (Line::new(path.internet), Line::new(path.wireless));
    let at = carry(&mut [&mut up_air, &mut up_net], 0.0, sizes.syn);
    let at = carry(&mut [&mut down_net, &mut down_air], at, sizes.syn_acknowledgement);
    // Each line sends the acknowledgement before the request.
    let (acknowledged, requested) =
        (up_air.carry(at, sizes.acknowledgement), up_air.carry(at, sizes.request));
    up_net.carry(acknowledged, sizes.acknowledgement);
    let at = up_net.carry(requested, sizes.request);
    let first = down_net.carry(at, sizes.acknowledgement);
    down_air.carry(first, sizes.acknowledgement);
    let mut arrivals = Vec::new();
    transmit(at, transfer, |now| {
        let arrival = carry(&mut [&mut down_net, &mut down_air], now, sizes.segment);
        arrivals.push(arrival);
        carry(&mut [&mut up_air, &mut up_net], arrival, sizes.acknowledgement)
    });
    arrivals
}

/// Arrivals over a proxy.
pub fn proxy(
    path: &Path,
    tcp: &TcpSizes,
    messages: &ProxySizes,
    mode: ConnectMode,
    transfer: Transfer,
) -> Vec<f64> {
    let (mut up_air, mut up_net) = (Line::new(path.wireless), Line::new(path.internet));
    let (mut down_net, mut down_air) = (Line::new(path.internet), Line::new(path.wireless));
    let asked = up_air.carry(0.0, messages.connect);
    let connected = up_net.carry(asked, tcp.syn);
    let connected = down_net.carry(connected, tcp.syn_acknowledgement);
    let sent = match mode {
        ConnectMode::Confirmed => down_air.carry(connected, messages.confirmation),
        ConnectMode::Optimistic => down_air.carry(asked, messages.confirmation),
        ConnectMode::Immediate => 0.0,
    };
    let request = up_air.carry(sent, messages.request).max(connected);
    up_net.carry(connected, tcp.acknowledgement);
    let at = up_net.carry(request, tcp.request);
    down_net.carry(at, tcp.acknowledgement);
    let mut arrivals = Vec::new();
    transmit(at, transfer, |now| {
        let reached = down_net.carry(now, tcp.segment);
        arrivals.push(down_air.carry(reached, messages.segment));
        up_net.carry(reached, tcp.acknowledgement)
    });
    arrivals
}
