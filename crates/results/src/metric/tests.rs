use super::*;
use crate::Verdict;
use crate::example::{campaign, connection};

/// A connection that delivered 100 bytes between two seconds, with so many segments and retransmissions.
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

/// Of a connection with so many samples, half of them at most this.
fn delays(median_ms: u64, samples: u64) -> RoundTrips {
    let median = median_ms * 1_000_000;
    RoundTrips { samples, median_ns: median, p95_ns: 2 * median, ..RoundTrips::default() }
}

#[test]
fn several_connections_add_up() {
    let run = [transfer(1, 4, 90, 9), transfer(2, 6, 10, 1)];
    let of = |metric: Metric| metric.of_run(&run, None);
    assert_eq!(of(Metric::Goodput), Some(320.0), "200 bytes in 5 seconds");
    assert_eq!(of(Metric::Completion), Some(5.0));
    assert_eq!(of(Metric::Retransmissions), Some(10.0));
    assert_eq!(of(Metric::RetransmissionRate), Some(10.0), "of all segments, not the mean of the rates");
    assert_eq!(of(Metric::Timeouts), Some(2.0));
    assert_eq!(of(Metric::Bytes), Some(200.0));
}

#[test]
fn pauses_between_requests_do_not_count() {
    let run = [transfer(0, 1, 1, 0), transfer(7, 8, 1, 0)];
    assert_eq!(Metric::Goodput.of_run(&run, None), Some(800.0));
    let program = Connection { protocol: Protocol::Program, bytes: 0, ..transfer(0, 100, 0, 0) };
    let [first, second] = run;
    assert_eq!(Metric::Goodput.of_run(&[program.clone(), first, second], None), Some(800.0));
    // What it carried is not known without a capture: that is not nothing.
    assert_eq!(Metric::Goodput.of_run(std::slice::from_ref(&program), None), None);
    assert_eq!(Metric::Bytes.of_run(std::slice::from_ref(&program), None), None);
    assert_eq!(Metric::Completion.of_run(&[program.clone(), transfer(1, 103, 1, 0)], None), Some(100.0));
    assert_eq!(Metric::Completion.of_run(&[program], None), Some(100.0));
}

#[test]
fn fairness_is_jains_index_of_all_connections() {
    let of = |goodputs: &[f64]| {
        let rows: Vec<_> =
            goodputs.iter().map(|&goodput_bps| Connection { goodput_bps, ..connection("any", 1) }).collect();
        Metric::Fairness.of_run(&rows, None)
    };
    assert_eq!(of(&[5.0, 5.0, 5.0, 5.0]), Some(1.0));
    assert_eq!(of(&[8.0, 0.0, 0.0, 0.0]), Some(0.25));
    // (1 + 3)^2 / (2 * 10)
    assert_eq!(of(&[1.0, 3.0]), Some(0.8));
    assert_eq!(of(&[1.0]), None);
    assert_eq!(of(&[0.0, 0.0]), None);
}

#[test]
fn delays_have_the_weight_of_their_samples() {
    let with = |delays| Connection { round_trips: Some(delays), ..connection("bulk", 1) };
    let without = connection("bulk", 1);
    let run = [with(delays(300, 10)), with(delays(50, 11)), without.clone(), with(delays(700, 0))];
    assert_eq!(Metric::Rtt.of_run(&run, None), Some(50.0));
    assert_eq!(Metric::RttP95.of_run(&run, None), Some(100.0));
    let run = [with(delays(300, 12)), with(delays(50, 11))];
    assert_eq!(Metric::Rtt.of_run(&run, None), Some(300.0));
    assert_eq!(Metric::Rtt.of_run(&run[..1], None), Some(300.0));
    assert_eq!(Metric::Rtt.of_run(&[without, with(delays(1, 0))], None), None);
}

#[test]
fn a_workload_that_is_not_named_is_the_first() {
    let run = [connection("voice", 1), connection("bulk", 20), connection("voice", 2)];
    let bytes = |workload| Metric::Bytes.of_run(&run, workload);
    assert_eq!(bytes(None), Some(3.0));
    assert_eq!(bytes(Some("bulk")), Some(20.0));
    assert_eq!(bytes(Some("web")), None);
    assert_eq!(Metric::Bytes.of_run(&[], None), None);
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
    assert_eq!(Metric::Loss.of_run(&datagrams, None), Some(8.0));
    assert_eq!(Metric::Loss.of_run(&tcp, None), None);
    assert_eq!(Metric::RetransmissionRate.of_run(&tcp, None), None, "of no segments");
    for metric in [Metric::Retransmissions, Metric::RetransmissionRate, Metric::Timeouts, Metric::Completion]
    {
        assert_eq!(metric.of_run(&datagrams, None), None, "{metric}");
    }
}

#[test]
fn a_cells_values_are_those_of_the_runs_that_count() {
    let runs = [
        (0, Verdict::Good, 1.0),
        (1, Verdict::Good, 2.0),
        (0, Verdict::Overloaded, 3.0),
        (0, Verdict::Failed, 4.0),
        (0, Verdict::Good, 5.0),
    ];
    let directory = campaign(&runs);
    let values = |overloaded| cell_values(&directory, 0, Metric::Goodput, None, overloaded);
    assert_eq!((values(false), values(true)), (vec![1.0, 5.0], vec![1.0, 3.0, 5.0]));
    assert!(cell_values(&directory, 9, Metric::Goodput, None, true).is_empty());
    assert!(cell_values(&directory, 0, Metric::Rtt, None, true).is_empty());
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
    let all = "goodput, completion, retransmissions, retransmission-rate, timeouts, rtt, rtt-p95, loss, bytes, fairness";
    let error = |name: &str| name.parse::<Metric>().unwrap_err().to_string();
    assert_eq!(
        error("godput"),
        format!("there is no metric `godput` (there is {all}), did you mean `goodput`?")
    );
    assert_eq!(error("jitter"), format!("there is no metric `jitter` (there is {all})"));
}
