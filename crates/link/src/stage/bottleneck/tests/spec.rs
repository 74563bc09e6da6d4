//! Tests of the notation of a bottleneck in a profile.

use super::*;
use crate::units::ByteCount;

fn read(toml: &str) -> BottleneckSpec {
    toml::from_str(toml).unwrap_or_else(|error| panic!("{toml}: {error}"))
}

fn refused(toml: &str) -> String {
    toml::from_str::<BottleneckSpec>(toml).expect_err(toml).to_string()
}

#[test]
fn what_is_written_reads_back() {
    for toml in [
        "",
        "rate = \"11Mbit\"\nqueue = \"50p\"",
        "rate = \"inf\"\nqueue = \"64kB\"\ncounted = \"wire\"",
        "queue = \"200ms\"\ncounted = 24",
        "queue = \"inf\"\ncounted = \"ethernet\"",
        "rate = { mahimahi = \"a.up\" }",
        "rate = { mahimahi = \"a.up\", once = true }",
        "rate = { theaterq = \"a.csv\", at_end = \"hold\" }\nqueue = { kind = \"trace\", limit_in = \"bytes\" }",
        "queue = { kind = \"drop-tail\", limit = \"1500B\" }",
        "queue = { kind = \"drop-head\", limit = \"100ms\" }",
        "queue = { kind = \"codel\" }",
        "queue = { kind = \"codel\", target = \"10ms\", interval = \"200ms\", limit = \"inf\", ecn = true }",
        "queue = { kind = \"red\", min = \"5p\", max = \"15p\" }",
        "queue = \"fq-codel\"",
        "queue = { kind = \"fq-codel\", target = \"1ms\", quantum = \"300B\", flows = 16, limit = \"50kB\", ecn = false }",
        "queue = \"pie\"",
        "queue = { kind = \"pie\", target = \"5ms\", tupdate = \"8ms\", alpha = 0.5, beta = 2.0, burst = \"0ms\", ecn = true, ecn_threshold = \"20%\" }",
        "queue = \"dualpi2\"",
        "queue = { kind = \"dualpi2\", coupling = 3.0, step = \"2ms\", c_share = \"20%\", limit = \"100p\" }",
        "queue = \"sfq\"",
        "queue = { kind = \"sfq\", quantum = \"300B\", perturb = \"10s\", depth = 9, flows = 8, buckets = 64, limit = \"50p\" }",
        "queue = { kind = \"red\", min = \"5kB\", max = \"15kB\", probability = \"10%\", weight = 0.01, packet = \"500B\", gentle = true, ecn = true, limit = \"50kB\" }",
    ] {
        let spec = read(toml);
        let written = toml::to_string(&spec).expect("can be written");
        assert_eq!(read(&written), spec, "{toml}\n{written}");
    }
}

#[test]
fn short_forms_mean_what_they_look_like() {
    let queue = |text: &str| read(&format!("queue = \"{text}\"")).queue;
    assert_eq!(queue("50p"), QueueSpec::drop_tail(Limit::Packets(50)));
    assert_eq!(queue("64kB"), QueueSpec::drop_tail(Limit::Bytes(ByteCount::new(64_000))));
    assert_eq!(queue("200ms"), QueueSpec::drop_tail(Limit::Time(Span::from_millis(200))));
    assert_eq!(queue("inf"), QueueSpec::drop_tail(Limit::Unlimited));
    assert_eq!(queue("fq-codel"), QueueSpec::FqCoDel(FqCoDelSpec::default()));
    assert_eq!(queue("pie"), QueueSpec::Pie(PieSpec::default()));
    assert_eq!(queue("dualpi2"), QueueSpec::DualPi2(DualPi2Spec::default()));
    assert_eq!(queue("sfq"), QueueSpec::Sfq(SfqSpec::default()));
    assert_eq!(read("").rate, RateSpec::Unlimited);
    assert_eq!(
        toml::to_string(&read("queue = \"50p\"")).expect("can be written"),
        "rate = \"inf\"\nqueue = \"50p\"\ncounted = \"ip\"\n"
    );
}

#[test]
fn what_cannot_be_is_refused_with_what_can() {
    assert!(refused("queue = \"50\"").contains("write it like 50p, 64kB, 200ms or inf"));
    assert!(refused("queue = \"-1p\"").contains("write it like 50p"));
    assert!(refused("rate = \"50\"").contains("write it like 384kbit"));
    assert!(refused("rate = 11").contains("a rate like"));
    assert!(refused("counted = \"atm\"").contains("`ip`, `ethernet`, `wire` or a number of bytes"));
    assert!(refused("counted = -1").contains("number of bytes"));
    assert!(refused("queue = { kind = \"fifo\" }").contains("drop-tail"));
    assert!(refused("queue = { kind = \"codel\", traget = \"5ms\" }").contains("traget"));
    assert!(refused("queue = { kind = \"drop-head\", limit = \"5p\", ecn = true }").contains("ecn"));
    assert!(refused("rate = { mahimahi = \"x\", at_end = \"hold\" }").contains("mahimahi = FILE"));
    assert!(refused("speed = \"1Mbit\"").contains("speed"));
}

#[test]
fn parameters_that_make_no_sense_are_refused_by_name() {
    let refused = |toml: &str| Bottleneck::new(read(toml), &Seed::campaign(1)).expect_err(toml).to_string();
    assert_eq!(
        refused("queue = { kind = \"red\", min = \"15p\", max = \"5p\" }"),
        "max = 5p: must be above min"
    );
    assert_eq!(
        refused("queue = { kind = \"red\", min = \"5p\", max = \"5kB\" }"),
        "min = 5p and max = 5kB: both must be packets, like 5p, or both bytes, like 7500B"
    );
    assert!(
        refused("queue = { kind = \"red\", min = \"5p\", max = \"9p\", weight = 2.0 }")
            .starts_with("weight = 2")
    );
    assert!(
        refused("queue = { kind = \"red\", min = \"5p\", max = \"9p\", packet = \"0B\" }")
            .starts_with("packet")
    );
    assert!(refused("queue = { kind = \"codel\", interval = \"0ms\" }").starts_with("interval = 0ms"));
    assert!(refused("queue = { kind = \"trace\" }").contains("needs a rate with a TheaterQ trace"));
    assert!(refused("rate = { theaterq = \"x.csv\" }").contains("x.csv has not been read yet"));
}

#[test]
fn it_prints_what_it_does_and_what_counts() {
    let spec = read("rate = \"11Mbit\"\nqueue = \"50p\"");
    assert_eq!(spec.to_string(), "11Mbit/s counted at IP, drop-tail 50p");
    let spec = read("queue = { kind = \"codel\", ecn = true }\ncounted = 8");
    assert_eq!(
        spec.to_string(),
        "unlimited counted at IP + 8 B, CoDel target 5ms interval 100ms limit 1000p ECN"
    );
}

#[test]
fn files_are_read_through_the_function_that_load_is_given() {
    let mut spec = read("rate = { mahimahi = \"a.up\" }");
    spec.load(&mut |name| Ok(format!("{}\n", name.len()))).expect("a trace");
    assert!(Bottleneck::new(spec.clone(), &Seed::campaign(1)).is_ok());
    let error = spec.load(&mut |_| Ok("x\n".into())).expect_err("no number");
    assert_eq!(
        error.to_string(),
        "a.up:1: opportunity `x`: must be a whole number of milliseconds, one per line"
    );
    let error = spec.load(&mut |_| Err(std::io::ErrorKind::NotFound.into())).expect_err("no file");
    assert!(error.to_string().starts_with("cannot read a.up: "), "{error}");
}
