//! A script that does not hold says so: the line, the expected event, the actual event.

use crate::script::Script;
use crate::{verdict, verdict::mismatches, world};

/// Two packets on a link of 1 Mbit/s with room for one more: 1 ms each; #2 is lost.
fn script(changed: &[(&str, &str)]) -> String {
    let mut text = "\
--down rate=1mbit,queue=1p
0    > down 125B
0    > down 125B
0    > down 125B
0    x down #2 125B queue full
1ms  < down #0 125B
2ms  < down #1 125B
"
    .to_owned();
    for (from, to) in changed {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    text
}

#[track_caller]
fn wrong(changed: &[(&str, &str)], expected: &[&str]) {
    assert_eq!(verdict("a.pkt", &script(changed)).expect("a script"), expected);
}

#[track_caller]
fn unreadable(changed: &[(&str, &str)], expected: &str) {
    let error = verdict("a.pkt", &script(changed)).expect_err("an error");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_right_script_holds() {
    wrong(&[], &[]);
}

#[test]
fn the_script_that_explains_the_format_holds() {
    let text = include_str!("../../../../ARCHITECTURE.md");
    let (_, text) = text.split_once("## Packet scripts").expect("the section");
    let block = text.split("```").nth(1).and_then(|block| block.strip_prefix("text\n")).expect("the example");
    assert!(block.contains("--profile gsm"), "{block}");
    assert_eq!(verdict("ARCHITECTURE.md", block).expect("a script"), [""; 0]);
}

/// The arithmetic of `two-states.pkt` does not depend on random numbers (TL-09).
#[test]
fn ticks_that_all_end_their_state_are_the_same_for_every_seed() {
    let text = include_str!("two-states.pkt");
    assert!(text.contains("--seed 7\n"));
    for seed in 0..20 {
        let text = text.replace("--seed 7\n", &format!("--seed {seed}\n"));
        assert_eq!(verdict("two-states.pkt", &text).expect("a script"), [""; 0], "seed {seed}");
    }
}

#[test]
fn a_nanosecond_is_too_late_or_too_early() {
    wrong(
        &[("2ms ", "2.000001ms ")],
        &["a.pkt:7: expected: 0.002000001 < down #1 125B\na.pkt:7:   actual: 0.002000000 < down #1 125B"],
    );
    wrong(
        &[("1ms ", "0.999999ms ")],
        &["a.pkt:6: expected: 0.000999999 < down #0 125B\na.pkt:6:   actual: 0.001000000 < down #0 125B"],
    );
    let later = ("0    x down", "1ns  x down");
    wrong(
        &[later],
        &["a.pkt:5: expected: 0.000000001 x down #2 125B queue full\n\
           a.pkt:5:   actual: 0.000000000 x down #2 125B queue full"],
    );
}

#[test]
fn a_packet_that_does_not_come_out_is_missed() {
    wrong(
        &[("0    x down #2 125B queue full\n", ""), ("#1 125B\n", "#1 125B\n3ms  < down #2 125B\n")],
        &["a.pkt:7: expected: 0.003000000 < down #2 125B\n\
           a.pkt:7:   actual: 0.000000000 x down #2 125B queue full"],
    );
    // A copy that the link does not make.
    wrong(
        &[("#1 125B\n", "#1 125B\n2ms  < down #1 125B duplicate\n")],
        &["a.pkt:8: expected: 0.002000000 < down #1 125B duplicate\na.pkt:8:   actual: nothing"],
    );
}

#[test]
fn a_packet_that_comes_out_unasked_is_found() {
    wrong(
        &[("2ms  < down #1 125B\n", "")],
        &["a.pkt:3: expected: nothing more of this packet\na.pkt:3:   actual: 0.002000000 < down #1 125B"],
    );
    wrong(
        &[("queue=1p", "queue=1p,duplicate=100%")],
        &[
            "a.pkt:2: expected: nothing more of this packet\n\
             a.pkt:2:   actual: 0.001000000 < down #0 125B duplicate",
            "a.pkt:3: expected: nothing more of this packet\n\
             a.pkt:3:   actual: 0.002000000 < down #1 125B duplicate",
        ],
    );
}

#[test]
fn a_loss_has_its_reason_and_its_packet() {
    wrong(
        &[("queue full", "outage")],
        &["a.pkt:5: expected: 0.000000000 x down #2 125B outage\n\
           a.pkt:5:   actual: 0.000000000 x down #2 125B queue full"],
    );
    let swapped = [("x down #2", "x down #1"), ("< down #1", "< down #2")];
    wrong(
        &swapped,
        &[
            "a.pkt:5: expected: 0.000000000 x down #1 125B queue full\n\
             a.pkt:5:   actual: 0.002000000 < down #1 125B",
            "a.pkt:7: expected: 0.002000000 < down #2 125B\n\
             a.pkt:7:   actual: 0.000000000 x down #2 125B queue full",
        ],
    );
}

/// Mismatches for an emulator that swallows packets, or takes them in late.
#[test]
fn a_packet_that_disappears_is_missed_though_nobody_speaks_of_it() {
    let text = script(&[("2ms  < down #1 125B\n", "")]);
    let script = Script::parse("a.pkt", &text).expect("a script");
    let mut account = world::run(&script).expect("a run");
    account.left.pop();
    account.arrivals[2].at += link::units::Span::from_nanos(1);
    account.arrivals.remove(0);
    let wrong: Vec<_> = mismatches(&script, &account).iter().map(ToString::to_string).collect();
    assert_eq!(
        wrong,
        [
            "a.pkt:2: expected: 0.000000000 > down #0 125B\na.pkt:2:   actual: nothing",
            "a.pkt:3: expected: an end of this packet\na.pkt:3:   actual: nothing",
            "a.pkt:4: expected: 0.000000000 > down #2 125B\na.pkt:4:   actual: 0.000000001 > down #2 125B",
        ]
    );
}

#[test]
fn what_the_link_did_to_a_packet_is_said() {
    wrong(
        &[("2ms  < down #1 125B", "2ms  < down #1 125B held for 1ms")],
        &["a.pkt:7: expected: 0.002000000 < down #1 125B held for 1ms\n\
           a.pkt:7:   actual: 0.002000000 < down #1 125B"],
    );
}

#[test]
fn packets_that_leave_at_one_instant_have_an_order() {
    let text = "0 > down 100B\n0 > up 100B\n0 < down 100B\n0 < up 100B\n";
    assert_eq!(
        verdict("a.pkt", text).expect("a script"),
        ["a.pkt:3: expected: 0.000000000 < down #0 100B next\n\
          a.pkt:3:   actual: 0.000000000 < up #0 100B before it"]
    );
}

#[test]
fn what_cannot_be_read_names_its_line() {
    unreadable(&[("rate=1mbit", "rat=1mbit")], "a.pkt:1: rat=1mbit: there is no `rat`: did you mean `rate`?");
    unreadable(
        &[("--down", "--sideways")],
        "a.pkt:1: there is no --sideways: there are --up, --down, --profile, --loss, --arq, --seed",
    );
    unreadable(&[("2ms ", "0.0020000001 ")], "a.pkt:7: `0.0020000001` is finer than a nanosecond");
    unreadable(
        &[("2ms ", "2mins ")],
        "a.pkt:7: `2mins` is no time: write it like 0.034, 34ms, 34000us or 34000000ns",
    );
    unreadable(
        &[("2ms ", "0.9ms ")],
        "a.pkt:7: 0.000900000 lies before 0.001000000, the time of the line above",
    );
    unreadable(
        &[("2ms  < down #1", "2ms  < down #7")],
        "a.pkt:7: no packet #7 has come down above this line",
    );
    unreadable(&[("2ms  < down #1", "2ms  < down #0")], "a.pkt:7: what becomes of down #0 is said above");
    unreadable(&[("#1 125B", "#1 124B")], "a.pkt:7: down #1 came with 125B");
    unreadable(
        &[("#1 125B", "#1 125")],
        "a.pkt:7: `125`: write a packet as #NUMBER LENGTH, such as #3 1000B or 1000B",
    );
    unreadable(
        &[("2ms  <", "2ms  =")],
        "a.pkt:7: `=`: write it as TIME > DIRECTION LENGTH, with one of > < x !",
    );
    unreadable(&[("2ms  < down", "2ms  < left")], "a.pkt:7: `left` is no direction: say up or down");
    let error = verdict("a.pkt", &script(&[("queue full", "queue")])).expect_err("an error").to_string();
    assert!(error.starts_with("a.pkt:5: `queue` is no reason for a loss: there are queue full, "), "{error}");
}

#[test]
fn a_file_in_a_script_carries_the_script_s_lines() {
    let text = "# A profile.\n--profile link.toml\nfile link.toml\n| kind = \"link\"\n| titel = \"\"\n";
    let error = verdict("a.pkt", text).expect_err("an error").to_string();
    assert!(error.starts_with("a.pkt:2: a.pkt: TOML parse error at line 5, column 1"), "{error}");
}

#[test]
fn a_change_that_the_link_refuses_names_its_line() {
    let text = "--down rate=1mbit\n1ms ! down jitter=5ms\n";
    let error = verdict("a.pkt", text).expect_err("an error").to_string();
    assert_eq!(error, "a.pkt:2: jitter=5ms: jitter needs a delay: give delay=... as well");
}
