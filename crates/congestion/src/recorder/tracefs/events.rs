//! Converts the kernel's events to states of senders.
//!
//! In the virtual-time kernel, `tcp_probe` shows the whole state (`kernel/patches/07`). What other
//! kernels do not show there is taken from earlier events, or left out.
//!
//! No pointer, socket cookie or process number goes into a state, because they would differ from
//! run to run.

use super::format::Format;
use crate::recorder::Node;
use capture::Time;
use capture::senders::{CongestionState, LOSS_STATE_WORDS, LossState, SenderState};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The events that are enabled.
pub(super) const EVENTS: [&str; 4] =
    ["tcp_probe", "tcp_cong_state_set", "tcp_retransmit_skb", "tcp_destroy_sock"];

/// Linux's `AF_INET6`.
const INET6: u64 = 10;

/// The formats of [`EVENTS`].
#[derive(Debug, Clone)]
pub(super) struct Formats {
    probe: Format,
    state: Format,
    retransmit: Format,
    destroy: Format,
}

/// What is known of a connection from events other than `tcp_probe`.
#[derive(Debug, Clone, Copy)]
struct Known {
    state: CongestionState,
    retransmitted: u32,
}

/// State of a new connection (`tcp_init_sock`). The recorder starts before all connections.
const NEW: Known = Known { state: CongestionState::Open, retransmitted: 0 };

/// The events of all connections.
#[derive(Debug)]
pub(super) struct Events {
    formats: Formats,
    /// Numbers of nodes by their addresses.
    nodes: HashMap<IpAddr, u16>,
    connections: HashMap<(SocketAddr, SocketAddr), Known>,
}

impl Formats {
    /// Reads the formats; `text` returns the `format` file of an event of the group `tcp`.
    pub(super) fn read(text: impl Fn(&str) -> Result<String, String>) -> Result<Self, String> {
        let format = |event: &str, fields: &[&str]| {
            let wrong = |error| format!("cannot use the format of the event tcp/{event}: {error}");
            let format = Format::parse(&text(event)?).map_err(wrong)?;
            format.require(fields).map_err(wrong)?;
            Ok::<_, String>(format)
        };
        let ends = ["family", "sport", "dport", "saddr", "daddr", "saddr_v6", "daddr_v6"];
        let [probe, state, retransmit, destroy] = EVENTS;
        let shown =
            ["saddr", "daddr", "snd_una", "snd_nxt", "snd_cwnd", "ssthresh", "snd_wnd", "rcv_wnd", "srtt"];
        Ok(Self {
            probe: format(probe, &shown)?,
            state: format(state, &[ends.as_slice(), &["cong_state"]].concat())?,
            retransmit: format(retransmit, &ends)?,
            destroy: format(destroy, &ends)?,
        })
    }
}

impl Events {
    /// Creates a converter for the connections of `nodes`.
    pub(super) fn new(formats: Formats, nodes: &[Node]) -> Self {
        let numbered = (0_u16..).zip(nodes);
        let nodes =
            numbered.flat_map(|(number, node)| node.addresses.iter().map(move |each| (*each, number)));
        Self { formats, nodes: nodes.collect(), connections: HashMap::new() }
    }

    /// Takes a record, and returns the state of a sender if it shows one.
    pub(super) fn take(&mut self, time_ns: u64, record: &[u8]) -> Option<SenderState> {
        let id = u16::from_le_bytes(record.get(..2)?.try_into().ok()?);
        let formats = &self.formats;
        if id == formats.probe.id {
            return self.probe(time_ns, record);
        }
        if id == formats.state.id {
            let number = formats.state.number(record, "cong_state")?;
            let state = CongestionState::from_number(number as u8)?;
            self.connection(&self.formats.state.clone(), record)?.state = state;
        } else if id == formats.retransmit.id {
            // Kernels before 6.15 do not show failures.
            let sent = formats.retransmit.number(record, "err").is_none_or(|error| error == 0);
            let known = self.connection(&self.formats.retransmit.clone(), record)?;
            known.retransmitted += u32::from(sent);
        } else if id == formats.destroy.id {
            let ends = ends(&formats.destroy, record)?;
            self.connections.remove(&ends);
        }
        None
    }

    fn connection(&mut self, format: &Format, record: &[u8]) -> Option<&mut Known> {
        Some(self.connections.entry(ends(format, record)?).or_insert(NEW))
    }

    fn probe(&self, time_ns: u64, record: &[u8]) -> Option<SenderState> {
        let format = &self.formats.probe;
        let number = |name| format.number(record, name).map(|number| number as u32);
        let local = socket_address(format.bytes(record, "saddr")?)?;
        let remote = socket_address(format.bytes(record, "daddr")?)?;
        let (snd_una, snd_nxt) = (number("snd_una")?, number("snd_nxt")?);
        // A socket with nothing outstanding is not a sender.
        if snd_una == snd_nxt {
            return None;
        }
        let known = self.connections.get(&(local, remote)).copied().unwrap_or(NEW);
        let cwnd = number("snd_cwnd")?;
        let srtt = number("srtt")?;
        Some(SenderState {
            at: Time::from_nanos(time_ns),
            node: *self.nodes.get(&local.ip())?,
            local,
            remote,
            payload: number("data_len"),
            snd_una,
            snd_nxt,
            cwnd,
            ssthresh: number("snd_ssthresh").or(ssthresh(number("ssthresh")?, cwnd, known.state)),
            // Zero before the first sample.
            srtt_us: (srtt > 0).then_some(srtt),
            rttvar_us: number("rttvar").filter(|_| srtt > 0),
            rto_us: number("rto").map(u64::from),
            state: number("ca_state")
                .map_or(Some(known.state), |state| CongestionState::from_number(state as u8)),
            snd_wnd: number("snd_wnd")?,
            rcv_wnd: number("rcv_wnd")?,
            packets_out: number("packets_out"),
            sacked_out: number("sacked_out"),
            lost_out: number("lost_out"),
            retrans_out: number("retrans_out"),
            retransmitted: number("total_retrans").or(Some(known.retransmitted)),
            delivered: number("delivered"),
            // All bits are set as long as there is no pacing rate.
            pacing_rate: format.number(record, "pacing_rate").filter(|rate| *rate != u64::MAX),
            loss: format.bytes(record, "ca_priv").and_then(private),
        })
    }
}

/// Reads the congestion control's own words; `None` if it is not one of ours.
fn private(bytes: &[u8]) -> Option<LossState> {
    let mut words = [0; LOSS_STATE_WORDS];
    let (numbers, _) = bytes.as_chunks::<4>();
    words.iter_mut().zip(numbers).for_each(|(word, bytes)| *word = u32::from_le_bytes(*bytes));
    LossState::read(&words)
}

/// Returns the threshold behind the one that the kernel shows, which is `tcp_current_ssthresh()`:
/// except in CWR and Recovery, that is at least three quarters of the window.
fn ssthresh(shown: u32, cwnd: u32, state: CongestionState) -> Option<u32> {
    let exact = matches!(state, CongestionState::Cwr | CongestionState::Recovery);
    let three_quarters = (cwnd >> 1) + (cwnd >> 2);
    (exact || shown > three_quarters).then_some(shown)
}

/// Returns the ends of a connection from an event whose addresses are separate fields.
fn ends(format: &Format, record: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    let v6 = format.number(record, "family")? == INET6;
    let end = |v4_name, v6_name, port| {
        let address = if v6 {
            let octets: [u8; 16] = format.bytes(record, v6_name)?.try_into().ok()?;
            IpAddr::V6(Ipv6Addr::from(octets)).to_canonical()
        } else {
            let octets: [u8; 4] = format.bytes(record, v4_name)?.try_into().ok()?;
            IpAddr::V4(Ipv4Addr::from(octets))
        };
        Some(SocketAddr::new(address, format.number(record, port)? as u16))
    };
    Some((end("saddr", "saddr_v6", "sport")?, end("daddr", "daddr_v6", "dport")?))
}

/// Reads a `struct sockaddr_in` or `sockaddr_in6`.
fn socket_address(bytes: &[u8]) -> Option<SocketAddr> {
    let family = u64::from(u16::from_le_bytes(bytes.get(..2)?.try_into().ok()?));
    let port = u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?);
    let address = if family == INET6 {
        let octets: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
        IpAddr::V6(Ipv6Addr::from(octets)).to_canonical()
    } else {
        let octets: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
        IpAddr::V4(Ipv4Addr::from(octets))
    };
    Some(SocketAddr::new(address, port))
}

#[cfg(test)]
mod tests;
