//! Report of a server's state: the connected clients, their sockets and counters. As a value, and
//! as text for Prometheus (exposition format 0.0.4).

use crate::Host;
use crate::gate::Usage;
use resoa_carrier::Carrier;
use resoa_carrier::keys::PublicKey;
use resoa_protocol::server::SocketState;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::IpAddr;

/// State of a server at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Time since the start in seconds.
    pub uptime_s: f64,
    /// Whether FINs are held (`Capabilities::fin_hold`).
    pub fin_hold: bool,
    /// Connected clients.
    pub clients: Vec<ClientReport>,
    /// Bytes sent to far hosts since the start.
    pub octets_sent: u64,
    /// Bytes received from far hosts since the start.
    pub octets_received: u64,
    /// Sockets that were created, including connections that arrived.
    pub sockets_made: u64,
    /// Name look-ups requested by clients.
    pub look_ups: u64,
    /// Number of refusals by reason.
    pub refusals: BTreeMap<String, u64>,
    /// Clients that were turned away.
    pub turned_away: u64,
    /// Connections of the last hop that were reset because of a malformed message.
    pub malformed: u64,
    /// Connections of the last hop that were reset because the client did not register.
    pub unregistered: u64,
    /// Times that a listener had no file descriptor left for a connection.
    pub starved: u64,
}

/// State of a client at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientReport {
    /// Name in the policy.
    pub name: String,
    /// Public key; empty if the client's identity is not a key.
    pub key: String,
    /// Source address of its connections; none before it has registered.
    pub address: Option<IpAddr>,
    /// Time since it connected, in seconds.
    pub connected_s: f64,
    /// Number of its sockets by state.
    pub sockets: BTreeMap<String, usize>,
    /// Bytes sent to far hosts.
    pub octets_sent: u64,
    /// Bytes received from far hosts.
    pub octets_received: u64,
    /// Bytes that far hosts have not acknowledged.
    pub octets_outstanding: u64,
    /// Whether the server has stopped reading from it because of too much data in flight.
    pub stopped: bool,
    /// Number of refusals by reason.
    pub refusals: BTreeMap<String, u64>,
    /// Round-trip time of the last hop in microseconds, if known.
    pub round_trip_us: Option<u64>,
    /// Whether messages to it arrive.
    pub healthy: bool,
    /// Parts of messages that were retransmitted.
    pub retransmissions: u64,
}

impl<C: Carrier> Host<C> {
    /// Returns the current state.
    #[must_use]
    pub fn report(&self) -> Report {
        let now = self.origin.elapsed();
        let clients = self.gate.visitors().map(|(connection, visitor)| {
            let census = self.server.census(connection).unwrap_or_default();
            let last_hop = self.carrier.statistics(connection);
            let octets = visitor.identity.0.as_slice();
            ClientReport {
                name: visitor.client.name.clone(),
                key: octets.try_into().map(|octets| PublicKey(octets).to_string()).unwrap_or_default(),
                address: census.address,
                connected_s: now.saturating_sub(visitor.since).as_secs_f64(),
                sockets: census
                    .sockets
                    .iter()
                    .map(|(state, &count)| (state.word().to_owned(), count))
                    .collect(),
                octets_sent: visitor.counts.sent,
                octets_received: visitor.counts.received,
                octets_outstanding: visitor.outstanding,
                stopped: visitor.stopped.is_some(),
                refusals: refusals(&visitor.counts),
                round_trip_us: last_hop.round_trip.map(|time| time.as_micros() as u64),
                healthy: last_hop.healthy,
                retransmissions: last_hop.retransmissions,
            }
        });
        let (counts, incidents) = (self.counts(), self.incidents());
        Report {
            uptime_s: now.as_secs_f64(),
            fin_hold: self.capabilities().fin_hold,
            clients: clients.collect(),
            octets_sent: counts.sent,
            octets_received: counts.received,
            sockets_made: counts.sockets,
            look_ups: counts.look_ups,
            refusals: refusals(&counts),
            turned_away: incidents.turned_away,
            malformed: incidents.malformed,
            unregistered: incidents.unregistered,
            starved: incidents.starved,
        }
    }
}

fn refusals(counts: &Usage) -> BTreeMap<String, u64> {
    counts.refusals.iter().map(|(refusal, &count)| (refusal.word().to_owned(), count)).collect()
}

/// Text for Prometheus, built line by line.
struct Exposition(String);

impl Exposition {
    fn metric(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "# HELP lasthop_resoa_{name} {help}\n# TYPE lasthop_resoa_{name} {kind}\n");
    }

    fn value(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let labels: Vec<_> =
            labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "lasthop_resoa_{name}{labels} {value}");
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.metric(name, kind, help);
        self.value(name, &[], value);
    }
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

impl Report {
    /// Formats the report as text for Prometheus.
    #[must_use]
    pub fn metrics(&self) -> String {
        let mut out = Exposition(String::new());
        out.single("uptime_seconds", "gauge", "Time that the server has been running.", self.uptime_s);
        out.single("fin_hold", "gauge", "Whether FINs of far hosts are held.", u8::from(self.fin_hold));
        let registered = self.clients.iter().filter(|client| client.address.is_some()).count();
        out.single("clients", "gauge", "Clients that have registered.", registered);
        out.metric("sockets", "gauge", "Sockets of all clients, by state.");
        for state in SocketState::ALL {
            let count = |client: &ClientReport| client.sockets.get(state.word()).copied().unwrap_or(0);
            out.value("sockets", &[("state", state.word())], self.clients.iter().map(count).sum::<usize>());
        }
        out.single(
            "sockets_made_total",
            "counter",
            "Sockets created, accepted connections included.",
            self.sockets_made,
        );
        out.metric("octets_total", "counter", "Octets between clients and far hosts.");
        out.value("octets_total", &[("to", "far_hosts")], self.octets_sent);
        out.value("octets_total", &[("to", "clients")], self.octets_received);
        out.single("look_ups_total", "counter", "Name look-ups requested by clients.", self.look_ups);
        out.metric("refusals_total", "counter", "Requests of clients that were refused, by reason.");
        for (reason, count) in &self.refusals {
            out.value("refusals_total", &[("reason", reason)], count);
        }
        out.metric(
            "resets_total",
            "counter",
            "Connections of the last hop that the server has ended, by reason.",
        );
        for (reason, count) in [
            ("turned_away", self.turned_away),
            ("malformed", self.malformed),
            ("unregistered", self.unregistered),
        ] {
            out.value("resets_total", &[("reason", reason)], count);
        }
        out.single(
            "starved_total",
            "counter",
            "Times that a listener had no file descriptor left for a connection.",
            self.starved,
        );
        out.metric("last_hop_round_trip_seconds", "gauge", "Round trip of the last hop.");
        // A client that has connected again is listed twice until its old connection ends. Clients
        // without a verified key may all have the same name. Prometheus refuses a scrape with equal
        // labels as a whole. So only the most recent of several equal ones is reported.
        let mut latest: BTreeMap<_, (f64, u64)> = BTreeMap::new();
        for client in &self.clients {
            if let Some(time) = client.round_trip_us {
                let one = latest.entry((&client.name, &client.key)).or_insert((client.connected_s, time));
                if client.connected_s < one.0 {
                    *one = (client.connected_s, time);
                }
            }
        }
        for ((name, key), (_, time)) in latest {
            let labels = [("client", name.as_str()), ("key", key.as_str())];
            out.value("last_hop_round_trip_seconds", &labels, time as f64 / 1e6);
        }
        out.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each metric has its help and type in front, and names chosen by users are escaped.
    #[test]
    fn metrics_are_an_exposition() {
        let client = ClientReport {
            name: "a \"b\"\\".to_owned(),
            key: "k".to_owned(),
            address: Some([192, 0, 2, 1].into()),
            connected_s: 1.0,
            sockets: [("open".to_owned(), 3)].into(),
            octets_sent: 1,
            octets_received: 2,
            octets_outstanding: 0,
            stopped: false,
            refusals: BTreeMap::new(),
            round_trip_us: Some(20_500),
            healthy: true,
            retransmissions: 0,
        };
        let report = Report {
            uptime_s: 2.5,
            fin_hold: false,
            // The client has connected again, and the server has not given up its old connection.
            clients: vec![
                ClientReport { connected_s: 90.0, round_trip_us: Some(7), ..client.clone() },
                client.clone(),
                ClientReport { connected_s: 50.0, round_trip_us: None, ..client },
            ],
            octets_sent: 10,
            octets_received: 20,
            sockets_made: 4,
            look_ups: 5,
            refusals: [("loopback".to_owned(), 6)].into(),
            turned_away: 7,
            malformed: 8,
            unregistered: 9,
            starved: 0,
        };
        let text = report.metrics();
        for line in [
            "lasthop_resoa_uptime_seconds 2.5",
            "lasthop_resoa_clients 3",
            "lasthop_resoa_sockets{state=\"open\"} 9",
            "lasthop_resoa_sockets{state=\"listening\"} 0",
            "lasthop_resoa_octets_total{to=\"far_hosts\"} 10",
            "lasthop_resoa_refusals_total{reason=\"loopback\"} 6",
            "lasthop_resoa_resets_total{reason=\"malformed\"} 8",
            "lasthop_resoa_last_hop_round_trip_seconds{client=\"a \\\"b\\\"\\\\\",key=\"k\"} 0.0205",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        let mut series: Vec<_> = text.lines().filter_map(|line| Some(line.rsplit_once(' ')?.0)).collect();
        series.retain(|line| !line.starts_with('#'));
        let count = series.len();
        series.sort_unstable();
        series.dedup();
        assert_eq!(series.len(), count, "one value of each\n{text}");
        let mut typed = "";
        for line in text.lines() {
            match line.strip_prefix("# TYPE ") {
                Some(rest) => typed = rest.split_once(' ').expect("a name and a type").0,
                None if line.starts_with('#') => {}
                None => assert!(line.starts_with(typed), "{line} is behind {typed}"),
            }
        }
        let again: Report =
            serde_json::from_str(&serde_json::to_string(&report).expect("JSON")).expect("the same");
        assert_eq!(again, report);
    }
}
