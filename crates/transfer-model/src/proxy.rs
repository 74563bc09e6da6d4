//! A proxy at the access point: TCP ends there, and messages cross the wireless hop.

use crate::rounds::offsets;
use crate::{Hop, Path, TcpSizes, Timeline, Transfer};

/// When a proxy confirms a connection, and when the client sends its request (section 10.2.2; the
/// numbers are those of the thesis).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectMode {
    /// Mode 0: the proxy confirms when its TCP connection is established, and the client then
    /// sends.
    Confirmed,
    /// Mode 1: the proxy confirms at once, and keeps what the client sends until its TCP connection
    /// is established.
    Optimistic,
    /// Mode 2: the client sends its request right behind the one to connect.
    Immediate,
}

impl ConnectMode {
    /// All modes, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Confirmed, Self::Optimistic, Self::Immediate];
}

/// Sizes of the messages over the wireless hop in bytes, with all headers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProxySizes {
    /// The client asks for a connection.
    pub connect: f64,
    /// The proxy confirms it.
    pub confirmation: f64,
    /// The client's request.
    pub request: f64,
    /// A segment of the response.
    pub segment: f64,
}

impl Default for ProxySizes {
    /// Headers as long as those of TCP.
    fn default() -> Self {
        let TcpSizes { acknowledgement, request, segment, .. } = TcpSizes::default();
        Self { connect: acknowledgement, confirmation: acknowledgement, request, segment }
    }
}

/// A proxy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proxy {
    /// Its messages.
    pub messages: ProxySizes,
    /// When it confirms a connection.
    pub mode: ConnectMode,
    /// How the window of its TCP reopens; `None` if it is open whatever the client has taken.
    pub updates: Option<WindowUpdates>,
}

/// The window of the proxy's TCP counts what the client has not taken yet (section 10.2.2): the
/// client reports each segment, and the proxy then sends a window update to the server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowUpdates {
    /// Size of the client's message in bytes.
    pub message: f64,
    /// Size of the window update to the server in bytes.
    pub segment: f64,
}

impl Default for WindowUpdates {
    /// A message as long as an acknowledgement, and the 40 bytes of the thesis.
    fn default() -> Self {
        Self { message: TcpSizes::default().acknowledgement, segment: 40.0 }
    }
}

impl Proxy {
    /// Creates a proxy with messages as long as TCP's packets, and a window that is always open.
    #[must_use]
    pub fn new(mode: ConnectMode) -> Self {
        Self { messages: ProxySizes::default(), mode, updates: None }
    }
}

/// Returns the times of a transfer over a proxy (Eq. 8.5 and 10.3).
///
/// The proxy forwards each segment as soon as it has arrived completely and the wireless hop is
/// free. `transfer.window` is the window of the proxy's TCP.
#[must_use]
pub fn proxy(path: &Path, tcp: &TcpSizes, proxy: &Proxy, transfer: Transfer) -> Timeline {
    let Path { wireless, internet } = *path;
    let Proxy { messages, mode, updates } = proxy;
    let inward = |bytes: f64| wireless.sending(bytes) + wireless.delay;
    let asked = inward(messages.connect);
    let connected =
        asked + internet.sending(tcp.syn) + internet.sending(tcp.syn_acknowledgement) + 2.0 * internet.delay;
    let confirmed = match mode {
        ConnectMode::Confirmed => connected + inward(messages.confirmation),
        ConnectMode::Optimistic => asked + inward(messages.confirmation),
        ConnectMode::Immediate => wireless.sending(messages.connect),
    };
    // The proxy's acknowledgement of the handshake is before the request on the Internet.
    let free = connected + internet.sending(tcp.acknowledgement);
    let sent = free.max(confirmed + inward(messages.request));
    let requested = sent + internet.sending(tcp.request) + internet.delay;
    // So is the server's acknowledgement of the request before the response.
    let start = requested + internet.sending(tcp.acknowledgement);
    let hops = Hops { path: *path, tcp: *tcp, segment: messages.segment };
    let arrivals = match updates {
        None => hops.open(start, transfer),
        Some(updates) => hops.coupled(start, transfer, *updates),
    };
    Timeline { established: confirmed, requested, arrivals }
}

/// Both hops, and what crosses them.
struct Hops {
    path: Path,
    tcp: TcpSizes,
    /// Size of a segment of the response on the wireless hop.
    segment: f64,
}

impl Hops {
    /// Returns the arrivals where the window counts what is on the Internet. The server begins to
    /// send at `start`.
    fn open(&self, start: f64, transfer: Transfer) -> Vec<f64> {
        let Path { wireless, internet } = self.path;
        let spacing = internet.sending(self.tcp.segment);
        let alone = Path { wireless: Hop::NONE, internet };
        let round_trip = alone.round_trip(self.tcp.segment, self.tcp.acknowledgement);
        let first = start + spacing + internet.delay;
        let mut free: f64 = 0.0;
        let forward = |offset: f64| {
            free = free.max(first + offset) + wireless.sending(self.segment);
            free + wireless.delay
        };
        offsets(transfer.segments, transfer.window, round_trip, spacing).into_iter().map(forward).collect()
    }

    /// Returns the arrivals where the window also counts what the client has not reported.
    ///
    /// A segment is sent when the acknowledgement has come that lets the congestion window grow to
    /// it, and the report on the segment one window before it. Reports and acknowledgements do not
    /// wait for each other.
    fn coupled(&self, start: f64, transfer: Transfer, updates: WindowUpdates) -> Vec<f64> {
        let Path { wireless, internet } = self.path;
        let window = transfer.window.max(1) as usize;
        let (mut acknowledged, mut reopened) = (Vec::new(), Vec::new());
        let (mut sent, mut forwarded) = (start, 0.0_f64);
        let mut arrivals = Vec::new();
        for number in 0..transfer.segments as usize {
            // Two segments for each acknowledgement: it is the one of number 0 for 1 and 2.
            let grown = number.div_ceil(2).checked_sub(1).map_or(start, |before| acknowledged[before]);
            let open = number.checked_sub(window).map_or(start, |before| reopened[before]);
            sent = grown.max(open).max(sent) + internet.sending(self.tcp.segment);
            let reached = sent + internet.delay;
            acknowledged.push(reached + internet.sending(self.tcp.acknowledgement) + internet.delay);
            forwarded = forwarded.max(reached) + wireless.sending(self.segment);
            let arrival = forwarded + wireless.delay;
            let report = arrival + wireless.sending(updates.message) + wireless.delay;
            reopened.push(report + internet.sending(updates.segment) + internet.delay);
            arrivals.push(arrival);
        }
        arrivals
    }
}
