//! Tests of the one-line form.

use super::*;
use proptest::prelude::*;

fn arq(text: &str) -> ArqSpec {
    text.parse().expect("a link layer")
}

fn refused(text: &str) -> String {
    text.parse::<ArqSpec>().expect_err("it cannot be had").to_string()
}

#[test]
fn defaults_are_those_of_the_standards() {
    assert_eq!(arq("rlp").to_string(), "rlp:n2=6,reset,t1=480ms,t2=80ms,window=61,delay=100ms");
    assert_eq!(arq("llp").to_string(), "llp:window=32,retries=255,disconnect");
    assert_eq!(arq("rlp"), ArqSpec::Rlp(RlpSpec::default()));
}

#[test]
fn each_parameter_is_taken() {
    let given = "rlp:n2=inf,t1=1s,t2=40ms,window=20,delay=60ms,give-up,go-back,throttle=960";
    let printed = "rlp:n2=inf,give-up,t1=1s,t2=40ms,window=20,delay=60ms,go-back,throttle=960";
    assert_eq!(arq(given).to_string(), printed);
    assert_eq!(arq(" llp: retries=3, reset,window=1").to_string(), "llp:window=1,retries=3,reset");
    assert_eq!(arq("llp:out-of-order").to_string(), "llp:window=32,retries=255,disconnect,out-of-order");
    assert_eq!(arq("llp:in-order"), arq("llp"));
}

/// The later one used to replace the earlier one silently.
#[test]
fn what_is_given_twice_is_refused() {
    for (given, part) in [
        ("rlp:n2=3,t1=1s,n2=4", "`n2=3` and `n2=4` exclude each other: remove one"),
        ("llp:out-of-order,in-order", "`out-of-order` and `in-order` exclude each other: remove one"),
        ("rlp:reset,give-up", "`reset` and `give-up` exclude each other: remove one"),
        ("rlp:go-back,selective", "`go-back` and `selective` exclude each other: remove one"),
    ] {
        assert!(refused(given).contains(part), "{}", refused(given));
    }
}

#[test]
fn what_is_wrong_is_named_with_what_would_be_right() {
    for (given, part) in [
        ("arq", "there is no link layer `arq`: use rlp["),
        ("rlp:n3=6", "there is no parameter `n3=6`: use rlp["),
        ("rlp:window=62", "window=62: expected 1 to 61 outstanding frames"),
        ("llp:window=33", "window=33: expected 1 to 32 outstanding frames"),
        ("llp:n2=3", "there is no parameter `n2=3`: use rlp["),
        ("rlp:n2=0", "n2=0: expected a number of retransmissions, 1 to 255 or inf"),
        ("rlp:t1=50ms", "t1=50ms: expected a multiple of 20ms, up to 20s"),
        ("rlp:throttle=0", "throttle=0: expected 10 to 100000 octets per second, such as 960"),
    ] {
        assert!(refused(given).contains(part), "{given}: {}", refused(given));
    }
}

proptest! {
    #[test]
    fn what_is_printed_reads_back_the_same(
        n2 in proptest::option::of(1u16..=255),
        window in 1u16..=32,
        t1 in 1u16..=1000,
        then in prop_oneof![Just(Then::Reset), Just(Then::GiveUp), Just(Then::Disconnect)],
        throttle in proptest::option::of(10u32..=100_000),
        delay in 0u64..1_000_000,
        back in any::<bool>(),
    ) {
        let persistency = Persistency { retransmissions: n2, then };
        let recovery = if back { Recovery::GoBack } else { Recovery::Selective };
        let parameters = Parameters {
            persistency, recovery, t1_ticks: t1, send_window: window, receive_window: window, ..Parameters::default()
        };
        let rlp = ArqSpec::Rlp(RlpSpec { parameters, throttle, delay: Span::from_micros(delay) });
        prop_assert_eq!(arq(&rlp.to_string()), rlp);
        let order = if back { Order::AsReceived } else { Order::InSequence };
        let llp = ArqSpec::Llp(LlpSpec { window, persistency, order });
        prop_assert_eq!(arq(&llp.to_string()), llp);
    }
}
