//! The states of TCP senders at every acknowledgement: schema version 1, log, table.
//!
//! A row is the state in which a sender with unacknowledged data was when a segment reached it,
//! *before* it took the segment in: what an ACK changes is in the row of the next one. It is what
//! the kernel's tracepoint `tcp_probe` shows, and like that it is there for established connections
//! alone: a sender that was closed by its program while data is on the way (FIN-WAIT-1) shows no
//! more states.
//!
//! What a version means is fixed for ever; a column may be added within a version, and readers pass
//! over what they do not know. During a run records are appended to a [`crate::log`], and
//! [`crate::table::convert`] makes the Parquet file of it.

mod loss_state;
mod schema;

pub use loss_differentiation::{Reason, Verdict};
pub use loss_state::{Algorithm, LossState, WORDS as LOSS_STATE_WORDS};

use crate::units::{Time, WallTime};
use crate::{log, table};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// The reader of the table.
pub type Reader<R> = table::Reader<SenderState, R>;
/// The writer of the table.
pub type Writer<W> = table::Writer<SenderState, W>;
/// The reader of the log.
pub type LogReader<R> = log::Reader<SenderState, R>;
/// The writer of the log.
pub type LogWriter<W> = log::Writer<SenderState, W>;
/// One record of the log behind its header.
pub type Record = log::Record<SenderState>;

/// Version of the schema that this crate writes.
pub const SCHEMA: u16 = 1;

/// Value of a slow start threshold that was not set yet (`TCP_INFINITE_SSTHRESH` of Linux).
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// The run, and how the states were observed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the schema: [`SCHEMA`] when written by this crate.
    pub schema: u16,
    /// Version of the program that wrote this.
    pub lasthop: String,
    /// [`Time::ZERO`] of the run on the wall.
    pub started: WallTime,
    /// The campaign's seed.
    pub seed: u64,
    /// What the states come from: `ebpf tp_btf/tcp_probe`, `tracefs tcp/tcp_probe`.
    pub source: String,
    /// Names of the nodes, in the order of their numbers.
    pub nodes: Vec<String>,
}

/// Congestion state of a sender (`enum tcp_ca_state` of Linux).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CongestionState {
    /// Nothing is amiss.
    Open,
    /// Duplicate ACKs or SACKs came.
    Disorder,
    /// The window is being reduced because of ECN or a full local queue.
    Cwr,
    /// Fast recovery: segments were lost and are sent again.
    Recovery,
    /// The retransmission timer ran out.
    Loss,
}

impl CongestionState {
    /// All, in the order of the kernel's numbers.
    pub const ALL: [Self; 5] = [Self::Open, Self::Disorder, Self::Cwr, Self::Recovery, Self::Loss];

    /// The state with the kernel's number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Its name in tables: `open`, `disorder`, `cwr`, `recovery`, `loss`.
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

    /// The state of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// The state of one sender at one segment that reached it. `None` is what the source does not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderState {
    /// When the segment reached TCP.
    pub at: Time,
    /// Number of the sender's node.
    pub node: u16,
    /// The sender's end.
    pub local: SocketAddr,
    /// The receiver's end.
    pub remote: SocketAddr,
    /// Payload of the segment in bytes; 0 of a pure ACK.
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
    /// Variation of the round-trip time in microseconds, as TCP_INFO has it (RFC 6298: RTTVAR).
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
    /// Segments of these that the receiver has, by SACK or duplicate ACKs.
    pub sacked_out: Option<u32>,
    /// Segments of these that count as lost.
    pub lost_out: Option<u32>,
    /// Segments of these that were sent again and are not acknowledged.
    pub retrans_out: Option<u32>,
    /// Segments sent again since the connection began.
    pub retransmitted: Option<u32>,
    /// Segments delivered since the connection began.
    pub delivered: Option<u32>,
    /// Pacing rate in bytes a second.
    pub pacing_rate: Option<u64>,
    /// What its congestion control measures and takes losses for, if it is one of ours.
    pub loss: Option<LossState>,
}

impl SenderState {
    /// The sender of a connection at the start of the run, with nothing sent, of which nothing else
    /// is known.
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

    /// Segments in the network as TCP estimates them (RFC 6675's pipe):
    /// `packets_out - sacked_out - lost_out + retrans_out`.
    #[must_use]
    pub fn in_flight(&self) -> Option<u32> {
        let left = self.sacked_out?.saturating_add(self.lost_out?);
        Some(self.packets_out?.saturating_sub(left).saturating_add(self.retrans_out?))
    }
}

#[cfg(test)]
mod tests;
