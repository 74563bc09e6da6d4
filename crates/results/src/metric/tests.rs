use super::*;
use crate::example::{campaign, connection, run};
use crate::{RunVerdict, SessionCounts};
use std::collections::BTreeMap;

/// Returns the value for a run without TCP Lite.
fn value(metric: Metric, rows: &[Connection], workload: &str) -> Option<f64> {
    metric.of_run(&run(0, 0), rows, workload)
}

/// A connection that delivered 100 bytes between two times in seconds, with these numbers of
/// segments and retransmissions.
fn transfer(start: u64, end: u64, segments: u64, retransmissions: u64) -> Connection {
    Connection {
        start_ns: start * 1_000_000_000,
        end_ns: end * 1_000_000_000,
        segments,
        retransmissions,
        timeouts: 1,
        ..connection("bulk", 100)
    }
}

/// Delays of a connection with this median and number of samples.
fn delays(median_ms: u64, samples: u64) -> RoundTrips {
    let median = median_ms * 1_000_000;
    RoundTrips { samples, median_ns: median, p95_ns: 2 * median, ..RoundTrips::default() }
}

#[test]
fn several_connections_add_up() {
    let rows = [transfer(1, 4, 90, 9), transfer(2, 6, 10, 1)];
    let of = |metric: Metric| value(metric, &rows, "bulk");
    assert_eq!(of(Metric::Goodput), Some(320.0), "200 bytes in 5 seconds");
    assert_eq!(of(Metric::Completion), Some(5.0));
    assert_eq!(of(Metric::Retransmissions), Some(10.0));
    assert_eq!(of(Metric::RetransmissionRate), Some(10.0), "of all segments, not the mean of the rates");
    assert_eq!(of(Metric::Timeouts), Some(2.0));
    assert_eq!(of(Metric::Bytes), Some(200.0));
}

#[test]
fn pauses_between_requests_do_not_count() {
    let rows = [transfer(0, 1, 1, 0), transfer(7, 8, 1, 0)];
    assert_eq!(value(Metric::Goodput, &rows, "bulk"), Some(800.0));
    let program = Connection { protocol: Protocol::Program, bytes: 0, ..transfer(0, 100, 0, 0) };
    let [first, second] = rows;
    assert_eq!(value(Metric::Goodput, &[program.clone(), first, second], "bulk"), Some(800.0));
    // Without a capture, what it carried is unknown, not 0.
    assert_eq!(value(Metric::Goodput, std::slice::from_ref(&program), "bulk"), None);
    assert_eq!(value(Metric::Bytes, std::slice::from_ref(&program), "bulk"), None);
    assert_eq!(value(Metric::Completion, &[program.clone(), transfer(1, 103, 1, 0)], "bulk"), Some(100.0));
    assert_eq!(value(Metric::Completion, &[program], "bulk"), Some(100.0));
}

#[test]
fn fairness_is_jains_index_of_all_connections() {
    let of = |goodputs: &[f64]| {
        let rows: Vec<_> =
            goodputs.iter().map(|&goodput_bps| Connection { goodput_bps, ..connection("any", 1) }).collect();
        value(Metric::Fairness, &rows, "any")
    };
    assert_eq!(of(&[5.0, 5.0, 5.0, 5.0]), Some(1.0));
    assert_eq!(of(&[8.0, 0.0, 0.0, 0.0]), Some(0.25));
    // (1 + 3)^2 / (2 * 10)
    assert_eq!(of(&[1.0, 3.0]), Some(0.8));
    assert_eq!(of(&[1.0]), None);
    assert_eq!(of(&[0.0, 0.0]), None);
}

/// The row of sessions says what was offered, and takes no part in fairness.
#[test]
fn sessions_of_cross_traffic_offer_a_load() {
    let counts = SessionCounts { arriving_ns: 2_000_000_000, offered_bytes: 500, ..SessionCounts::default() };
    let crowd = Connection { sessions: Some(counts), goodput_bps: 1.0, ..connection("crowd", 400) };
    let rows = [Connection { goodput_bps: 5.0, ..connection("bulk", 1) }, crowd, connection("bulk", 1)];
    assert_eq!(value(Metric::OfferedLoad, &rows, "crowd"), Some(2000.0));
    assert_eq!(value(Metric::OfferedLoad, &rows, "bulk"), None);
    assert_eq!(value(Metric::Fairness, &rows[..2], "bulk"), None, "a single connection");
    assert!(value(Metric::Fairness, &rows, "bulk").is_some());
    let none = [Connection { sessions: Some(SessionCounts::default()), ..connection("crowd", 0) }];
    assert_eq!(value(Metric::OfferedLoad, &none, "crowd"), None);
}

#[test]
fn delays_have_the_weight_of_their_samples() {
    let with = |delays| Connection { round_trips: Some(delays), ..connection("bulk", 1) };
    let without = connection("bulk", 1);
    let rows = [with(delays(300, 10)), with(delays(50, 11)), without.clone(), with(delays(700, 0))];
    assert_eq!(value(Metric::Rtt, &rows, "bulk"), Some(50.0));
    assert_eq!(value(Metric::RttP95, &rows, "bulk"), Some(100.0));
    let rows = [with(delays(300, 12)), with(delays(50, 11))];
    assert_eq!(value(Metric::Rtt, &rows, "bulk"), Some(300.0));
    assert_eq!(value(Metric::Rtt, &rows[..1], "bulk"), Some(300.0));
    assert_eq!(value(Metric::Rtt, &[without, with(delays(1, 0))], "bulk"), None);
}

#[test]
fn a_workload_that_is_not_named_is_the_first() {
    let rows = [connection("voice", 1), connection("bulk", 20), connection("voice", 2)];
    let bytes = |workload| value(Metric::Bytes, &rows, workload);
    assert_eq!(bytes("voice"), Some(3.0));
    assert_eq!(bytes("bulk"), Some(20.0));
    assert_eq!(bytes("web"), None);
    assert_eq!(value(Metric::Bytes, &[], "bulk"), None);
}

#[test]
fn no_value_where_the_metric_does_not_apply() {
    let datagrams = Connection {
        protocol: Protocol::Udp,
        complete: false,
        segments: 50,
        lost: 4,
        ..connection("voice", 1)
    };
    let (tcp, datagrams) = ([transfer(0, 1, 0, 0)], [datagrams]);
    assert_eq!(value(Metric::Loss, &datagrams, "voice"), Some(8.0));
    assert_eq!(value(Metric::Loss, &tcp, "bulk"), None);
    assert_eq!(value(Metric::RetransmissionRate, &tcp, "bulk"), None, "of no segments");
    for metric in [Metric::Retransmissions, Metric::RetransmissionRate, Metric::Timeouts, Metric::Completion]
    {
        assert_eq!(value(metric, &datagrams, "voice"), None, "{metric}");
    }
}

/// Figures of the whole run apply to any of its workloads, and are not 0 if unknown.
#[test]
fn what_tcp_lite_did_is_the_runs() {
    let lite = LiteTotals { damaged: 40, accepted: 30, ..LiteTotals::default() };
    let with = RunRecord { lite: Some(lite), ..run(0, 0) };
    let rows = [connection("bulk", 1), connection("voice", 1)];
    for workload in ["bulk", "voice"] {
        let of = |metric: Metric| metric.of_run(&with, &rows, workload);
        assert_eq!(of(Metric::DamagedSegments), Some(40.0));
        assert_eq!(of(Metric::AcceptedSegments), Some(30.0));
        assert_eq!(of(Metric::Salvaged), Some(75.0));
    }
    let nothing = RunRecord { lite: Some(LiteTotals::default()), ..run(0, 0) };
    assert_eq!(Metric::DamagedSegments.of_run(&nothing, &rows, "bulk"), Some(0.0));
    assert_eq!(Metric::Salvaged.of_run(&nothing, &rows, "bulk"), None, "a share of nothing");
    for metric in [Metric::DamagedSegments, Metric::AcceptedSegments, Metric::Salvaged] {
        assert_eq!(value(metric, &rows, "bulk"), None, "{metric}");
    }
}

#[test]
fn wrong_data_are_those_of_connections_that_were_looked_at() {
    let seen = |wrong, misplaced| Connection {
        wrong_bytes: Some(wrong),
        misplaced: Some(misplaced),
        ..connection("bulk", 1)
    };
    let rows = [seen(5, 1), seen(0, 0), connection("bulk", 1), seen(7, 3)];
    assert_eq!(value(Metric::WrongBytes, &rows, "bulk"), Some(12.0));
    assert_eq!(value(Metric::Misplaced, &rows, "bulk"), Some(4.0));
    assert_eq!(value(Metric::WrongBytes, &rows[1..3], "bulk"), Some(0.0));
    assert_eq!(value(Metric::WrongBytes, &rows[2..3], "bulk"), None);
}

#[test]
fn a_cells_values_are_those_of_the_runs_that_count() {
    let runs = [
        (0, RunVerdict::Good, 1.0),
        (1, RunVerdict::Good, 2.0),
        (0, RunVerdict::Overloaded, 3.0),
        (0, RunVerdict::Failed, 4.0),
        (0, RunVerdict::Good, 5.0),
    ];
    let directory = campaign(&runs);
    let values = |overloaded| cell_values(&directory, 0, Metric::Goodput, "bulk", overloaded);
    assert_eq!((values(false), values(true)), (vec![1.0, 5.0], vec![1.0, 3.0, 5.0]));
    assert!(cell_values(&directory, 9, Metric::Goodput, "bulk", true).is_empty());
    assert!(cell_values(&directory, 0, Metric::Rtt, "bulk", true).is_empty());
}

#[test]
fn names_are_the_same_everywhere() {
    for metric in Metric::ALL {
        assert_eq!(metric.name().parse(), Ok(metric));
        assert_eq!(serde_json::to_string(&metric).unwrap(), format!("\"{metric}\""));
    }
}

#[test]
fn a_wrong_name_is_answered_with_the_right_ones() {
    let all = "goodput, completion, retransmissions, retransmission-rate, timeouts, rtt, rtt-p95, loss, bytes, offered-load, fairness, damaged-segments, accepted-segments, salvaged, wrong-bytes, misplaced, loss-events, wireless-recognized, congestion-recognized, taken-for-wireless, counted-right";
    let error = |name: &str| name.parse::<Metric>().unwrap_err().to_string();
    assert_eq!(
        error("godput"),
        format!("there is no metric `godput`: did you mean `goodput`? (expected one of {all})")
    );
    assert_eq!(error("jitter"), format!("there is no metric `jitter` (expected one of {all})"));
}

/// Shares of right verdicts among those of a detector, and of right counts n (ltcp-newzag 3.10.3).
#[test]
fn verdicts_are_counted_by_what_the_losses_were() {
    use crate::loss_event::tests::event;
    use crate::{LossEvent, LossKind};
    use capture::senders::LossVerdict as Taken;
    let losses = vec![
        event(Cause::Wireless, Taken::Wireless),
        event(Cause::Wireless, Taken::Congestion),
        event(Cause::Congestion, Taken::Congestion),
        LossEvent { lost: 2, ..event(Cause::Mixed, Taken::Congestion) },
        LossEvent { kind: LossKind::Timeout, ..event(Cause::Congestion, Taken::Congestion) },
    ];
    let rows = [
        Connection { losses: Some(losses), ..connection("bulk", 1) },
        Connection { losses: Some(vec![event(Cause::Wireless, Taken::Wireless)]), ..connection("bulk", 1) },
        Connection { losses: None, ..connection("bulk", 1) },
    ];
    let of = |metric: Metric| value(metric, &rows, "bulk");
    assert_eq!(of(Metric::LossEvents), Some(6.0));
    assert_eq!(of(Metric::WirelessRecognized), Some(200.0 / 3.0));
    assert_eq!(of(Metric::CongestionRecognized), Some(100.0));
    assert_eq!(of(Metric::TakenForWireless), Some(40.0));
    assert_eq!(of(Metric::CountedRight), Some(80.0));
    let none = [connection("bulk", 1)];
    for metric in [Metric::LossEvents, Metric::WirelessRecognized, Metric::CountedRight] {
        assert_eq!(value(metric, &none, "bulk"), None, "nobody looked");
    }
    let quiet = [Connection { losses: Some(vec![]), ..connection("bulk", 1) }];
    assert_eq!(value(Metric::LossEvents, &quiet, "bulk"), Some(0.0));
    assert_eq!(value(Metric::WirelessRecognized, &quiet, "bulk"), None, "a share of nothing");
}

/// A program reports a figure, which has a name and a unit of its own.
#[test]
fn a_figure_of_a_program_is_a_metric() {
    let figures = BTreeMap::from([("load_s".to_owned(), 1.5)]);
    let program = Connection { protocol: Protocol::Program, figures, ..connection("page", 0) };
    let load: Metric = "figure.load_s".parse().unwrap();
    assert_eq!(value(load, &[connection("page", 5), program.clone()], "page"), Some(1.5));
    assert_eq!(value(load, std::slice::from_ref(&program), "other"), None);
    assert_eq!(value("figure.paint_s".parse().unwrap(), &[program], "page"), None);
    assert_eq!((load.name(), load.title(), load.unit()), ("figure.load_s", "load_s", "s"));
    assert_eq!((load.better(), load.is_plain_number()), (Some(Better::Lower), false));
    let written = serde_json::to_string(&load).unwrap();
    assert_eq!(written, "\"figure.load_s\"");
    assert_eq!(serde_json::from_str::<Metric>(&written).unwrap(), load);
    assert!("figure.Load".parse::<Metric>().is_err());
}
