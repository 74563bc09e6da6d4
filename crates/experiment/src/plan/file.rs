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
    /// Title of the report, one line.
    #[serde(default)]
    pub title: String,
    /// The question that the plan answers, and how to read the answer; shown in the report.
    #[serde(default)]
    pub description: String,
    /// Seed of all random numbers; `--seed` overrides it. Drawn at random and recorded if absent.
    pub seed: Option<u64>,
    /// Repetitions of each cell (default 1); `--repetitions` overrides it.
    pub repetitions: Option<u32>,
    /// Repetitions of each cell that are made at most: by `lasthop gate` to decide the
    /// requirements, and by `lasthop run` until `precision` is reached (default: four times
    /// `repetitions`); another number with `--max-repetitions`.
    pub max_repetitions: Option<u32>,
    /// Name of the workload that the figures describe (default: the first one without
    /// `background`).
    pub measure: Option<Text>,
    /// Factors that the experiment varies. The cells are all combinations of their levels.
    #[serde(default)]
    pub factors: Vec<FactorFile>,
    /// Nodes and links.
    pub scenario: ScenarioFile,
    /// Traffic.
    pub workloads: Vec<WorkloadFile>,
    /// Captures and logs to record, and which of them to keep.
    #[serde(default)]
    pub capture: CaptureFile,
    /// Time limit of a run.
    #[serde(default)]
    pub stop: StopFile,
    /// Published figures; the report prints ours beside each.
    #[serde(default)]
    #[schemars(with = "Vec<serde_json::Value>")]
    pub expect: Vec<Expectation>,
    /// Requirements that `lasthop gate` decides.
    #[serde(default)]
    #[schemars(with = "Vec<RequireFile>")]
    pub require: Vec<Spanned<RequireFile>>,
    /// Analyses of the results, printed with them and in the report.
    #[serde(default)]
    pub analysis: AnalysisFile,
    /// Repeats each cell until the interval of a mean is narrow enough: at least `repetitions`
    /// times and at most `max-repetitions` times.
    #[schemars(with = "Option<PrecisionFile>")]
    pub precision: Option<Spanned<PrecisionFile>>,
    /// Makes the runs one after the other, with random gaps, and logs their order (`series.csv`).
    pub series: Option<SeriesFile>,
}

/// How the runs of a campaign follow each other.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SeriesFile {
    /// Shortest and longest gap: `["1s", "10s"]`. Gaps are uniformly distributed, and follow from
    /// the seed. By the virtual clock they are logged, and nobody waits.
    pub gap: [Text; 2],
    /// Factors whose levels follow each other without a gap, such as the two systems of a pair:
    /// `["system"]`.
    #[serde(default)]
    pub together: Vec<Text>,
}

/// Until when `lasthop run` repeats a cell.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PrecisionFile {
    /// The metric (default `goodput`): `completion`, `retransmission-rate`, `timeouts`, `rtt`, …
    pub metric: Option<Text>,
    /// Its workload; the one that figures are about if absent.
    pub workload: Option<Text>,
    /// The cells to repeat, by the levels of factors: `{ loss = "lite-1" }` or
    /// `{ loss = ["lite-1", "lite-4"] }`; all cells if absent. Others have `repetitions`.
    #[serde(rename = "where", default)]
    #[schemars(with = "BTreeMap<String, LevelsFile>")]
    pub of: BTreeMap<String, Spanned<toml::Value>>,
    /// The cell to compare with: the one that has these levels, and those of the selected cell
    /// otherwise. The mean is then that of the ratio, repetition by repetition, and both cells are
    /// repeated.
    #[schemars(with = "Option<BTreeMap<String, LevelsFile>>")]
    pub against: Option<BTreeMap<String, Spanned<toml::Value>>>,
    /// Largest distance of the ends of the interval from the mean, in percent of the mean: `2 %`.
    pub within: Text,
    /// Confidence of the interval (default 0.95).
    pub confidence: Option<Text>,
    /// When to look at the interval: `few` (default), at a few numbers of repetitions, with an
    /// interval that holds at all of them together; or `every`, after each repetition, with the
    /// ordinary interval, which is then somewhat too narrow.
    pub looks: Option<Text>,
}

/// Analyses of the results.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AnalysisFile {
    /// 2^k factorial analyses: the share of a metric's variation that each factor and each
    /// interaction of factors explains.
    #[serde(default)]
    #[schemars(with = "Vec<FactorialFile>")]
    pub factorial: Vec<Spanned<FactorialFile>>,
}

/// A 2^k factorial analysis of all factors with two levels.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FactorialFile {
    /// Title, in one line.
    pub title: Text,
    /// The metric (default `goodput`): `completion`, `retransmission-rate`, `timeouts`, `rtt`, …
    pub metric: Option<Text>,
    /// Its workload; the one that figures are about if absent.
    pub workload: Option<Text>,
    /// The two levels to analyse of each factor that has more than two:
    /// `{ rate = ["1mbit", "100mbit"] }`. They also set the order: effects are changes from the
    /// first to the second.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Vec<Text>>")]
    pub levels: BTreeMap<String, Spanned<toml::Value>>,
    /// Factors that are not analysed, each with the level of the cells to use:
    /// `{ loss = "lite-0" }`.
    #[serde(rename = "where", default)]
    #[schemars(with = "BTreeMap<String, Text>")]
    pub of: BTreeMap<String, Spanned<toml::Value>>,
    /// The factor between whose two levels the response is the difference, the metric at the first
    /// minus that at the second, repetition by repetition: `{ system = ["proxy", "plain"] }`.
    #[schemars(with = "Option<BTreeMap<String, Vec<Text>>>")]
    pub difference: Option<BTreeMap<String, Spanned<toml::Value>>>,
    /// The same for the ratio: the metric at the first level over that at the second.
    #[schemars(with = "Option<BTreeMap<String, Vec<Text>>>")]
    pub ratio: Option<BTreeMap<String, Spanned<toml::Value>>>,
    /// Response: `value` (default), or `log` for the decimal logarithm, where effects multiply.
    pub response: Option<Text>,
}

/// A requirement: in each selected cell, a statistic of a metric reaches a bound.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RequireFile {
    /// Title, in one line: the name of the test in reports.
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

/// A factor: a property that the experiment varies.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FactorFile {
    /// Name of the factor; `{name}` in the plan stands for its level.
    pub name: Text,
    /// Label of the factor in figures.
    #[serde(default)]
    pub title: String,
    /// Levels: texts, or tables with a `name` and variables of the level:
    /// `{ name = "umts", size = "3MB" }`. A variable may name a factor or another variable.
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
    /// TCP of all nodes: `modern` (default), the kernel's defaults; `2001`, the TCP Lite thesis as
    /// far as any kernel can be configured; `linux-2.4`, `bsd`, `ns-2` or `lien-2005`, which need
    /// `--clock virtual` (docs/stacks.md).
    pub stack: Option<Text>,
    /// Congestion control by the kernel's name, such as `cubic` (default with `modern`) or `reno`
    /// (default with other stacks).
    pub congestion_control: Option<Text>,
    /// Largest window that a receiver advertises, such as `32kB` (default: the stack's,
    /// docs/stacks.md). With `modern`, in real time, the limit is at least 64 kB
    /// (docs/limitations.md).
    pub receive_window: Option<Text>,
    /// Initial congestion window in segments.
    pub initial_window: Option<Text>,
    /// Whether programs on any node accept damaged segments (TCP Lite): `off` (default),
    /// `on-request` (those that set the socket option), `thesis` (all, damaged headers are
    /// trusted), or, for all, a policy of header repair: `strict`, `normal` or `bold`.
    pub lite: Option<Text>,
    /// Sysctls of all nodes: `{ "net.ipv4.tcp_ecn" = 1 }`.
    #[serde(default)]
    pub sysctls: BTreeMap<String, Text>,
    /// Parameters of congestion controls, by module: `{ "newzag.gain" = 5 }`. They apply to all
    /// nodes and need `--clock virtual`; on a host, pass them to `lasthop cc load`.
    #[serde(default)]
    pub congestion_parameters: BTreeMap<String, Text>,
    /// Maximum transmission unit of all links, in bytes (default: the profile's, or 1500).
    pub mtu: Option<Text>,
    /// Tick of the clock, such as `5us` (default: 1 ns): timers end and packets leave at its next
    /// multiple. It needs `--clock virtual`.
    pub clock_tick: Option<Text>,
    /// Nodes that differ from the others. All other nodes exist because a link names them.
    #[serde(default)]
    pub nodes: Vec<NodeFile>,
    /// Links, each between two nodes.
    #[serde(default)]
    pub links: Vec<LinkFile>,
    /// Links as a scenario table of LTCP: one row per direction, with link number, source node,
    /// destination node, bandwidth in Mbit/s, delay in ms, packet loss rate in percent.
    #[serde(default)]
    pub table: Vec<[f64; 6]>,
}

/// A node that differs from the others.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NodeFile {
    /// Name of the node.
    pub name: Text,
    /// TCP of this node, by the same names (default: the scenario's).
    pub stack: Option<Text>,
    /// Congestion control by the kernel's name, such as `cubic` (default with `modern`) or `reno`
    /// (default with other stacks).
    pub congestion_control: Option<Text>,
    /// Largest window that a receiver advertises, such as `32kB` (default: the stack's,
    /// docs/stacks.md). With `modern`, in real time, the limit is at least 64 kB
    /// (docs/limitations.md).
    pub receive_window: Option<Text>,
    /// Initial congestion window in segments.
    pub initial_window: Option<Text>,
    /// Whether programs on this node accept damaged segments (TCP Lite): `off` (default),
    /// `on-request` (those that set the socket option), `thesis` (all, damaged headers are
    /// trusted), or, for all, a policy of header repair: `strict`, `normal` or `bold`.
    pub lite: Option<Text>,
    /// Sysctls of the node: `{ "net.ipv4.tcp_ecn" = 1 }`.
    #[serde(default)]
    pub sysctls: BTreeMap<String, Text>,
    /// Remote sockets: the TCP and UDP of this node's programs run at another node
    /// (docs/resoa-plans.md): `{ at = "access", carrier = "udp" }`.
    pub sockets: Option<SocketsFile>,
    /// Interfaces and namespaces of this host to attach to this node, as `lasthop link --inside`:
    /// an Ethernet interface with all devices attached to it (`eth1`), or another network namespace
    /// (`netns:NAME`, `pid:PID`, `podman:CONTAINER`, `docker:CONTAINER`). Needs root and the real
    /// clock (docs/how-to/network-box.md).
    #[serde(default)]
    pub attach: Vec<Text>,
    /// Program on this node that splits each TCP connection that crosses it in two: `haproxy`, or
    /// `none` (default).
    pub proxy: Option<Text>,
}

/// Remote sockets of a node.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SocketsFile {
    /// The node at which the TCP of this node's programs runs. Other nodes see its address.
    pub at: Text,
    /// Carrier between the two nodes: `udp` (default), `quic`, `tcp`, `plain` or `bare`
    /// (docs/resoa-carriers.md); `none`: the sockets are those of the node's kernel.
    pub carrier: Option<Text>,
    /// Bytes that a program has read of a stream and that are reported to the server at once
    /// (default: 2920 B); fewer wait up to 10 ms (docs/resoa.md). With `1B`, every read is
    /// reported.
    pub report_after: Option<Text>,
}

/// A link between two nodes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkFile {
    /// Name of the link (default: `NODE-NODE`).
    pub name: Option<Text>,
    /// The two nodes. *Up* is from the first, the wireless host, to the second; *down* is the other
    /// direction.
    pub between: [Text; 2],
    /// Link profile, by name or path.
    pub profile: Option<Text>,
    /// Loss profile, by name or path.
    pub loss: Option<Text>,
    /// Parameters of the direction from the first node to the second, as for `lasthop link --up`.
    pub up: Option<Text>,
    /// Parameters of the direction from the second node to the first, as for `lasthop link --down`.
    pub down: Option<Text>,
    /// Link layer with retransmissions in both directions, as for `lasthop link --arq`: `rlp` or
    /// `llp`, each with optional parameters after a colon, or `none`.
    pub arq: Option<Text>,
    /// Maximum transmission unit in bytes.
    pub mtu: Option<Text>,
}

/// Traffic.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WorkloadFile {
    /// Name of the workload.
    pub name: Text,
    /// Kind of traffic: `bulk`, `request`, `sessions`, `datagrams`, `ping` or `command`.
    pub kind: Text,
    /// bulk, sessions, datagrams, ping: the sending node; request: the client.
    pub from: Option<Text>,
    /// bulk, sessions, datagrams: the receiving node; request: the server; ping: the answering
    /// node.
    pub to: Option<Text>,
    /// Time of its start, after the start of the run (default 0s).
    pub start: Option<Text>,
    /// Whether the run ends without waiting for it (default false, and true for sessions; use true
    /// for servers and cross traffic).
    pub background: Option<Text>,
    /// bulk: size of each transfer, such as `4MB`; sessions: mean length of a session.
    pub bytes: Option<Text>,
    /// bulk, datagrams, ping: duration of sending; for bulk, instead of `bytes`. sessions: time in
    /// which sessions arrive (default: until the run ends).
    pub duration: Option<Text>,
    /// bulk, request: number of parallel connections (default 1).
    pub connections: Option<Text>,
    /// bulk, request, sessions: congestion control of these connections (default: the node's).
    pub congestion_control: Option<Text>,
    /// request: size of the request (default 100B).
    pub request: Option<Text>,
    /// request: size of the response.
    pub response: Option<Text>,
    /// request: number of requests, each over a connection of its own, one after the other (default
    /// 1).
    pub times: Option<Text>,
    /// request: time between a response and the next request (default 0s).
    pub pause: Option<Text>,
    /// request: whether the call that connects sends the request (TCP Fast Open, default false). On
    /// remote sockets, a request of at most 1024 bytes then crosses the last hop together with the
    /// one to connect.
    pub fast_open: Option<Text>,
    /// sessions: number of TCP sources, each with one session at a time (default 1, 0 for none).
    pub sources: Option<Text>,
    /// sessions: standard deviation of the natural logarithm of a session's length (default 1.5, 0
    /// for sessions of equal length).
    pub sigma: Option<Text>,
    /// datagrams: rate of application data while sending; sessions: offered load of all sources
    /// together, instead of `interval`.
    pub rate: Option<Text>,
    /// datagrams: application data in each datagram (default 1000B); ping: data after the headers
    /// of IP and ICMP (default 56B).
    pub size: Option<Text>,
    /// datagrams: mean duration of sending, needs `off`; both are drawn from exponential
    /// distributions. Always sending if absent.
    pub on: Option<Text>,
    /// datagrams: mean duration of a pause.
    pub off: Option<Text>,
    /// ping: time from one echo request to the next, answered or not (default 1s); sessions: mean
    /// time from one arrival at a source to the next, instead of `rate`.
    pub interval: Option<Text>,
    /// command: the node on which it runs.
    pub node: Option<Text>,
    /// command: a line for the shell. `{address.NODE}` and `{address6.NODE}` are the IPv4 and the
    /// IPv6 address of a node, to which its name resolves, too. `{plan-folder}` is the absolute
    /// path of the plan's directory. Lines `lasthop: NAME=VALUE` of its output are figures of the
    /// run: the metrics `figure.NAME`.
    pub command: Option<Text>,
    /// command in the background: the TCP port on which it listens once it is ready; the other
    /// workloads start then.
    pub listens: Option<Text>,
}

/// Captures and logs.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CaptureFile {
    /// Runs whose captures to keep: `first` (default: the first repetition of each cell), `all`,
    /// `failed` or `none`.
    pub keep: Option<Text>,
    /// Runs whose event logs to keep (default: as `keep`).
    pub events: Option<Text>,
    /// Runs in which to record the state of every TCP sender at every acknowledgement: `first`,
    /// `all`, `failed` or `none` (default, because it costs time at each segment).
    pub senders: Option<Text>,
    /// Runs whose loss events of TCP senders to write to `losses.parquet`, each with the sender's
    /// verdict and the true cause: `first`, `all`, `failed` or `none` (default, because it needs
    /// the states of senders and the event log).
    pub losses: Option<Text>,
    /// Runs whose flows are counted at each end of a link (`points.parquet`): packets, bytes,
    /// retransmissions and spurious retransmissions; `first`, `all`, `failed` or `none` (default,
    /// because it needs the capture of the run).
    pub points: Option<Text>,
    /// Runs in which to record the frames that link layers with retransmissions (`arq`) sent,
    /// received and requested again: `first`, `all`, `failed` or `none` (default).
    pub link_layer: Option<Text>,
    /// Runs in which to capture all blocks of RLP, sent and received: `first`, `all`, `failed` or
    /// `none` (default, because it takes 24 kB per second and link).
    pub blocks: Option<Text>,
    /// Names of the links to capture (default: all).
    pub links: Option<Vec<Text>>,
    /// Bytes of each packet to capture (default 96).
    pub snap_length: Option<Text>,
}

/// Time limit of a run.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StopFile {
    /// Time after which a run fails if its workloads have not ended (default 1h).
    pub after: Option<Text>,
}
