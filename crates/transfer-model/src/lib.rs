//! Arrival of each packet of a response over a wireless hop and an Internet, by end-to-end TCP and
//! by a proxy at the access point, from formulas (Schläger, The Remote Socket Architecture, 2004).
//!
//! ```text
//! client ── wireless hop ── access point (router, or proxy) ── Internet ── server
//! ```
//!
//! * [`end_to_end`]: Eq. 8.4 and 10.2, TCP between client and server.
//! * [`proxy()`]: Eq. 8.5 and 10.3, TCP between proxy and server alone, and messages over the
//!   wireless hop, with three [`ConnectMode`]s.
//! * [`steady_state`]: Eq. 8.3, the rate of a long transfer with losses (Padhye et al.).
//!
//! # Assumptions
//! No losses, no other traffic, unlimited queues, full-duplex hops. No link layer: give its headers
//! as part of the sizes. A hop sends a packet for its size over the bit rate, and then it is on the
//! way for the delay of the hop. TCP acknowledges each segment, its initial window is one segment,
//! and slow start never ends; the window of the receiver limits it. The request is one packet, and
//! the response is whole segments. Hosts take no time, unless a proxy has a [`Handling`].
//!
//! The equations suppose that the window of the proxy's TCP is open whatever waits for the wireless
//! hop. [`WindowUpdates`] makes it count what the client has not taken, as the simulations of the
//! thesis did.
//!
//! # Where it is more exact than the printed equations
//! * Eq. 10.2 neglects that packets meet on a hop: the request behind the acknowledgement of the
//!   handshake, and the first data behind the acknowledgement of the request. Here each waits for
//!   what is before it.
//! * Eq. 8.4 and 8.5 suppose that the pipe is full once the window is as large as the smaller of
//!   the pipe and the receiver's window. With a receiver's window below the pipe it never is: each
//!   round trip then carries one window ([`rounds`]).
//!
//! ```
//! use transfer_model::{ConnectMode, Hop, Path, Proxy, TcpSizes, Transfer, end_to_end, proxy};
//!
//! // Fig. 10.6: seven segments over 384 kbit/s with 100 ms, and 100 Mbit/s with 25 ms.
//! let path = Path { wireless: Hop::new(384e3, 0.1), internet: Hop::new(100e6, 0.025) };
//! let transfer = Transfer { segments: 7, window: 45 };
//! let tcp = end_to_end(&path, &TcpSizes::default(), transfer);
//! let proxied = proxy(&path, &TcpSizes::default(), &Proxy::new(ConnectMode::Confirmed), transfer);
//! assert_eq!((tcp.completion() / proxied.completion() * 100.0).round(), 161.0);
//! ```
#![forbid(unsafe_code)]

mod end_to_end;
mod proxy;
pub mod rounds;
mod steady_state;

pub use end_to_end::end_to_end;
pub use proxy::{ConnectMode, Handling, Proxy, ProxySizes, Report, WindowUpdates, proxy};
pub use steady_state::{SteadyState, steady_state};

/// A hop in both directions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hop {
    /// Bit rate in bit/s; infinite for a hop that takes no time to send.
    pub bits_per_second: f64,
    /// Propagation delay of one direction in seconds.
    pub delay: f64,
}

impl Hop {
    /// A hop that takes no time, for a path of one hop.
    pub const NONE: Self = Self { bits_per_second: f64::INFINITY, delay: 0.0 };

    /// Creates a hop from a bit rate in bit/s and a delay of one direction in seconds.
    #[must_use]
    pub const fn new(bits_per_second: f64, delay: f64) -> Self {
        Self { bits_per_second, delay }
    }

    /// Returns the time that the hop takes to send a packet, in seconds, without the delay.
    #[must_use]
    pub fn sending(&self, bytes: f64) -> f64 {
        8.0 * bytes / self.bits_per_second
    }
}

/// The path between client and server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Path {
    /// Between the client and the access point.
    pub wireless: Hop,
    /// Between the access point and the server.
    pub internet: Hop,
}

impl Path {
    /// Returns the delay of one direction in seconds.
    #[must_use]
    pub fn delay(&self) -> f64 {
        self.wireless.delay + self.internet.delay
    }

    /// Returns the time from the sending of a packet of `there` bytes at one end to the arrival of
    /// its answer of `back` bytes, in seconds, on idle hops.
    #[must_use]
    pub fn round_trip(&self, there: f64, back: f64) -> f64 {
        let hops = [self.wireless, self.internet];
        hops.iter().map(|hop| hop.sending(there) + hop.sending(back) + 2.0 * hop.delay).sum()
    }
}

/// Sizes of TCP's packets in bytes, with the IP header.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TcpSizes {
    /// The client's SYN.
    pub syn: f64,
    /// The server's SYN with acknowledgement.
    pub syn_acknowledgement: f64,
    /// Any other packet without data.
    pub acknowledgement: f64,
    /// The request.
    pub request: f64,
    /// A full segment.
    pub segment: f64,
}

impl Default for TcpSizes {
    /// Those of the thesis: 1448 bytes of data and time stamps, a request of 100 bytes.
    fn default() -> Self {
        let acknowledgement = 52.0;
        Self {
            syn: acknowledgement,
            syn_acknowledgement: acknowledgement,
            acknowledgement,
            request: acknowledgement + 100.0,
            segment: acknowledgement + 1448.0,
        }
    }
}

/// A response, and the window with which it is received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Length of the response in full segments.
    pub segments: u32,
    /// Window of the receiving TCP in full segments, at least 1.
    pub window: u32,
}

/// Times in seconds, from the client's call of `connect`.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// The client may send its request.
    pub established: f64,
    /// The request reaches the server.
    pub requested: f64,
    /// Each segment of the response reaches the client.
    pub arrivals: Vec<f64>,
}

impl Timeline {
    /// Returns the time at which the last segment reaches the client; for an empty response, the
    /// time at which the request reaches the server.
    #[must_use]
    pub fn completion(&self) -> f64 {
        self.arrivals.last().copied().unwrap_or(self.requested)
    }

    /// Returns the throughput in bytes per second (Eq. 8.1): `bytes` of request and response over
    /// the time from `connect` to the last byte.
    #[must_use]
    pub fn throughput(&self, bytes: f64) -> f64 {
        bytes / self.completion()
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
