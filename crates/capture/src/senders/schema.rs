//! Schema of the log of sender states, with the columns of its table.

use super::{Header, LossState, SCHEMA, SenderState};
use crate::column::{Cell, Column, ColumnType, column};
use crate::schema::{Contents, Schema};
use crate::table;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

impl Schema for SenderState {
    type Header = Header;
    const CONTENTS: Contents = Contents::Senders;
    const VERSION: u16 = SCHEMA;
    const ASIDE: &'static [&'static str] = &[table::NOTES, table::LOST];

    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        column!("time_ns", at, "when the segment reached TCP, in ns since the start of the run; the state is that before it"),
        column!("node", ColumnType::Text, true, "name of the sender's node",
            |state, header| Cell::text(header.nodes.get(usize::from(state.node)).map(String::as_str)),
            |_, _| {}),
        column!("node_id", node, "number of the sender's node"),
        column!("src", ColumnType::Text, false, "the sender's address",
            |state, _| Cell::Text(state.local.ip().to_string().into()),
            |state, cell| if let Some(address) = cell.parsed() { state.local.set_ip(address) }),
        column!("sport", ColumnType::Bits(16), false, "the sender's port",
            |state, _| Cell::number(state.local.port()),
            |state, cell| state.local.set_port(cell.int())),
        column!("dst", ColumnType::Text, false, "the receiver's address",
            |state, _| Cell::Text(state.remote.ip().to_string().into()),
            |state, cell| if let Some(address) = cell.parsed() { state.remote.set_ip(address) }),
        column!("dport", ColumnType::Bits(16), false, "the receiver's port",
            |state, _| Cell::number(state.remote.port()),
            |state, cell| state.remote.set_port(cell.int())),
        column!("payload_bytes", payload, "payload of the segment that arrived; 0 for a pure ACK"),
        column!("snd_una", snd_una, "first TCP sequence number that is not acknowledged"),
        column!("snd_nxt", snd_nxt, "next TCP sequence number to send"),
        column!("cwnd_segments", cwnd, "congestion window"),
        column!("ssthresh_segments", ssthresh, "slow start threshold; 2147483647 before the first loss; empty where the kernel \
        shows three quarters of the congestion window instead of it (source tracefs of a stock kernel)"),
        column!("srtt_us", srtt_us, "smoothed round-trip time, in us"),
        column!("rttvar_us", rttvar_us, "variation of the round-trip time (RFC 6298: RTTVAR), in us"),
        column!("rto_us", rto_us, "retransmission timeout, in us"),
        column!("state", state, "congestion state: open, disorder, cwr, recovery or loss"),
        column!("snd_wnd_bytes", snd_wnd, "the receiver's window"),
        column!("rcv_wnd_bytes", rcv_wnd, "the window that the sender advertises itself"),
        column!("packets_out", packets_out, "segments sent and not acknowledged"),
        column!("sacked_out", sacked_out, "segments of packets_out that the receiver has, by SACK or duplicate ACKs"),
        column!("lost_out", lost_out, "segments of packets_out that count as lost"),
        column!("retrans_out", retrans_out, "segments of packets_out that were retransmitted"),
        column!("retransmitted", retransmitted, "segments retransmitted since the connection began; with source tracefs of a stock kernel the \
        number of retransmissions"),
        column!("delivered", delivered, "segments delivered since the connection began"),
        column!("pacing_rate_bytes_per_s", pacing_rate, "pacing rate, in bytes a second"),
        column!("cc_algorithm", loss(LossState::NOTHING_YET).algorithm, "congestion control, if it is one of lasthop's; only these fill this column and the following"),
        column!("cc_rtt_us", loss(LossState::NOTHING_YET).rtt_us, "last valid round-trip time, in us"),
        column!("cc_rtt_mean_ns", loss(LossState::NOTHING_YET).mean_ns, "mean of the round-trip times that the detector uses, in ns"),
        column!("cc_rtt_dev_ns", loss(LossState::NOTHING_YET).dev_ns, "their deviation, in ns"),
        column!("cc_samples", loss(LossState::NOTHING_YET).samples, "valid round-trip times so far"),
        column!("cc_least", loss(LossState::NOTHING_YET).least, "shortest round-trip time, in us; biaz, mbiaz: shortest time between segments, in 1/256 us"),
        column!("cc_span", loss(LossState::NOTHING_YET).span, "biaz, mbiaz: time around the last loss, in us; spike: 1 in a spike; veno: backlog, in 1/256 segments"),
        column!("cc_spanned", loss(LossState::NOTHING_YET).spanned, "biaz, mbiaz: segments delivered in cc_span"),
        column!("cc_lost", loss(LossState::NOTHING_YET).n, "lost segments of the last loss event (n)"),
        column!("cc_verdict", loss(LossState::NOTHING_YET).verdict, "how the last loss was classified: wireless or congestion"),
        column!("cc_reason", loss(LossState::NOTHING_YET).reason, "what decided the verdict: detector, no-sample, timeout or local"),
        column!("cc_base_segments", loss(LossState::NOTHING_YET).base, "congestion window before the last loss"),
        column!("cc_limit", loss(LossState::NOTHING_YET).limit, "limit that decided the verdict, in 1/256 of the detector's unit"),
        column!("cc_timeouts", loss(LossState::NOTHING_YET).timeouts, "retransmission timeouts"),
        column!("cc_local", loss(LossState::NOTHING_YET).local, "reductions by the host itself, by ECN or by a tail loss probe"),
        column!("cc_events", loss(LossState::NOTHING_YET).events, "loss events that were judged"),
        column!("cc_wireless", loss(LossState::NOTHING_YET).wireless, "loss events classified as wireless"),
    ];

    fn blank() -> Self {
        let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        Self::nothing_known(nowhere, nowhere)
    }
}
