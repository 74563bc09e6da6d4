//! A plan as it is written: the fields of the TOML and what they mean. The schema for editors is
//! made from these types.
//!
//! Everything that may differ between cells is [`Text`]: `{name}` in it stands for the level of a
//! factor or a variable of that level.

use super::text::Text;
use results::Expectation;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;
use std::collections::BTreeMap;

/// A plan for `lasthop run`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PlanFile {
    /// What it is, in a line.
    #[serde(default)]
    pub title: String,
    /// What it asks, and how to read the answer.
    #[serde(default)]
    pub description: String,
    /// Seed of everything random; another with `--seed`. Drawn, and written down, if absent.
    pub seed: Option<u64>,
    /// Repetitions of each cell (default 1); another number with `--repetitions`.
    pub repetitions: Option<u32>,
    /// Repetitions of each cell that `lasthop gate` makes at most to decide the requirements
    /// (default: four times `repetitions`); another number with `--max-repetitions`.
    pub max_repetitions: Option<u32>,
    /// Name of the workload that figures are about; the first one that is not in the background if
    /// absent.
    pub measure: Option<Text>,
    /// What is varied: the cells are all combinations of levels.
    #[serde(default)]
    pub factors: Vec<FactorFile>,
    /// Nodes and links.
    pub scenario: ScenarioFile,
    /// Traffic.
    pub workloads: Vec<WorkloadFile>,
    /// What is captured, and what of it is kept.
    #[serde(default)]
    pub capture: CaptureFile,
    /// When a run is over besides by its workloads.
    #[serde(default)]
    pub stop: StopFile,
    /// Figures of the literature to print ours beside.
    #[serde(default)]
    #[schemars(with = "Vec<serde_json::Value>")]
    pub expect: Vec<Expectation>,
    /// What `lasthop gate` requires of the figures.
    #[serde(default)]
    #[schemars(with = "Vec<RequireFile>")]
    pub require: Vec<Spanned<RequireFile>>,
}

/// A requirement: in each selected cell, a statistic of a metric reaches a bound.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RequireFile {
    /// What it is, in a line: the name of the test in reports.
    pub title: Text,
    /// The metric: `goodput`, `completion`, `retransmission-rate`, `timeouts`, `rtt-p95`, …
    pub metric: Text,
    /// Its workload; the one that figures are about if absent.
    pub workload: Option<Text>,
    /// The cells in which it must hold, by the levels of factors: `{ loss = "lite-1" }` or
    /// `{ loss = ["lite-1", "lite-4"] }`; all cells if absent.
    #[serde(rename = "where", default)]
    #[schemars(with = "BTreeMap<String, LevelsFile>")]
    pub of: BTreeMap<String, Spanned<toml::Value>>,
    /// The cell to compare with: the one that has these levels, and those of the selected cell
    /// otherwise. The bound is then one of the ratio, repetition by repetition.
    #[schemars(with = "Option<BTreeMap<String, LevelsFile>>")]
    pub against: Option<BTreeMap<String, Spanned<toml::Value>>>,
    /// Statistic over the repetitions: `median` (default), `mean`, a percentile such as `p95`,
    /// `min` or `max`.
    pub statistic: Option<Text>,
    /// Smallest value, with its unit: `4 Mbit/s`; a number or `90 %` with `against`.
    pub at_least: Option<Text>,
    /// Largest value, likewise.
    pub at_most: Option<Text>,
    /// One minus the largest probability of a wrong verdict (default 0.95).
    pub confidence: Option<Text>,
}

/// A level or several, for the schema alone: an enumeration cannot say where in the file it stands.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum LevelsFile {
    One(Text),
    Any(Vec<Text>),
}

/// Something that is varied.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FactorFile {
    /// Its name; `{name}` in the plan stands for its level.
    pub name: Text,
    /// What it is, for figures.
    #[serde(default)]
    pub title: String,
    /// Its levels: texts, or tables with a `name` and variables that go with the level:
    /// `{ name = "umts", size = "3MB" }`.
    #[schemars(with = "Vec<LevelFile>")]
    pub levels: Vec<Spanned<toml::Value>>,
}

/// One level, for the schema alone: an enumeration cannot say where in the file it stands.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum LevelFile {
    Name(Text),
    Table(BTreeMap<String, Text>),
}

/// Nodes and links.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ScenarioFile {
    /// `modern` (the kernel's defaults, the default) or `2001` (as on hosts of that time: tcp-lite
    /// 14.6).
    pub stack: Option<Text>,
    /// By the kernel's name, such as `cubic` (default with `modern`) or `reno` (default with
    /// `2001`).
    pub congestion_control: Option<Text>,
    /// Window that a receiver advertises at most, such as `32kB`; with `2001` it is 32 kB unless
    /// this says otherwise. With `modern` the kernel makes of it what the window's scale can say,
    /// at least 64 kB (docs/limitations.md).
    pub receive_window: Option<Text>,
    /// Initial congestion window in segments.
    pub initial_window: Option<Text>,
    /// Whether connections of programs on any node accept damaged segments (TCP Lite): `off`
    /// (default), `thesis` (headers are believed), or with headers repaired `strict`, `normal` or
    /// `bold`, by how much is risked.
    pub lite: Option<Text>,
    /// Sysctls of the node: `{ "net.ipv4.tcp_ecn" = 1 }`.
    #[serde(default)]
    pub sysctls: BTreeMap<String, Text>,
    /// Parameters of congestion controls, by module: `{ "newzag.gain" = 5 }`. They are one for all
    /// nodes, and only runs by the virtual clock set them; on a host they are given when a
    /// congestion control is loaded.
    #[serde(default)]
    pub congestion_parameters: BTreeMap<String, Text>,
    /// Maximum transmission unit of all links in bytes; the profile's, or 1500, if absent.
    pub mtu: Option<Text>,
    /// Nodes that differ from the others; all others are there because a link names them.
    #[serde(default)]
    pub nodes: Vec<NodeFile>,
    /// Links, each between two nodes.
    #[serde(default)]
    pub links: Vec<LinkFile>,
    /// Links as a scenario table of LTCP (ltcp-newzag 1.3): one row per direction, with link
    /// number, source node, destination node, bandwidth in Mbit/s, delay in ms, packet loss rate in
    /// percent.
    #[serde(default)]
    pub table: Vec<[f64; 6]>,
}

/// A node.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NodeFile {
    /// Its name.
    pub name: Text,
    /// `modern` (the kernel's defaults) or `2001` (as on hosts of that time: tcp-lite 14.6).
    pub stack: Option<Text>,
    /// By the kernel's name, such as `cubic` (default with `modern`) or `reno` (default with
    /// `2001`).
    pub congestion_control: Option<Text>,
    /// Window that a receiver advertises at most, such as `32kB`; with `2001` it is 32 kB unless
    /// this says otherwise. With `modern` the kernel makes of it what the window's scale can say,
    /// at least 64 kB (docs/limitations.md).
    pub receive_window: Option<Text>,
    /// Initial congestion window in segments.
    pub initial_window: Option<Text>,
    /// Whether connections of this node's programs accept damaged segments (TCP Lite): `off`
    /// (default), `thesis` (headers are believed), or with headers repaired `strict`, `normal` or
    /// `bold`, by how much is risked.
    pub lite: Option<Text>,
    /// Sysctls of the node: `{ "net.ipv4.tcp_ecn" = 1 }`.
    #[serde(default)]
    pub sysctls: BTreeMap<String, Text>,
}

/// A link.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkFile {
    /// Its name; `NODE-NODE` if absent.
    pub name: Option<Text>,
    /// Its ends. *Up* is from the first (the wireless host) to the second, *down* the other way.
    pub between: [Text; 2],
    /// Link profile, by name or path.
    pub profile: Option<Text>,
    /// Loss profile, by name or path.
    pub loss: Option<Text>,
    /// Parameters of the direction from the first node to the second, as of `lasthop link --up`.
    pub up: Option<Text>,
    /// Parameters of the direction from the second node to the first.
    pub down: Option<Text>,
    /// Link layer with retransmissions over both directions, as of `lasthop link --arq`: `rlp`,
    /// `llp`, with parameters behind a colon, or `none`.
    pub arq: Option<Text>,
    /// Maximum transmission unit in bytes.
    pub mtu: Option<Text>,
}

/// Traffic.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WorkloadFile {
    /// Its name.
    pub name: Text,
    /// `bulk`, `request`, `datagrams`, `ping` or `command`.
    pub kind: Text,
    /// bulk, datagrams, ping: the node that sends; request: the client.
    pub from: Option<Text>,
    /// bulk, datagrams: the node that receives; request: the server; ping: the node that answers.
    pub to: Option<Text>,
    /// When it starts, after the run's start (default 0s).
    pub start: Option<Text>,
    /// Whether the run ends without waiting for it (default: no; servers and cross traffic want
    /// yes).
    pub background: Option<Text>,
    /// bulk: bytes of each connection.
    pub bytes: Option<Text>,
    /// bulk, datagrams, ping: how long; for bulk instead of `bytes`.
    pub duration: Option<Text>,
    /// bulk, request: connections side by side (default 1).
    pub connections: Option<Text>,
    /// bulk, request: congestion control of these connections, instead of the node's.
    pub congestion_control: Option<Text>,
    /// request: bytes of the request (default 100B, resoa-evaluation 2.7).
    pub request: Option<Text>,
    /// request: bytes of the response.
    pub response: Option<Text>,
    /// request: how many, each over a connection of its own, one after the other (default 1).
    pub times: Option<Text>,
    /// request: time between a response and the next request (default 0s).
    pub pause: Option<Text>,
    /// datagrams: rate while on, of application data.
    pub rate: Option<Text>,
    /// datagrams: bytes of application data in each (default 1000B); ping: bytes behind the headers
    /// of IP and ICMP (default 56B).
    pub size: Option<Text>,
    /// datagrams: mean time on; with `off`, both drawn from exponential distributions. Always on if
    /// absent.
    pub on: Option<Text>,
    /// datagrams: mean time off.
    pub off: Option<Text>,
    /// ping: from one echo request to the next, answered or not (default 1s).
    pub interval: Option<Text>,
    /// command: the node it runs on.
    pub node: Option<Text>,
    /// command: a line for the shell. `{address.NODE}` and `{address6.NODE}` are addresses; nodes'
    /// names work as well.
    pub command: Option<Text>,
    /// command in the background: the TCP port on which it listens when it is ready; others start
    /// then.
    pub listens: Option<Text>,
}

/// What is captured.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CaptureFile {
    /// Which runs' captures are kept: `first` (the first repetition of each cell, the default),
    /// `all`, `failed` or `none`.
    pub keep: Option<Text>,
    /// Which runs' event logs are kept (default: as `keep`).
    pub events: Option<Text>,
    /// Of which runs the state of every TCP sender at every acknowledgement is recorded: `first`,
    /// `all`, `failed` or `none` (default: `none`, since it costs time at each segment).
    pub senders: Option<Text>,
    /// In which runs the loss events of TCP senders are found, with what each was taken for and
    /// what it was, into `losses.parquet`: `first`, `all`, `failed` or `none` (default: `none`,
    /// since it takes the states of senders and the event log, kept or not).
    pub losses: Option<Text>,
    /// Of which runs is recorded what the ends of link layers with retransmissions (`arq`) sent,
    /// received and asked for again: `first`, `all`, `failed` or `none` (default: `none`).
    pub link_layer: Option<Text>,
    /// Of which runs the blocks of RLP are captured with all their octets, sent and received:
    /// `first`, `all`, `failed` or `none` (default: `none`; 24 kB a second of each link).
    pub blocks: Option<Text>,
    /// Names of the links that are captured (default: all).
    pub links: Option<Vec<Text>>,
    /// Bytes of each packet (default 96).
    pub snap_length: Option<Text>,
}

/// When a run is over.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StopFile {
    /// Time after which a run has failed if workloads still go on (default 1h).
    pub after: Option<Text>,
}
