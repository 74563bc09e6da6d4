use super::*;
use proptest::prelude::*;
use std::iter::zip;

/// Bytes of the request, and of a segment's data.
const REQUEST: f64 = 100.0;
const DATA: f64 = 1448.0;

fn bytes(segments: u32) -> f64 {
    REQUEST + DATA * f64::from(segments)
}

fn mode_0(path: &Path, transfer: Transfer) -> Timeline {
    proxy(path, &TcpSizes::default(), &Proxy::new(ConnectMode::Confirmed), transfer)
}

fn tcp(path: &Path, transfer: Transfer) -> Timeline {
    end_to_end(path, &TcpSizes::default(), transfer)
}

/// The completion time of TCP over that of the proxy: the ratio of throughputs.
fn ratio(path: &Path, transfer: Transfer) -> f64 {
    tcp(path, transfer).completion() / mode_0(path, transfer).completion()
}

fn path(wireless: f64, wireless_delay: f64, internet: f64, internet_delay: f64) -> Path {
    Path { wireless: Hop::new(wireless, wireless_delay), internet: Hop::new(internet, internet_delay) }
}

/// Fig. 10.6.
fn figure_10_6() -> Path {
    path(384e3, 0.1, 100e6, 0.025)
}

/// The tables of values in bytes per second that were computed from the equations independently.
#[test]
fn v1_throughput_of_figure_10_6_is_that_of_the_equations() {
    let sizes = [1, 2, 7, 35, 69, 138, 276, 700];
    let of_tcp = [2873.0, 3648.0, 8547.0, 22444.0, 30079.0, 36474.0, 40817.0, 43990.0];
    let of_proxy = [2884.0, 5105.0, 13775.0, 31382.0, 37310.0, 41333.0, 43691.0, 45256.0];
    let ratios = [1.00, 1.40, 1.61, 1.40, 1.24, 1.13, 1.07, 1.03];
    for ((segments, ratio_of), expected) in zip(zip(sizes, ratios), zip(of_tcp, of_proxy)) {
        let transfer = Transfer { segments, window: 45 };
        let bytes = bytes(segments);
        let of_tcp = tcp(&figure_10_6(), transfer).throughput(bytes);
        let of_proxy = mode_0(&figure_10_6(), transfer).throughput(bytes);
        assert!((of_tcp - expected.0).abs() <= 0.5 + 1e-4 * expected.0, "{segments}: {of_tcp}");
        assert!((of_proxy - expected.1).abs() <= 0.5, "{segments}: {of_proxy}");
        assert!((ratio(&figure_10_6(), transfer) - ratio_of).abs() <= 0.005, "{segments}");
    }
}

/// Figs. 10.12 and 10.15, error free: bottleneck in the Internet, wireless delays of 100 and 50 ms.
#[test]
fn ratios_at_384_kbit_s_are_those_of_the_equations() {
    let expected = [(7, 1.405), (35, 1.20), (69, 1.12), (276, 1.03), (492, 1.02)];
    for (segments, expected) in expected {
        let ours = ratio(&path(384e3, 0.1, 192e3, 0.04), Transfer { segments, window: 13 });
        assert!((ours - expected).abs() <= 0.0051, "{segments}: {ours}");
    }
    for (segments, expected) in [(7, 1.28), (69, 1.06)] {
        let ours = ratio(&path(384e3, 0.05, 192e3, 0.04), Transfer { segments, window: 13 });
        assert!((ours - expected).abs() <= 0.0051, "{segments}: {ours}");
    }
}

/// Fig. 10.18: 11 and 5.5 Mbit/s, 1 ms of wireless delay and 40 ms of Internet.
#[test]
fn ratios_at_11_mbit_s_are_those_of_the_equations() {
    let expected = [
        (1, 1.00),
        (2, 1.013),
        (7, 1.019),
        (22, 1.025),
        (35, 1.027),
        (69, 1.028),
        (138, 1.023),
        (492, 1.012),
    ];
    for (segments, expected) in expected {
        let ours = ratio(&path(11e6, 0.001, 5.5e6, 0.04), Transfer { segments, window: 45 });
        assert!((ours - expected).abs() <= 0.0011, "{segments}: {ours}");
    }
}

/// The gain of a proxy in bytes per second at 11 and 5.5 Mbit/s.
fn gain(segments: u32, window: u32, wireless_delay: f64, updates: Option<WindowUpdates>) -> f64 {
    let (path, transfer) = (path(11e6, wireless_delay, 5.5e6, 0.04), Transfer { segments, window });
    let of_proxy = Proxy { updates, ..Proxy::new(ConnectMode::Confirmed) };
    let of_proxy = proxy(&path, &TcpSizes::default(), &of_proxy, transfer);
    of_proxy.throughput(bytes(segments)) - tcp(&path, transfer).throughput(bytes(segments))
}

/// The wireless delay with the largest gain, in ms, and that gain.
fn largest_gain(segments: u32, updates: Option<WindowUpdates>) -> (u32, f64) {
    let of = |delay| (delay, gain(segments, 45, f64::from(delay) / 1e3, updates));
    let gains = (1..=25).map(|step| of(10 * step));
    gains.max_by(|one, other| one.1.total_cmp(&other.1)).expect("a gain")
}

/// Fig. 10.19: 17.0 kB/s at 70 ms and 16.6 at 100 ms for 31 856 bytes, whose window never fills; 74
/// kB/s at 30 ms and 165 at 200 ms for 712 416 bytes with a window without limit.
#[test]
fn gains_of_figure_10_19_are_those_of_the_equations() {
    let near =
        |ours: f64, expected: f64| assert!((ours / 1e3 - expected).abs() <= 0.5, "{ours} is not {expected}");
    assert_eq!(largest_gain(22, None).0, 70);
    near(gain(22, 45, 0.07, None), 17.0);
    near(gain(22, 45, 0.1, None), 16.6);
    near(gain(492, 10_000, 0.03, None), 74.0);
    near(gain(492, 10_000, 0.2, None), 165.0);
}

/// Fig. 10.19: up to 50 kB/s for 712 416 bytes, which an independent simulation finds at 40 to 50
/// ms as 45.8, where the window of 45 segments counts what the client has not taken.
#[test]
fn a_coupled_window_limits_the_gain_of_figure_10_19() {
    let (delay, gain) = largest_gain(492, Some(WindowUpdates::default()));
    assert!((40..=50).contains(&delay), "{delay}");
    assert!((gain / 1e3 - 45.8).abs() <= 1.0, "{gain}");
}

/// With a window below the pipe, each round trip carries one window. The printed equations would
/// have the pipe full.
#[test]
fn a_window_below_the_pipe_limits_the_throughput() {
    let path = path(11e6, 0.2, 5.5e6, 0.04);
    let long = tcp(&path, Transfer { segments: 900, window: 45 });
    let round_trip = path.round_trip(1500.0, 52.0);
    for (one, next) in zip(&long.arrivals[300..], &long.arrivals[345..]) {
        assert!((next - one - round_trip).abs() < 1e-9);
    }
}

/// M4 and Eq. 10.4: the first timeout is three times the round trip of the handshake, which is
/// shorter than that of a full segment up to a wireless delay of 0.22 s.
#[test]
fn m4_the_first_timeout_is_shorter_than_the_first_round_trip() {
    let of = |delay| {
        let path = path(9600.0, delay, 2e6, 0.04);
        (path.round_trip(52.0, 52.0), path.round_trip(1500.0, 52.0))
    };
    let near = |ours: f64, expected: f64| assert!((ours - expected).abs() < 1e-3, "{ours} is not {expected}");
    let (handshake, segment) = of(0.1);
    // The thesis rounds 43.3 ms to 43.
    near(handshake, 0.3664);
    near(3.0 * (handshake - 2.0 * 0.000_33), 1.0992);
    near(segment, 1.5792);
    let (handshake, segment) = of(0.25);
    near(handshake, 0.6664);
    near(3.0 * (handshake - 2.0 * 0.000_33), 1.999);
    near(segment, 1.879);
    assert!(of(0.219).0 * 3.0 < of(0.219).1 && of(0.22).0 * 3.0 > of(0.22).1);
}

/// 9600 bit/s: the round trip of the proxy's TCP is shorter than a packet on the wireless hop, so
/// that is busy from the first segment on, where the printed c is negative.
#[test]
fn a_proxy_fills_a_slow_hop_from_the_first_segment() {
    let slow = path(9600.0, 0.1, 2e6, 0.04);
    let arrivals = mode_0(&slow, Transfer { segments: 9, window: 8 }).arrivals;
    assert!(zip(&arrivals, &arrivals[1..]).all(|(one, next)| (next - one - 1.25).abs() < 1e-9));
}

/// Fig. 8.3: when TCP has delivered 5 packets, the proxy has delivered 7.
#[test]
fn e5_a_proxy_uses_the_bottleneck_from_the_second_packet_on() {
    // Sending takes a time unit on the wireless hop, and the round trip of the Internet less
    // than 2.
    let path = Path { wireless: Hop::new(12_000.0, 1.0), internet: Hop::new(12e6, 0.9) };
    let sizes = TcpSizes { acknowledgement: 0.0, ..TcpSizes::default() };
    let transfer = Transfer { segments: 20, window: 100 };
    let of_tcp = end_to_end(&path, &sizes, transfer);
    let of_proxy = proxy(&path, &sizes, &Proxy::new(ConnectMode::Confirmed), transfer);
    let since = |times: &Timeline, place: usize| times.arrivals[place] - times.arrivals[0];
    assert!(since(&of_tcp, 4) > since(&of_proxy, 6));
    assert!((since(&of_proxy, 6) - since(&of_proxy, 1) - 5.0).abs() < 1e-9, "never idle");
}

#[test]
fn a_path_of_one_hop_has_the_other_as_none() {
    let one = Path { wireless: Hop::new(2e6, 0.025), internet: Hop::NONE };
    let times = tcp(&one, Transfer { segments: 3, window: 10 });
    // Fig. 2.3: 2 Mbit/s and 50 ms. A segment takes 6 ms, and the others come in the next round.
    let round_trip = 0.05 + (1500.0 + 52.0) * 8.0 / 2e6;
    assert!((times.arrivals[1] - times.arrivals[0] - round_trip).abs() < 1e-12);
    assert!((times.arrivals[2] - times.arrivals[1] - 0.006).abs() < 1e-12);
}

#[test]
fn an_empty_response_ends_with_the_request() {
    let times = tcp(&figure_10_6(), Transfer { segments: 0, window: 1 });
    assert_eq!((times.completion(), times.arrivals.len()), (times.requested, 0));
}

/// Padhye et al.: without loss the window limits; with few losses the rate is 1/(RTT·√(2bp/3)).
#[test]
fn the_steady_state_is_limited_by_the_window_then_by_losses() {
    let of = SteadyState { round_trip: 0.1, window: 20.0, timeout: 1.0, per_acknowledgement: 2.0 };
    assert!((steady_state(&of, 0.0) - 200.0).abs() < 1e-9);
    let without_timeouts = SteadyState { timeout: 0.0, window: 1e9, ..of };
    let expected = 1.0 / (0.1 * (4.0 * 1e-4_f64 / 3.0).sqrt());
    assert!((steady_state(&without_timeouts, 1e-4) - expected).abs() < 1e-9);
    // p = 0.1: 0.1·√(0.4/3) + 1·min(1, 3·√0.075)·0.1·1.32 = 0.036515 + 0.108452.
    assert!((steady_state(&of, 0.1) - 1.0 / 0.144_967).abs() < 1e-3);
    let rates = [0.0, 0.001, 0.01, 0.1, 0.5].map(|loss| steady_state(&of, loss));
    assert!(rates.windows(2).all(|pair| pair[0] >= pair[1]) && rates[2] < 100.0, "{rates:?}");
}

/// The completion time of Eq. 8.4 and 8.5 as printed, from the moment at which the server sends,
/// with a threshold of 2^b segments.
fn as_printed(segments: u32, round_trip: f64, of_bottleneck: f64, rest: f64, b: u32) -> f64 {
    let threshold = 2_u32.pow(b);
    let within = |segments: u32| {
        let round = segments.ilog2();
        f64::from(round) * round_trip + f64::from(segments - 2_u32.pow(round) + 1) * of_bottleneck + rest
    };
    let beyond = segments.saturating_sub(threshold);
    within(segments.min(threshold)) + f64::from(beyond) * of_bottleneck
}

/// ceil(log2 x), and at least 0.
fn log2_up(x: f64) -> u32 {
    x.log2().ceil().max(0.0) as u32
}

fn paths() -> impl Strategy<Value = Path> {
    let hop = || (3.5..8.0_f64, 1e-4..0.3_f64).prop_map(|(rate, delay)| Hop::new(10_f64.powf(rate), delay));
    (hop(), hop()).prop_map(|(wireless, internet)| Path { wireless, internet })
}

fn transfers() -> impl Strategy<Value = Transfer> {
    (1_u32..300, 1_u32..100).prop_map(|(segments, window)| Transfer { segments, window })
}

fn agree(formula: &[f64], simulated: &[f64]) -> Result<(), TestCaseError> {
    prop_assert_eq!(formula.len(), simulated.len());
    for (place, (ours, theirs)) in zip(formula, simulated).enumerate() {
        prop_assert!((ours - theirs).abs() <= 1e-9 * theirs, "segment {}: {} and {}", place, ours, theirs);
    }
    Ok(())
}

proptest! {
    /// Every packet, on any path and with any window.
    #[test]
    fn arrivals_are_those_of_a_simulation(path in paths(), transfer in transfers()) {
        let (sizes, messages) = (TcpSizes::default(), ProxySizes::default());
        let formula = end_to_end(&path, &sizes, transfer).arrivals;
        agree(&formula, &simulation::end_to_end(&path, &sizes, transfer))?;
        for mode in ConnectMode::ALL {
            let formula = proxy(&path, &sizes, &Proxy::new(mode), transfer).arrivals;
            agree(&formula, &simulation::proxy(&path, &sizes, &messages, mode, transfer))?;
        }
    }

    /// Eq. 8.4: with a window as large as the pipe the rounds are what is printed.
    #[test]
    fn equation_8_4_is_met(path in paths(), segments in 1_u32..2000) {
        let (of_wireless, of_internet) = (path.wireless.sending(1500.0), path.internet.sending(1500.0));
        let (slower, faster) = (of_wireless.max(of_internet), of_wireless.min(of_internet));
        let round_trip = path.round_trip(1500.0, 52.0);
        let pipe = (round_trip / slower).ceil();
        let printed = as_printed(segments, round_trip, slower, faster + path.delay(), log2_up(pipe));
        let times = tcp(&path, Transfer { segments, window: pipe as u32 });
        let behind = of_internet.max(path.wireless.sending(52.0)) - of_internet;
        let ours = times.completion() - times.requested - path.internet.sending(52.0) - behind;
        prop_assert!((ours - printed).abs() <= 1e-9 * printed, "{} and {}", ours, printed);
    }

    /// Eq. 8.5, with c of at least 0.
    #[test]
    fn equation_8_5_is_met(path in paths(), segments in 1_u32..2000) {
        let (of_wireless, of_internet) = (path.wireless.sending(1500.0), path.internet.sending(1500.0));
        let round_trip = of_internet + path.internet.sending(52.0) + 2.0 * path.internet.delay;
        let (slower, faster) = (of_wireless.max(of_internet), of_wireless.min(of_internet));
        let threshold = if of_wireless > of_internet { round_trip / slower } else { (round_trip / slower).ceil() };
        let printed = as_printed(segments, round_trip, slower, faster + path.delay(), log2_up(threshold));
        let times = mode_0(&path, Transfer { segments, window: (round_trip / of_internet).ceil() as u32 });
        let ours = times.completion() - times.requested - path.internet.sending(52.0);
        prop_assert!((ours - printed).abs() <= 1e-9 * printed, "{} and {}", ours, printed);
    }

    /// More segments, longer delays and slower hops never make a transfer shorter.
    #[test]
    fn time_grows_with_size_and_delay(path in paths(), transfer in transfers(), more in 0.0..0.1_f64) {
        let times = |path: &Path, transfer| [tcp(path, transfer), mode_0(path, transfer)].map(|times| times.completion());
        let longer = Transfer { segments: transfer.segments + 1, ..transfer };
        let delayed = Hop::new(path.wireless.bits_per_second, path.wireless.delay + more);
        let far = Path { internet: Hop::new(path.internet.bits_per_second, path.internet.delay + more), ..path };
        let slow = Path { wireless: Hop::new(path.wireless.bits_per_second / (1.0 + more), path.wireless.delay), ..path };
        let narrow = Transfer { window: transfer.window.div_ceil(2), ..transfer };
        let before = times(&path, transfer);
        let others = [
            times(&path, longer),
            times(&Path { wireless: delayed, ..path }, transfer),
            times(&far, transfer),
            times(&slow, transfer),
            times(&path, narrow),
        ];
        for after in others {
            prop_assert!(zip(before, after).all(|(before, after)| after >= before * (1.0 - 1e-12)));
        }
    }

    /// A proxy whose messages are no longer than TCP's packets is never slower, in any mode, and
    /// each mode is at least as fast as the one before it.
    #[test]
    fn a_proxy_is_never_slower(path in paths(), transfer in transfers()) {
        let sizes = TcpSizes::default();
        let completion = |mode| proxy(&path, &sizes, &Proxy::new(mode), transfer).completion();
        let of_proxy = ConnectMode::ALL.map(completion);
        let slack = 1.0 + 1e-12;
        prop_assert!(of_proxy[0] <= tcp(&path, transfer).completion() * slack);
        prop_assert!(of_proxy[1] <= of_proxy[0] * slack && of_proxy[2] <= of_proxy[1] * slack);
    }

    /// A window that counts what the client has not taken makes nothing faster, and nothing slower
    /// if it holds the response.
    #[test]
    fn a_coupled_window_is_never_faster(path in paths(), transfer in transfers()) {
        let of = |updates, transfer| {
            let proxied = Proxy { updates, ..Proxy::new(ConnectMode::Confirmed) };
            proxy(&path, &TcpSizes::default(), &proxied, transfer).arrivals
        };
        let updates = Some(WindowUpdates::default());
        let (open, coupled) = (of(None, transfer), of(updates, transfer));
        prop_assert!(zip(&open, &coupled).all(|(open, coupled)| *coupled >= open * (1.0 - 1e-12)));
        let whole = Transfer { window: transfer.segments, ..transfer };
        agree(&of(None, whole), &of(updates, whole))?;
    }

    /// A message between the segments delays those behind it, by its own length at most, and none
    /// before it. Time that the proxy takes delays all.
    #[test]
    fn a_report_delays_what_is_behind_it(path in paths(), transfer in transfers(), behind in 0_usize..300, takes in 0.0..1e-3_f64) {
        let (sizes, plain) = (TcpSizes::default(), Proxy::new(ConnectMode::Confirmed));
        let before = proxy(&path, &sizes, &plain, transfer);
        // The proxy sends it right behind the segment before it.
        let reached = before.arrivals.get(behind.saturating_sub(1)).unwrap_or(&0.0);
        let at = (reached - path.wireless.delay - path.wireless.sending(1500.0)).max(0.0);
        let report = Some(Report { behind, at, bytes: 60.0 });
        let with = proxy(&path, &sizes, &Proxy { report, ..plain }, transfer);
        let sending = path.wireless.sending(60.0);
        for (number, (before, with)) in zip(&before.arrivals, &with.arrivals).enumerate() {
            let late = with - before;
            prop_assert!((-1e-9..=sending + 1e-9).contains(&late), "{}", late);
            prop_assert!(number >= behind || late.abs() <= 1e-12, "{} of {}", number, behind);
        }
        let handling = Handling { segment: takes, ..Handling::default() };
        let slow = proxy(&path, &sizes, &Proxy { handling, ..plain }, transfer);
        for (before, slow) in zip(&before.arrivals, &slow.arrivals) {
            prop_assert!((slow - before - takes).abs() <= 1e-9, "{} and {}", before, slow);
        }
    }

    #[test]
    fn arrivals_are_in_order(path in paths(), transfer in transfers()) {
        for times in [tcp(&path, transfer), mode_0(&path, transfer)] {
            prop_assert!(zip(&times.arrivals, &times.arrivals[1..]).all(|(one, next)| one < next));
            prop_assert!(times.established < times.requested && times.requested < times.arrivals[0]);
        }
    }
}
