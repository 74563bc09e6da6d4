//! The columns: name, meaning, and how a state gets into them and out of them again.

pub use crate::rows::{Cell, Column};

use super::{Algorithm, CongestionState, Header, LossState, Reason, SenderState, Verdict};
use crate::rows::{Kind, columns};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// All columns, in their order.
#[rustfmt::skip]
pub const COLUMNS: &[Column<SenderState, Header>] = columns! {
    "time_ns", Kind::Rising, false, "when the segment reached TCP, in ns since the start of the run; the state is that before it",
        |state, _| Cell::time(state.at), |state, cell| state.at = cell.instant();
    "node", Kind::Text, true, "name of the sender's node",
        |state, header| Cell::text(header.nodes.get(usize::from(state.node)).map(String::as_str)), |_, _| {};
    "node_id", Kind::Bits(16), false, "number of the sender's node",
        |state, _| Cell::number(state.node), |state, cell| state.node = cell.int();
    "src", Kind::Text, false, "the sender's address",
        |state, _| Cell::address(Some(state.local.ip())),
        |state, cell| if let Some(address) = cell.parsed() { state.local.set_ip(address) };
    "sport", Kind::Bits(16), false, "the sender's port",
        |state, _| Cell::number(state.local.port()), |state, cell| state.local.set_port(cell.int());
    "dst", Kind::Text, false, "the receiver's address",
        |state, _| Cell::address(Some(state.remote.ip())),
        |state, cell| if let Some(address) = cell.parsed() { state.remote.set_ip(address) };
    "dport", Kind::Bits(16), false, "the receiver's port",
        |state, _| Cell::number(state.remote.port()), |state, cell| state.remote.set_port(cell.int());
    "payload_bytes", Kind::Bits(32), true, "payload of the segment that came; 0 of a pure ACK",
        |state, _| Cell::maybe(state.payload), |state, cell| state.payload = Some(cell.int());
    "snd_una", Kind::Bits(32), false, "first TCP sequence number that is not acknowledged",
        |state, _| Cell::number(state.snd_una), |state, cell| state.snd_una = cell.int();
    "snd_nxt", Kind::Bits(32), false, "next TCP sequence number to send",
        |state, _| Cell::number(state.snd_nxt), |state, cell| state.snd_nxt = cell.int();
    "cwnd_segments", Kind::Bits(32), false, "congestion window",
        |state, _| Cell::number(state.cwnd), |state, cell| state.cwnd = cell.int();
    "ssthresh_segments", Kind::Bits(32), true, "slow start threshold; 2147483647 before the first loss; empty where the kernel \
        shows three quarters of the congestion window instead of it (source tracefs of a stock kernel)",
        |state, _| Cell::maybe(state.ssthresh), |state, cell| state.ssthresh = Some(cell.int());
    "srtt_us", Kind::Bits(32), true, "smoothed round-trip time, in us",
        |state, _| Cell::maybe(state.srtt_us), |state, cell| state.srtt_us = Some(cell.int());
    "rttvar_us", Kind::Bits(32), true, "variation of the round-trip time (RFC 6298: RTTVAR), in us",
        |state, _| Cell::maybe(state.rttvar_us), |state, cell| state.rttvar_us = Some(cell.int());
    "rto_us", Kind::Bits(64), true, "retransmission timeout, in us",
        |state, _| Cell::maybe(state.rto_us), |state, cell| state.rto_us = Some(cell.int());
    "state", Kind::Text, true, "congestion state: open, disorder, cwr, recovery or loss",
        |state, _| Cell::text(state.state.map(CongestionState::name)),
        |state, cell| state.state = CongestionState::from_name(cell.str());
    "snd_wnd_bytes", Kind::Bits(32), false, "the receiver's window",
        |state, _| Cell::number(state.snd_wnd), |state, cell| state.snd_wnd = cell.int();
    "rcv_wnd_bytes", Kind::Bits(32), false, "the window that the sender advertises itself",
        |state, _| Cell::number(state.rcv_wnd), |state, cell| state.rcv_wnd = cell.int();
    "packets_out", Kind::Bits(32), true, "segments sent and not acknowledged",
        |state, _| Cell::maybe(state.packets_out), |state, cell| state.packets_out = Some(cell.int());
    "sacked_out", Kind::Bits(32), true, "segments of packets_out that the receiver has, by SACK or duplicate ACKs",
        |state, _| Cell::maybe(state.sacked_out), |state, cell| state.sacked_out = Some(cell.int());
    "lost_out", Kind::Bits(32), true, "segments of packets_out that count as lost",
        |state, _| Cell::maybe(state.lost_out), |state, cell| state.lost_out = Some(cell.int());
    "retrans_out", Kind::Bits(32), true, "segments of packets_out that were sent again",
        |state, _| Cell::maybe(state.retrans_out), |state, cell| state.retrans_out = Some(cell.int());
    "retransmitted", Kind::Bits(32), true, "segments sent again since the connection began; with source tracefs of a stock kernel how \
        often it sent something again",
        |state, _| Cell::maybe(state.retransmitted), |state, cell| state.retransmitted = Some(cell.int());
    "delivered", Kind::Bits(32), true, "segments delivered since the connection began",
        |state, _| Cell::maybe(state.delivered), |state, cell| state.delivered = Some(cell.int());
    "pacing_rate_bytes_per_s", Kind::Bits(64), true, "pacing rate, in bytes a second",
        |state, _| Cell::maybe(state.pacing_rate), |state, cell| state.pacing_rate = Some(cell.int());
    "cc_algorithm", Kind::Text, true, "congestion control, if it is one of lasthop's; it fills this and the columns behind",
        |state, _| Cell::text(state.loss.map(|loss| loss.algorithm.name())),
        |state, cell| if let Some(algorithm) = Algorithm::from_name(cell.str()) { loss(state).algorithm = algorithm };
    "cc_rtt_us", Kind::Bits(32), true, "last valid round-trip time, in us",
        |state, _| Cell::maybe(state.loss.map(|loss| loss.rtt_us)), |state, cell| loss(state).rtt_us = cell.int();
    "cc_rtt_mean_ns", Kind::Bits(64), true, "mean of the round-trip times as the detector has it, in ns",
        |state, _| Cell::maybe(state.loss.map(|loss| loss.mean_ns)), |state, cell| loss(state).mean_ns = cell.int();
    "cc_rtt_dev_ns", Kind::Bits(64), true, "their deviation, in ns",
        |state, _| Cell::maybe(state.loss.map(|loss| loss.dev_ns)), |state, cell| loss(state).dev_ns = cell.int();
    "cc_samples", Kind::Bits(32), true, "valid round-trip times so far",
        |state, _| Cell::maybe(state.loss.map(|loss| loss.samples)), |state, cell| loss(state).samples = cell.int();
    "cc_least", Kind::Bits(32), true, "least round-trip time, in us; biaz, mbiaz: least time between segments, in 1/256 us",
        |state, _| Cell::maybe(state.loss.map(|loss| loss.least)), |state, cell| loss(state).least = cell.int();
    "cc_span", Kind::Bits(32), true, "biaz, mbiaz: time around the last loss, in us; spike: 1 in a spike; veno: backlog, in 1/256 segments",
        |state, _| Cell::maybe(state.loss.map(|loss| loss.span)), |state, cell| loss(state).span = cell.int();
    "cc_spanned", Kind::Bits(32), true, "biaz, mbiaz: segments delivered in cc_span",
        |state, _| Cell::maybe(state.loss.map(|loss| loss.spanned)), |state, cell| loss(state).spanned = cell.int();
    "cc_lost", Kind::Bits(16), true, "lost segments of the last loss event (n)",
        |state, _| Cell::maybe(state.loss.map(|loss| loss.n)), |state, cell| loss(state).n = cell.int();
    "cc_verdict", Kind::Text, true, "what the last loss was taken for: wireless or congestion",
        |state, _| Cell::text(state.loss.and_then(|loss| loss.verdict).map(Verdict::name)),
        |state, cell| loss(state).verdict = Verdict::from_name(cell.str());
    "cc_reason", Kind::Text, true, "who decided: detector, no-sample, timeout or local",
        |state, _| Cell::text(state.loss.and_then(|loss| loss.reason).map(Reason::name)),
        |state, cell| loss(state).reason = Reason::from_name(cell.str());
    "cc_base_segments", Kind::Bits(32), true, "congestion window that the last loss found",
        |state, _| Cell::maybe(state.loss.map(|loss| loss.base)), |state, cell| loss(state).base = cell.int();
    "cc_limit", Kind::Bits(32), true, "what decided the verdict, in 1/256 of the detector's unit",
        |state, _| Cell::maybe(state.loss.map(|loss| loss.limit)), |state, cell| loss(state).limit = cell.int();
    "cc_timeouts", Kind::Bits(16), true, "retransmission timeouts",
        |state, _| Cell::maybe(state.loss.map(|loss| loss.timeouts)), |state, cell| loss(state).timeouts = cell.int();
    "cc_local", Kind::Bits(16), true, "reductions by the host itself, by ECN or by a tail loss probe",
        |state, _| Cell::maybe(state.loss.map(|loss| loss.local)), |state, cell| loss(state).local = cell.int();
    "cc_events", Kind::Bits(32), true, "loss events that were judged",
        |state, _| Cell::maybe(state.loss.map(|loss| loss.events)), |state, cell| loss(state).events = cell.int();
    "cc_wireless", Kind::Bits(32), true, "those taken for wireless",
        |state, _| Cell::maybe(state.loss.map(|loss| loss.wireless)), |state, cell| loss(state).wireless = cell.int();
};

/// The state of the congestion control in a row of which a column was read.
fn loss(state: &mut SenderState) -> &mut LossState {
    state.loss.get_or_insert(LossState::NOTHING_YET)
}

/// What a row is before any column was read.
pub(super) fn blank() -> SenderState {
    let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    SenderState::nothing_known(nowhere, nowhere)
}
