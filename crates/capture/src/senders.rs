//! States of TCP senders at every acknowledgement: schema version 1, log, table.
//!
//! A row is the state of a sender with unacknowledged data when a segment reached it, *before* it
//! processed the segment. The effect of an ACK is therefore in the row of the next one. The
//! kernel's tracepoint `tcp_probe` shows the same, and like it, rows exist for established
//! connections only. In the virtual-time kernel they also exist after one side has closed
//! (FIN-WAIT-1, CLOSE-WAIT, CLOSING, LAST-ACK), until all data is acknowledged.
//!
//! The meaning of a version is fixed for ever. Columns may be added within a version; readers skip
//! unknown ones. During a run records are appended to a [`crate::log`], and
//! [`crate::table::convert`] makes the Parquet file of it.

mod loss_state;
mod schema;

pub use loss_differentiation::{LossVerdict, Reason};
pub use loss_state::{Algorithm, LossState, WORDS as LOSS_STATE_WORDS};

use crate::units::{Time, WallTime};
use crate::{log, table};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Reader of the table.
pub type Reader<R> = table::Reader<SenderState, R>;
/// Writer of the table.
pub type Writer<W> = table::Writer<SenderState, W>;
/// Reader of the log.
pub type LogReader<R> = log::Reader<SenderState, R>;
/// Writer of the log.
pub type LogWriter<W> = log::Writer<SenderState, W>;
/// A record of the log after its header.
pub type Record = log::Record<SenderState>;

/// Version of the schema that this crate writes.
pub const SCHEMA: u16 = 1;

/// Value of a slow start threshold that is not set (`TCP_INFINITE_SSTHRESH` of Linux).
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// The run, and how the states were observed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the schema: [`SCHEMA`] when written by this crate.
    pub schema: u16,
    /// Version of the program that wrote this.
    pub lasthop: String,
    /// Wall-clock time of the run's [`Time::ZERO`].
    pub started: WallTime,
    /// The campaign's seed.
    pub seed: u64,
    /// Source of the states: `ebpf tp_btf/tcp_probe` or `tracefs tcp/tcp_probe`.
    pub source: String,
    /// Names of the nodes, in the order of their numbers.
    pub nodes: Vec<String>,
}

/// Congestion state of a sender (`enum tcp_ca_state` of Linux).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CongestionState {
    /// No sign of loss.
    Open,
    /// Duplicate ACKs or SACKs arrived.
    Disorder,
    /// The window is being reduced because of ECN or a full local queue.
    Cwr,
    /// Fast recovery: segments were lost and are being retransmitted.
    Recovery,
    /// The retransmission timer expired.
    Loss,
}

impl CongestionState {
    /// All states, in the order of the kernel's numbers.
    pub const ALL: [Self; 5] = [Self::Open, Self::Disorder, Self::Cwr, Self::Recovery, Self::Loss];

    /// Returns the state with the kernel's number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Returns its name in tables: `open`, `disorder`, `cwr`, `recovery`, `loss`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Disorder => "disorder",
            Self::Cwr => "cwr",
            Self::Recovery => "recovery",
            Self::Loss => "loss",
        }
    }

    /// Returns the state with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// State of a sender when a segment reached it. A field is `None` if the source does not show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderState {
    /// When the segment reached TCP.
    pub at: Time,
    /// Number of the sender's node.
    pub node: u16,
    /// The sender's address and port.
    pub local: SocketAddr,
    /// The receiver's address and port.
    pub remote: SocketAddr,
    /// Payload of the segment in bytes; 0 for a pure ACK.
    pub payload: Option<u32>,
    /// First sequence number that is not acknowledged.
    pub snd_una: u32,
    /// Next sequence number to send.
    pub snd_nxt: u32,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow start threshold in segments; [`INFINITE_SSTHRESH`] before the first loss.
    pub ssthresh: Option<u32>,
    /// Smoothed round-trip time in microseconds.
    pub srtt_us: Option<u32>,
    /// Variation of the round-trip time in microseconds, as in TCP_INFO (RFC 6298: RTTVAR).
    pub rttvar_us: Option<u32>,
    /// Retransmission timeout in microseconds.
    pub rto_us: Option<u64>,
    /// Congestion state.
    pub state: Option<CongestionState>,
    /// The receiver's window in bytes.
    pub snd_wnd: u32,
    /// The window that this end advertises, in bytes.
    pub rcv_wnd: u32,
    /// Segments that were sent and are not acknowledged.
    pub packets_out: Option<u32>,
    /// Segments of `packets_out` that the receiver has, by SACK or duplicate ACKs.
    pub sacked_out: Option<u32>,
    /// Segments of `packets_out` that count as lost.
    pub lost_out: Option<u32>,
    /// Segments of `packets_out` that were retransmitted.
    pub retrans_out: Option<u32>,
    /// Segments retransmitted since the connection began.
    pub retransmitted: Option<u32>,
    /// Segments delivered since the connection began.
    pub delivered: Option<u32>,
    /// Pacing rate in bytes a second.
    pub pacing_rate: Option<u64>,
    /// Measurements and loss classification, if the congestion control is one of lasthop's.
    pub loss: Option<LossState>,
}

impl SenderState {
    /// State of a sender at the start of the run, with nothing sent and all optional fields
    /// unknown.
    #[must_use]
    pub const fn nothing_known(local: SocketAddr, remote: SocketAddr) -> Self {
        Self {
            at: Time::ZERO,
            node: 0,
            local,
            remote,
            payload: None,
            snd_una: 0,
            snd_nxt: 0,
            cwnd: 0,
            ssthresh: None,
            srtt_us: None,
            rttvar_us: None,
            rto_us: None,
            state: None,
            snd_wnd: 0,
            rcv_wnd: 0,
            packets_out: None,
            sacked_out: None,
            lost_out: None,
            retrans_out: None,
            retransmitted: None,
            delivered: None,
            pacing_rate: None,
            loss: None,
        }
    }

    /// Returns the number of segments in the network as TCP estimates it (RFC 6675's pipe):
    /// `packets_out - sacked_out - lost_out + retrans_out`.
    #[must_use]
    pub fn in_flight(&self) -> Option<u32> {
        let left = self.sacked_out?.saturating_add(self.lost_out?);
        Some(self.packets_out?.saturating_sub(left).saturating_add(self.retrans_out?))
    }
}

#[cfg(test)]
mod tests;
