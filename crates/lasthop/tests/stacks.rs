//! Tests of the hosts of a period (`stack` in a plan): what distinguishes each from today's TCP,
//! seen by the recorder of senders and in captures. Expected values are from RFCs and from the
//! implementations of the time.

mod lab;

use capture::senders::{CongestionState, Reader, SenderState};
use lab::Lab;
use lab::plan::air;
use packet::Tcp;
use packet::segment::{Content, Segment};
use std::fs;

/// Bytes of the data of a full segment.
const SEGMENT: u32 = 1448;
/// Port of the first workload.
const PORT: u16 = 5001;

/// A transfer from `sender` to `receiver` by one stack.
struct Transfer<'a> {
    stack: &'a str,
    /// Largest window of the receiver, instead of the stack's.
    window: Option<&'a str>,
    /// Sysctls beside the stack's.
    sysctls: &'a str,
    /// One-way delay.
    delay: &'a str,
    bytes: &'a str,
    /// Numbers of the lost packets among those of the sender: 0 is the SYN, 1 the acknowledgement
    /// of the handshake, and 2 the first with data.
    lost: &'a str,
}

impl Default for Transfer<'_> {
    fn default() -> Self {
        Self { stack: "linux-2.4", window: None, sysctls: "", delay: "50ms", bytes: "200kB", lost: "" }
    }
}

/// A segment in the capture at its sender: what `sender` sent, or what `receiver` answered.
struct Captured {
    at: f64,
    tcp: Tcp,
    payload: u32,
}

struct Seen {
    states: Vec<SenderState>,
    sent: Vec<Captured>,
    answers: Vec<Captured>,
    connection: serde_json::Value,
}

impl Transfer<'_> {
    /// Runs the transfer by the virtual clock.
    fn run(&self, lab: &Lab) -> Seen {
        let Self { stack, window, sysctls, delay, bytes, lost } = self;
        let window = window.map_or(String::new(), |window| format!("receive-window = \"{window}\""));
        let loss = if lost.is_empty() { "" } else { "loss = \"listed.toml\"" };
        fs::write(
            lab.path("listed.toml"),
            format!(
                "kind = \"loss\"\ntitle = \"Listed packets\"\nsource = \"ours\"\ndirections = [\"down\"]\n\
                 [errors]\nprocess = {{ packets = \"{lost}\" }}\neffect = \"lose\"\n"
            ),
        )
        .expect("a loss profile");
        let plan = format!(
            // Router solicitations would be numbered, too.
            "seed = 7\n[scenario]\nstack = \"{stack}\"\n{window}\n\
             sysctls = {{ \"net.ipv6.conf.all.disable_ipv6\" = 1{sysctls} }}\n\
             [[scenario.links]]\nname = \"air\"\n\
             between = [\"receiver\", \"sender\"]\n{loss}\ndown = \"rate=10mbit,delay={delay},queue=10000p\"\n\
             up = \"rate=10mbit,delay={delay}\"\n[[workloads]]\nname = \"transfer\"\nkind = \"bulk\"\n\
             from = \"sender\"\nto = \"receiver\"\nbytes = \"{bytes}\"\n[capture]\nsenders = \"all\"\n"
        );
        let _ = fs::remove_dir_all(lab.path("out"));
        lab.succeed(&plan, &["--clock", "virtual"]);
        let out = lab.path("out");
        let reader = Reader::open(&out.join("events/c000-r00-senders.parquet")).expect("a table");
        let states = reader.map(|state| state.expect("a state")).filter(|state| state.remote.port() == PORT);
        let mut seen = Seen {
            states: states.collect(),
            sent: Vec::new(),
            answers: Vec::new(),
            connection: lab.journal()[0]["connections"][0].clone(),
        };
        let capture = out.join("captures/c000-r00.pcapng");
        let mut reader = capture::packets::Reader::open(&capture).expect("a capture");
        let mut first = None;
        while let Some(view) = reader.view() {
            let view = view.expect("a packet");
            // The second end of the link is the sender's.
            if view.number != 1 {
                continue;
            }
            if let Ok(Content::Tcp(segment)) = Segment::read(view.bytes) {
                let start = *first.get_or_insert(view.time);
                let is_sent = segment.destination_port == PORT;
                let captured = Captured {
                    at: (view.time.as_nanos() - start.as_nanos()) as f64 / 1e9,
                    payload: segment.payload,
                    tcp: segment.tcp,
                };
                if is_sent { &mut seen.sent } else { &mut seen.answers }.push(captured);
            }
        }
        seen
    }
}

impl Seen {
    /// Seconds from the call of `connect` to the established connection.
    fn handshake(&self) -> f64 {
        let of = |field: &str| self.connection[field].as_f64().expect("a time");
        (of("established_ns") - of("start_ns")) / 1e9
    }

    /// Times at which the sender sent the bytes with this offset.
    fn sent_at(&self, offset: u32) -> Vec<f64> {
        let first = self.sent[0].tcp.sequence.wrapping_add(1);
        let is = |each: &&Captured| each.payload > 0 && each.tcp.sequence.wrapping_sub(first) == offset;
        self.sent.iter().filter(is).map(|each| each.at).collect()
    }

    fn in_state(&self, state: CongestionState) -> impl Iterator<Item = &SenderState> {
        self.states.iter().filter(move |each| each.state == Some(state))
    }
}

/// Returns a transfer of 300 kB by `ns-2`, with a window that leaves room for a recovery.
fn ns_2<'a>(lost: &'a str, sysctls: &'a str) -> Transfer<'a> {
    Transfer { stack: "ns-2", lost, sysctls, window: Some("64kB"), bytes: "300kB", ..Transfer::default() }
}

fn near(value: f64, expected: f64, tolerance: f64) -> bool {
    (value - expected).abs() <= tolerance
}

/// RFC 1122 section 4.2.3.1: the first timeout is 3 s, and it doubles. 4.4BSD: 6 s by a clock
/// of 500 ms, so up to half a second earlier.
#[test]
fn a_lost_syn_waits_for_the_first_timeout_of_the_time() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let handshake =
        |stack, lost| Transfer { stack, lost, bytes: "1kB", ..Transfer::default() }.run(&lab).handshake();
    let ns_2 = [handshake("ns-2", "0"), handshake("ns-2", "0-1")];
    assert!(near(ns_2[0], 3.1, 0.003) && near(ns_2[1], 9.1, 0.003), "{ns_2:?}");
    let linux = [handshake("linux-2.4", "0"), handshake("linux-2.4", "0-1")];
    assert!(near(linux[0], 3.095, 0.006) && near(linux[1], 9.095, 0.006), "{linux:?}");
    let bsd = handshake("bsd", "0");
    assert!((5.6..=6.101).contains(&bsd), "{bsd}");
}

/// M4, RFC 2988 section 2.2: after the first sample R, the timeout is R + 4 · R/2. The clock of
/// 100 ms would make a whole number of ticks of it.
#[test]
fn the_first_sample_sets_the_timeout_of_ns_2() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let timeout = |delay, sysctls| {
        let seen = Transfer { stack: "ns-2", delay, sysctls, ..Transfer::default() }.run(&lab);
        seen.states[0].rto_us.expect("a timeout") as f64 / 1e6
    };
    let exact = ", \"net.ipv4.tcp_period_tick_us\" = 0";
    let [short, long] = [timeout("183.2ms", exact), timeout("333.2ms", exact)];
    assert!(near(short, 1.0992, 0.0011) && near(long, 1.9992, 0.002), "{short} {long}");
    // Three ticks, of which the minimum of 1 s makes more, or four.
    let ticks = timeout("183.2ms", "");
    assert!(near(ticks, 1.0, 1e-6) || near(ticks, 1.2, 1e-6), "{ticks}");
}

/// M4: a server measures the time from its SYN to the end of the handshake in the same way.
#[test]
fn the_first_sample_sets_the_timeout_of_a_server() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let link = "down = \"rate=10mbit,delay=333.2ms\"\nup = \"rate=10mbit,delay=333.2ms\"\n";
    let rest = "[[workloads]]\nname = \"web\"\nkind = \"request\"\nfrom = \"mobile\"\nto = \"server\"\n\
                response = \"10kB\"\n[capture]\nsenders = \"all\"\n";
    let plan = air(link, rest).replacen("[scenario]\n", "[scenario]\nstack = \"ns-2\"\n", 1);
    lab.succeed(&plan, &["--clock", "virtual"]);
    let reader = Reader::open(&lab.path("out/events/c000-r00-senders.parquet")).expect("a table");
    let mut states = reader.map(|state| state.expect("a state"));
    let server = states.find(|state| state.local.port() == PORT).expect("a state of the server");
    let first = server.rto_us.expect("a timeout") as f64 / 1e6;
    // Three times six or seven ticks of 100 ms.
    assert!(near(first, 1.8, 1e-6) || near(first, 2.1, 1e-6), "{first}");
}

/// RFC 2581 section 3.1: a segment for each acknowledgement. With delayed acknowledgements, the
/// window grows half as fast as by RFC 3465.
#[test]
fn the_window_grows_by_acknowledgements() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let steps = |stack| {
        let seen = Transfer { stack, ..Transfer::default() }.run(&lab);
        let steps = seen.states.windows(2).map(|pair| pair[1].cwnd.saturating_sub(pair[0].cwnd));
        steps.max().expect("steps")
    };
    assert_eq!([steps("linux-2.4"), steps("bsd"), steps("ns-2"), steps("lien-2005")], [1; 4]);
    assert!(steps("2001") >= 2);
}

/// Linux 2.4, `tcp_ack`: the window grows only if it was full when the acknowledgement came. With a
/// receive window of 11 segments, it ends at 12. 4.4BSD and ns-2 open it with every
/// acknowledgement, and today's Linux, in slow start, to twice the segments in flight.
#[test]
fn the_window_grows_while_it_is_used_or_always() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let largest = |stack, sysctls| {
        let seen = Transfer { stack, window: Some("16kB"), sysctls, ..Transfer::default() }.run(&lab);
        seen.states.iter().map(|state| state.cwnd).max().expect("states")
    };
    assert_eq!([largest("linux-2.4", ""), largest("lien-2005", "")], [12; 2]);
    let today = ", \"net.ipv4.tcp_period_growth_limit\" = 0";
    assert_eq!([largest("linux-2.4", today), largest("ns-2", today)], [22; 2]);
    // 139 segments, of which the receiver of `bsd` acknowledges every second.
    let always = [largest("bsd", ""), largest("ns-2", "")];
    assert!(always[0] > 60 && always[1] > 120, "{always:?}");
}

/// 4.4BSD, `tcp_input`, and ns-2, `TcpAgent::slowdown`: the threshold is half of the smaller
/// window. The receiver's has 11 segments.
#[test]
fn the_threshold_is_half_of_the_smaller_window() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let threshold = |sysctls| {
        let transfer = Transfer { stack: "ns-2", window: Some("16kB"), lost: "100", ..Transfer::default() };
        let seen = Transfer { sysctls, ..transfer }.run(&lab);
        seen.states.iter().filter_map(|state| state.ssthresh).min()
    };
    let today = ", \"net.ipv4.tcp_period_growth_limit\" = 0";
    assert_eq!([threshold(""), threshold(today)], [Some(5), Some(11)]);
}

/// Linux 2.4, `tcp_cwnd_down`: in recovery the window shrinks by a segment for every second
/// acknowledgement, so a segment leaves for every second one, until the window is the threshold.
#[test]
fn rate_halving_shrinks_the_window_with_every_second_acknowledgement() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let window = Some("256kB");
    let seen = Transfer { lost: "60", bytes: "900kB", window, ..Transfer::default() }.run(&lab);
    let recovery: Vec<_> = seen.in_state(CongestionState::Recovery).collect();
    let threshold = recovery[0].ssthresh.expect("a threshold");
    let halving: Vec<_> = recovery.iter().take_while(|state| state.cwnd > threshold).collect();
    assert!(halving.len() > 10, "{}", halving.len());
    for pair in halving.windows(3) {
        assert_eq!(pair[0].cwnd - pair[2].cwnd, 1);
        let sent = pair[2].snd_nxt.wrapping_sub(pair[0].snd_nxt);
        assert!(sent <= SEGMENT, "{sent}");
    }
}

/// RFC 2582 section 3: the window is the threshold during recovery, counted in packets in flight.
#[test]
fn reno_and_newreno_shrink_the_window_at_once() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let window = Some("64kB");
    for stack in ["bsd", "ns-2"] {
        let seen = Transfer { stack, lost: "60", window, bytes: "300kB", ..Transfer::default() }.run(&lab);
        let recovery: Vec<_> = seen.in_state(CongestionState::Recovery).collect();
        assert!(recovery.len() > 10, "{stack} {}", recovery.len());
        let threshold = recovery[1].ssthresh.expect("a threshold");
        assert!(recovery[1..].iter().all(|state| state.cwnd == threshold), "{stack}");
        // RFC 3042 came later: the first two duplicates send nothing.
        let disorder: Vec<_> = seen.in_state(CongestionState::Disorder).collect();
        assert!(disorder.windows(2).all(|pair| pair[0].snd_nxt == pair[1].snd_nxt), "{stack}");
    }
}

/// RFC 2582 section 1: two losses in a window. NewReno repairs both in one recovery; Reno leaves
/// recovery with the partial acknowledgement.
#[test]
fn reno_leaves_recovery_with_a_partial_acknowledgement() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let window = Some("64kB");
    let thresholds = |stack| {
        let seen = Transfer { stack, lost: "60,64", window, bytes: "300kB", ..Transfer::default() }.run(&lab);
        let mut thresholds: Vec<_> = seen.states.iter().filter_map(|state| state.ssthresh).collect();
        thresholds.dedup();
        thresholds.len()
    };
    // The first is infinite.
    assert_eq!(thresholds("ns-2"), 2, "one reduction");
    assert!(thresholds("bsd") > 2, "Reno reduces its window for each loss");
}

/// Two duplicates are no loss without RACK, even if SACK shows what they are (RFC 3517 section 4):
/// the timer repairs the loss.
#[test]
fn two_segments_behind_a_loss_do_not_reveal_it() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    // The third segment from the end is lost.
    let bytes = format!("{}B", 20 * SEGMENT);
    let repaired = |stack| {
        let seen = Transfer { stack, lost: "19", bytes: &bytes, ..Transfer::default() }.run(&lab);
        let times = seen.sent_at(17 * SEGMENT);
        assert_eq!(times.len(), 2, "{stack}");
        times[1] - times[0]
    };
    // RACK waits for a quarter of the round-trip time of 100 ms.
    let rack = repaired("2001");
    assert!((0.1..0.2).contains(&rack), "{rack}");
    for stack in ["linux-2.4", "lien-2005"] {
        let timer = repaired(stack);
        assert!((0.29..0.5).contains(&timer), "{stack}: {timer}");
    }
}

/// One SACKed segment behind three that are lost: the highest of them is three segments above the
/// first, which is enough for FACK. RFC 3517 section 4 wants three SACKed segments.
#[test]
fn fack_counts_segments_and_rfc_3517_counts_sacked_ones() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let bytes = format!("{}B", 20 * SEGMENT);
    let repaired = |sysctls| {
        let seen = Transfer { lost: "18-20", bytes: &bytes, sysctls, ..Transfer::default() }.run(&lab);
        let times = seen.sent_at(16 * SEGMENT);
        times[1] - times[0]
    };
    let [fack, dupthresh] = [repaired(""), repaired(", \"net.ipv4.tcp_period_loss_detection\" = 1")];
    assert!((0.1..0.15).contains(&fack) && (0.29..0.5).contains(&dupthresh), "{fack} {dupthresh}");
}

/// The clock of Linux 2.4 has ticks of 10 ms, that of 4.4BSD of 500 ms: timeouts are whole ticks,
/// and so is the time between two of them.
#[test]
fn timers_run_by_the_ticks_of_the_time() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    // Everything in flight is lost, and then each of some retransmissions.
    let hosts = [("linux-2.4", 0.01, 0.2, "20-42"), ("bsd", 0.5, 1.0, "20-30")];
    for (stack, tick, least, lost) in hosts {
        let seen = Transfer { stack, lost, delay: "33ms", ..Transfer::default() }.run(&lab);
        for state in &seen.states {
            let ticks = state.rto_us.expect("a timeout") as f64 / 1e6 / tick;
            assert!(near(ticks, ticks.round(), 0.001) && ticks * tick > least - 0.001, "{stack} {ticks}");
        }
        let first = seen.sent.iter().find(|each| {
            let again = |other: &&Captured| other.tcp.sequence == each.tcp.sequence && other.payload > 0;
            each.payload > 0 && seen.sent.iter().filter(again).count() > 3
        });
        let offset = first.expect("a segment that was lost often").tcp.sequence;
        let times: Vec<_> =
            seen.sent.iter().filter(|each| each.tcp.sequence == offset).map(|each| each.at).collect();
        let waits: Vec<_> = times.windows(2).skip(1).map(|pair| (pair[1] - pair[0]) / tick).collect();
        assert!(waits.iter().all(|ticks| near(ticks.round(), *ticks, 0.002 / tick)), "{stack} {waits:?}");
        assert!(waits.windows(2).all(|pair| near(pair[1], 2.0 * pair[0], 0.01)), "{stack} {waits:?}");
    }
}

/// 4.4BSD acknowledges every second segment, and a single one with the next tick of 200 ms.
#[test]
fn bsd_delays_acknowledgements_until_a_tick() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let seen = Transfer { stack: "bsd", bytes: "30kB", ..Transfer::default() }.run(&lab);
    let data = seen.sent_at(0)[0];
    let pairs = seen
        .answers
        .windows(2)
        .map(|pair| (pair[1].at, pair[1].tcp.acknowledgment.wrapping_sub(pair[0].tcp.acknowledgment)));
    // The last segment is short, and the end of the stream is acknowledged at once.
    let (single, full): (Vec<_>, Vec<_>) =
        pairs.filter(|(_, step)| *step >= SEGMENT).partition(|(_, step)| *step == SEGMENT);
    assert!(full.len() >= 6 && full.iter().all(|(_, step)| *step == 2 * SEGMENT), "{full:?}");
    // The initial window is one segment, which today's receiver acknowledges at once.
    let waited = single[0].0 - data - 0.1;
    assert!((0.02..=0.21).contains(&waited), "{waited}");
    let ticks: Vec<_> = single.iter().map(|(at, _)| (at - single[0].0) / 0.2).collect();
    assert!(ticks.len() >= 2 && ticks.iter().all(|tick| near(*tick, tick.round(), 1e-5)), "{ticks:?}");
}

/// RFC 2582 section 4: many losses in a window. The slow-but-steady sender repairs them one by one;
/// the timer of an impatient one expires meanwhile.
#[test]
fn an_impatient_sender_does_not_repair_many_losses_one_by_one() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    // A timeout of 0.3 s, in ten round trips of 0.1 s.
    let timeouts = |more| {
        let sysctls = format!(", \"net.ipv4.tcp_rto_min_us\" = 300000{more}");
        let seen = ns_2("60,62,64,66,68,70,72,74,76,78", &sysctls).run(&lab);
        seen.connection["timeouts"].clone()
    };
    assert_eq!([timeouts(""), timeouts(", \"net.ipv4.tcp_period_impatient\" = 1")], [0, 1]);
}

/// Linux 2.4, `tcp_moderate_cwnd`: no more than three segments leave at once when a recovery ends.
#[test]
fn moderation_keeps_bursts_small() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let burst = |sysctls| {
        let sent = ns_2("60-63", sysctls).run(&lab).sent;
        let at_once = |first: &Captured| sent.iter().filter(|other| near(other.at, first.at, 1e-4)).count();
        sent.iter().map(at_once).max().expect("segments")
    };
    let [free, moderated] = [burst(""), burst(", \"net.ipv4.tcp_period_max_burst\" = 3")];
    assert!(moderated <= 4 && free > moderated, "{free} {moderated}");
}

/// On a host the settings do not exist.
#[test]
fn a_host_refuses_the_stacks_of_the_guest() {
    let Some(lab) = Lab::new() else { return };
    let plan = "[scenario]\nstack = \"ns-2\"\n[[scenario.links]]\nname = \"air\"\nbetween = [\"a\", \"b\"]\n\
                up = \"delay=1ms\"\ndown = \"delay=1ms\"\n[[workloads]]\nname = \"w\"\nkind = \"bulk\"\n\
                from = \"a\"\nto = \"b\"\nbytes = \"1kB\"\n";
    let output = lab.run(plan, &[]);
    let expected = "stack `ns-2` of node `a` needs the kernel of the virtual clock: use `--clock virtual`";
    let said = lab::text(&output.stderr);
    assert!(!output.status.success() && said.contains(expected), "{said}");
    assert!(!lab.path("out").exists(), "nothing has begun");
}
