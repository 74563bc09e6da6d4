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
    /// A message to the client between the segments; `None` if there is none.
    pub report: Option<Report>,
    /// Time that the hosts take.
    pub handling: Handling,
}

/// A message of the proxy to the client that is no part of the response, such as the report that
/// the server has acknowledged the request (section 10.2.2). Segments wait behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Report {
    /// Number of segments that the proxy hands to the wireless hop before it.
    pub behind: usize,
    /// When the proxy hands it to the wireless hop, in seconds from the client's call of `connect`.
    pub at: f64,
    /// Its size in bytes, with all headers.
    pub bytes: f64,
}

/// Time that proxy and client take for a message, in seconds. The equations of the thesis neglect
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Handling {
    /// Proxy: from the client's wish to connect to the SYN.
    pub connect: f64,
    /// Proxy: from the answer to the SYN to the confirmation.
    pub confirmation: f64,
    /// Client: from the confirmation to the request.
    pub client: f64,
    /// Proxy: from the client's request to that to the server.
    pub request: f64,
    /// Proxy: from a segment to its message.
    pub segment: f64,
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
        let (updates, report) = (None, None);
        Self { messages: ProxySizes::default(), mode, updates, report, handling: Handling::default() }
    }
}

/// Returns the times of a transfer over a proxy (Eq. 8.5 and 10.3).
///
/// The proxy forwards each segment as soon as it has arrived completely and the wireless hop is
/// free. `transfer.window` is the window of the proxy's TCP.
#[must_use]
pub fn proxy(path: &Path, tcp: &TcpSizes, proxy: &Proxy, transfer: Transfer) -> Timeline {
    let Path { wireless, internet } = *path;
    let Proxy { messages, mode, updates, report, handling } = proxy;
    let inward = |bytes: f64| wireless.sending(bytes) + wireless.delay;
    let asked = inward(messages.connect);
    let connected = asked
        + handling.connect
        + internet.sending(tcp.syn)
        + internet.sending(tcp.syn_acknowledgement)
        + 2.0 * internet.delay;
    let confirmed = match mode {
        ConnectMode::Confirmed => connected + handling.confirmation + inward(messages.confirmation),
        ConnectMode::Optimistic => asked + inward(messages.confirmation),
        ConnectMode::Immediate => wireless.sending(messages.connect),
    };
    // The proxy's acknowledgement of the handshake is before the request on the Internet.
    let free = connected + internet.sending(tcp.acknowledgement);
    let sent = free.max(confirmed + handling.client + inward(messages.request) + handling.request);
    let requested = sent + internet.sending(tcp.request) + internet.delay;
    // So is the server's acknowledgement of the request before the response.
    let start = requested + internet.sending(tcp.acknowledgement);
    let (segment, handling, report) = (messages.segment, handling.segment, *report);
    let hops = Hops { path: *path, tcp: *tcp, segment, handling, report };
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
    /// Time that the proxy takes for a segment.
    handling: f64,
    report: Option<Report>,
}

/// The wireless hop towards the client.
struct Forwarding {
    hop: Hop,
    /// When it has sent what it was given.
    free: f64,
    /// Number of segments that it was given.
    segments: usize,
    report: Option<Report>,
}

impl Forwarding {
    /// Returns when a segment that the hop is given `at` this time reaches the client. What came
    /// before it is sent first.
    fn carry(&mut self, at: f64, bytes: f64) -> f64 {
        if let Some(report) = self.report.take_if(|report| report.behind <= self.segments) {
            self.free = self.free.max(report.at) + self.hop.sending(report.bytes);
        }
        self.segments += 1;
        self.free = self.free.max(at) + self.hop.sending(bytes);
        self.free + self.hop.delay
    }
}

impl Hops {
    fn forwarding(&self, hop: Hop) -> Forwarding {
        Forwarding { hop, free: 0.0, segments: 0, report: self.report }
    }

    /// Returns the arrivals where the window counts what is on the Internet. The server begins to
    /// send at `start`.
    fn open(&self, start: f64, transfer: Transfer) -> Vec<f64> {
        let Path { wireless, internet } = self.path;
        let spacing = internet.sending(self.tcp.segment);
        let alone = Path { wireless: Hop::NONE, internet };
        let round_trip = alone.round_trip(self.tcp.segment, self.tcp.acknowledgement);
        let first = start + spacing + internet.delay;
        let mut forwarding = self.forwarding(wireless);
        let forward = |offset: f64| forwarding.carry(first + offset + self.handling, self.segment);
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
        let (mut sent, mut forwarding) = (start, self.forwarding(wireless));
        let mut arrivals = Vec::new();
        for number in 0..transfer.segments as usize {
            // Two segments for each acknowledgement: it is the one of number 0 for 1 and 2.
            let grown = number.div_ceil(2).checked_sub(1).map_or(start, |before| acknowledged[before]);
            let open = number.checked_sub(window).map_or(start, |before| reopened[before]);
            sent = grown.max(open).max(sent) + internet.sending(self.tcp.segment);
            let reached = sent + internet.delay;
            acknowledged.push(reached + internet.sending(self.tcp.acknowledgement) + internet.delay);
            let arrival = forwarding.carry(reached + self.handling, self.segment);
            let report = arrival + wireless.sending(updates.message) + wireless.delay;
            reopened.push(report + internet.sending(updates.segment) + internet.delay);
            arrivals.push(arrival);
        }
        arrivals
    }
}
