//! The oracle applied to recorded streams of acknowledgements.

use crate::follow::follow;
use crate::lab::{Lab, VIRTUAL};
use crate::rules::{Settings, algorithm};
use crate::scenes::{DETECTORS, Links, MARKING, Scene};
use crate::states::senders;
use crate::tally::Tally;
use loss_differentiation::{Algorithm, Gain, Parameters, Quantum, Reduction};
use std::collections::BTreeMap;
use std::fs;

/// First port of the workloads.
const FIRST: u16 = 5001;

/// Scenes with different causes of losses.
const SCENES: [Scene; 8] = [
    Scene {
        name: "random losses, short round trip",
        links: Links::Each,
        link: "",
        down: "rate=8mbit,delay=5ms,queue=200p,loss=1.5%",
        up: "rate=8mbit,delay=5ms",
        sysctls: "",
        seconds: 9,
    },
    Scene {
        name: "a small queue that fills",
        links: Links::Each,
        link: "",
        down: "rate=6mbit,delay=10ms,queue=12p",
        up: "rate=6mbit,delay=10ms",
        sysctls: "",
        seconds: 10,
    },
    Scene {
        name: "both",
        links: Links::Each,
        link: "",
        down: "rate=6mbit,delay=15ms,queue=20p,loss=0.4%",
        up: "rate=6mbit,delay=15ms",
        sysctls: "",
        seconds: 15,
    },
    Scene {
        name: "bursts",
        links: Links::Each,
        link: "",
        down: "rate=6mbit,delay=10ms,queue=40p,loss=4%,burst=30ms",
        up: "rate=6mbit,delay=10ms",
        sysctls: "",
        seconds: 20,
    },
    Scene {
        name: "long round trip with jitter",
        links: Links::Each,
        link: "",
        down: "rate=6mbit,delay=100ms,jitter=10ms,correlation=none,queue=100p,loss=0.5%",
        up: "rate=6mbit,delay=100ms,jitter=10ms,correlation=none",
        sysctls: "",
        seconds: 40,
    },
    Scene {
        name: "one link, with cross traffic",
        links: Links::Shared,
        link: "",
        down: "rate=16mbit,delay=15ms,queue=40p,loss=0.2%",
        up: "rate=16mbit,delay=15ms",
        sysctls: "",
        seconds: 15,
    },
    Scene {
        name: "marks, and outages",
        links: Links::Each,
        link: "profile = \"marking.toml\"",
        down: "loss=0.3%,outage=5s+700ms",
        up: "",
        sysctls: r#""net.ipv4.tcp_ecn" = 1"#,
        seconds: 10,
    },
    Scene {
        name: "without SACK",
        links: Links::Each,
        link: "",
        down: "rate=6mbit,delay=10ms,queue=30p,loss=0.4%",
        up: "rate=6mbit,delay=10ms",
        sysctls: r#""net.ipv4.tcp_sack" = 0"#,
        seconds: 10,
    },
];

/// N1 to N11: measurements and verdicts of the congestion controls in the kernel equal the
/// formulas, at every acknowledgement and at every loss event.
#[test]
fn every_verdict_is_the_oracles() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    fs::write(lab.path(MARKING.0), MARKING.1).expect("a profile");
    let mut sums: BTreeMap<&str, Tally> = BTreeMap::new();
    for scene in &SCENES {
        let tallies = followed(&lab, scene, "", |of| (Parameters::of(of), Reduction::default()));
        println!("{}:", scene.name);
        for (name, tally) in DETECTORS.into_iter().zip(tallies) {
            println!("  {name:10} {tally}");
            *sums.entry(name).or_default() += tally;
        }
    }
    let mut all = Tally::default();
    println!("all:");
    for (name, tally) in &sums {
        println!("  {name:10} {tally}");
        assert!(tally.events >= 100 && tally.wireless >= 10, "{name}: {tally}");
        assert!(tally.events - tally.wireless >= 10, "{name}: {tally}");
        all += *tally;
    }
    println!("  {:10} {all}", "");
    assert!(all.events >= 1200 && all.samples >= 100_000, "{all}");
    assert!(all.by_n.iter().all(|events| *events >= 30), "every zone of n: {all}");
    assert!(all.timeouts >= 10 && all.local >= 10, "what no detector judges is there: {all}");
    // Cases that cannot be compared, or only with a tolerance, are rare.
    assert!(all.gaps <= 2, "{all}");
    assert!((all.near + all.overwritten) * 100 <= all.events, "{all}");
    assert!(all.marked_later * 100 <= all.events && all.moved * 50 <= all.events, "{all}");
}

/// The parameters of each algorithm have the same effect in the kernel as in the formulas. The
/// reduction after a wireless loss is one of them.
#[test]
fn parameters_are_the_oracles() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let set = r#"congestion-parameters = { "newzag.gain" = 2, "newzag.wireless_percent" = 93, "newzag_v1.gain" = 7, "zigzag.gain" = 3, "zigzag.quantum_us" = 1000, "spike.spike_start_us" = 9000, "spike.spike_end_us" = 2500, "biaz.bound_quarters" = 9, "mbiaz.bound_quarters" = 3, "veno.backlog" = 6 }
"#;
    let settings = |algorithm| {
        let usual = Parameters::of(algorithm);
        let gain = |exponent| Gain::new(exponent).expect("a gain");
        let wireless_percent = if algorithm == Algorithm::NewZag { 93 } else { 80 };
        let parameters = match algorithm {
            Algorithm::NewZag => Parameters { gain: gain(2), ..usual },
            Algorithm::NewZagV1 => Parameters { gain: gain(7), ..usual },
            Algorithm::ZigZag => Parameters { gain: gain(3), quantum: Quantum::MILLISECOND, ..usual },
            Algorithm::Spike => Parameters { spike_start_us: 9000, spike_end_us: 2500, ..usual },
            Algorithm::Biaz => Parameters { bound_quarters: 9, ..usual },
            Algorithm::MBiaz => Parameters { bound_quarters: 3, ..usual },
            Algorithm::Veno => Parameters { backlog: 6, ..usual },
        };
        (parameters, Reduction { wireless_percent })
    };
    for (name, tally) in DETECTORS.into_iter().zip(followed(&lab, &SCENES[2], set, settings)) {
        println!("  {name:10} {tally}");
        assert!(tally.whole == 1 && tally.events >= 10, "{name}: {tally}");
    }
}

/// Runs the scene with more fields of the scenario, and compares its senders with oracles of these
/// settings.
fn followed(
    lab: &Lab,
    scene: &Scene,
    more: &str,
    settings: impl Fn(Algorithm) -> (Parameters, Reduction),
) -> Vec<Tally> {
    lab.succeed(&scene.plan(more), VIRTUAL);
    let of_ports = senders(&lab.path("out/events/c000-r00-senders.parquet"));
    fs::remove_dir_all(lab.path("out")).expect("removed");
    let has_sack = !scene.sysctls.contains("tcp_sack");
    let tally = |(port, name): (u16, &str)| {
        let rows = of_ports.get(&port).unwrap_or_else(|| panic!("{}: no {name}", scene.name));
        assert_eq!(rows[0].loss.algorithm.name(), name.trim_start_matches("lh-"));
        let (parameters, reduction) = settings(algorithm(rows[0].loss.algorithm));
        follow(rows, Settings { parameters, reduction, has_sack })
    };
    (FIRST..).zip(DETECTORS).map(tally).collect()
}
