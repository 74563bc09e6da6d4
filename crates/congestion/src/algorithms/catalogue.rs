//! The congestion controls that can be loaded: each algorithm with its source and its parameters.
//! The rules themselves are in `algorithms/` beside this crate's `src`.

use super::AlgorithmError;
use super::layout::Layout;

/// A congestion control that can be loaded.
#[derive(Debug, Clone, Copy)]
pub struct Algorithm {
    /// Its name, under which it is registered by default.
    pub name: &'static str,
    /// What it does, in one line.
    pub what: &'static str,
    /// Its publications.
    pub reference: &'static str,
    /// Which rules retransmit and set the window during recovery.
    pub recovery: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Its eBPF object.
    pub(super) object: &'static [u8],
}

/// A number that is set when an algorithm is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// The default value.
    pub default: u32,
    /// The smallest value.
    pub least: u32,
    /// The largest value.
    pub most: u32,
    /// What it means, with its unit.
    pub meaning: &'static str,
}

const fn parameter(
    name: &'static str,
    default: u32,
    least: u32,
    most: u32,
    meaning: &'static str,
) -> Parameter {
    Parameter { name, default, least, most, meaning }
}

const fn gain(default: u32) -> Parameter {
    parameter(
        "gain",
        default,
        2,
        8,
        "weight of a new round-trip time: 2^-gain in the mean, twice that in the deviation",
    )
}

const QUANTUM: Parameter =
    parameter("quantum_us", 0, 0, 1_000_000, "resolution of round-trip times, us; 0: as measured");
const PER_ACK: Parameter = parameter(
    "per_ack",
    0,
    0,
    1,
    "1: the window grows per acknowledgement, as before Linux 3.15; 0: per segment",
);
const WIRELESS: Parameter =
    parameter("wireless_percent", 80, 1, 100, "window after a wireless loss, percent of the previous one");

macro_rules! object {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".o"))
    };
}

const KERNELS: &str = "PRR and RACK of the kernel";

/// All algorithms, NewZag and its version 1 first.
pub static CATALOGUE: &[Algorithm] = &[
    Algorithm {
        name: "newzag",
        what: "halves after congestion only: a loss while the round-trip time is below its mean is wireless (version 2)",
        reference: "Lien 2009, section 5.3.3",
        recovery: KERNELS,
        parameters: &[gain(4), QUANTUM, PER_ACK, WIRELESS],
        object: object!("newzag"),
    },
    Algorithm {
        name: "newzag_v1",
        what: "NewZag version 1: the fewer segments are lost, the shorter the round-trip time must be for a wireless verdict",
        reference: "Lien 2009, section 5.2.1",
        recovery: KERNELS,
        parameters: &[gain(4), QUANTUM, PER_ACK, WIRELESS],
        object: object!("newzag_v1"),
    },
    Algorithm {
        name: "zigzag",
        what: "ZigZag, sender-only: NewZag version 1 with a slower mean (published with one-way times at the receiver)",
        reference: "Cen, Cosman, Voelker 2003; Lien 2009, equation 5.2",
        recovery: KERNELS,
        parameters: &[gain(5), QUANTUM, PER_ACK, WIRELESS],
        object: object!("zigzag"),
    },
    Algorithm {
        name: "biaz",
        what: "Biaz, sender-only: a loss is wireless if the next segments come when they would have come without it",
        reference: "Biaz, Vaidya 1999; Lien 2009, equation 5.1",
        recovery: KERNELS,
        parameters: &[
            gain(4),
            QUANTUM,
            PER_ACK,
            WIRELESS,
            parameter(
                "bound_quarters",
                4,
                1,
                1000,
                "width of the interval of wireless losses, quarters of T_min",
            ),
        ],
        object: object!("biaz"),
    },
    Algorithm {
        name: "mbiaz",
        what: "mBiaz, sender-only: Biaz with a quarter of its interval",
        reference: "Cen, Cosman, Voelker 2003; Lien 2009, section 5.1",
        recovery: KERNELS,
        parameters: &[
            gain(4),
            QUANTUM,
            PER_ACK,
            WIRELESS,
            parameter(
                "bound_quarters",
                1,
                1,
                1000,
                "width of the interval of wireless losses, quarters of T_min",
            ),
        ],
        object: object!("mbiaz"),
    },
    Algorithm {
        name: "spike",
        what: "Spike, sender-only: losses while the round-trip time is far above its minimum are congestion, others wireless",
        reference: "Tobe, Tamura, Molano, Ghosh, Tokuda 2000; Lien 2009, section 5.1",
        recovery: KERNELS,
        parameters: &[
            gain(4),
            QUANTUM,
            PER_ACK,
            WIRELESS,
            parameter(
                "spike_start_us",
                20_000,
                0,
                10_000_000,
                "a spike begins this far above the minimum round-trip time, us",
            ),
            parameter(
                "spike_end_us",
                5_000,
                0,
                10_000_000,
                "a spike ends this close above the minimum round-trip time, us",
            ),
        ],
        object: object!("spike"),
    },
    Algorithm {
        name: "veno",
        what: "Veno: losses with little backlog in the queues are wireless; with a large backlog the window grows half as fast",
        reference: "Fu, Liew 2003",
        recovery: KERNELS,
        parameters: &[
            gain(4),
            QUANTUM,
            WIRELESS,
            parameter(
                "backlog",
                3,
                0,
                10_000,
                "the path counts as congested from this backlog in queues, segments",
            ),
        ],
        object: object!("veno"),
    },
    Algorithm {
        name: "westwood",
        what: "Westwood+: after a loss the window is the measured delivery rate times the minimum round-trip time",
        reference: "Grieco, Mascolo 2004",
        recovery: "PRR and RACK of the kernel; at the end of recovery Westwood sets the window",
        parameters: &[gain(4), QUANTUM],
        object: object!("westwood"),
    },
    Algorithm {
        name: "vegas",
        what: "Vegas: once per round trip the window is adapted to the number of segments waiting in queues",
        reference: "Brakmo, Peterson 1995",
        recovery: KERNELS,
        parameters: &[
            gain(4),
            QUANTUM,
            parameter("alpha", 2, 0, 10_000, "the window grows below this backlog in queues, segments"),
            parameter("beta", 4, 0, 10_000, "the window shrinks above this backlog in queues, segments"),
            parameter("gamma", 1, 0, 10_000, "slow start ends above this backlog in queues, segments"),
        ],
        object: object!("vegas"),
    },
    Algorithm {
        name: "newreno",
        what: "NewReno alone, with the same bookkeeping: the baseline for the others",
        reference: "RFC 5681, RFC 6582",
        recovery: KERNELS,
        parameters: &[gain(4), QUANTUM, PER_ACK],
        object: object!("newreno"),
    },
];

/// Returns the algorithm of this name.
///
/// # Errors
/// [`AlgorithmError::Unknown`], with a hint at the name that may have been meant.
pub fn find(name: &str) -> Result<&'static Algorithm, AlgorithmError> {
    CATALOGUE.iter().find(|algorithm| algorithm.name == name).ok_or_else(|| AlgorithmError::Unknown {
        name: name.to_owned(),
        hint: hint(name, CATALOGUE.iter().map(|algorithm| algorithm.name)),
    })
}

impl Algorithm {
    /// Returns the parameter of this name.
    ///
    /// # Errors
    /// [`AlgorithmError::Parameter`], with a hint at the name that may have been meant.
    pub fn parameter(&self, name: &str) -> Result<&'static Parameter, AlgorithmError> {
        self.parameters.iter().find(|parameter| parameter.name == name).ok_or_else(|| {
            AlgorithmError::Parameter {
                algorithm: self.name,
                name: name.to_owned(),
                hint: hint(name, self.parameters.iter().map(|parameter| parameter.name)),
            }
        })
    }
}

impl Algorithm {
    /// Returns where the object holds its parameters and its name.
    pub(super) fn layout(&self) -> Layout {
        Layout::of(self.object).expect("the compiler has written types into it")
    }
}

/// Returns "did you mean X?" if a name is near, otherwise the list of all names.
fn hint(wrong: &str, words: impl Iterator<Item = &'static str> + Clone) -> String {
    let near = words.clone().map(|word| (strsim::damerau_levenshtein(wrong, word), word)).min();
    match near {
        Some((distance, word)) if distance <= wrong.len().div_ceil(3).min(2) && distance < word.len() => {
            format!("did you mean `{word}`?")
        }
        _ => format!("expected one of {}", words.collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::LONGEST_NAME;

    #[test]
    fn names_are_names_to_the_kernel() {
        for algorithm in CATALOGUE {
            assert!(algorithm.name.len() <= LONGEST_NAME, "{}", algorithm.name);
            assert!(algorithm.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
            for parameter in algorithm.parameters {
                assert!(parameter.least <= parameter.default && parameter.default <= parameter.most);
            }
        }
    }

    #[test]
    fn wrong_names_are_answered_with_near_ones() {
        let said = |name| find(name).expect_err("there is none").to_string();
        assert!(said("newzga").ends_with("did you mean `newzag`?"), "{}", said("newzga"));
        assert!(said("newzag-v1").ends_with("did you mean `newzag_v1`?"), "{}", said("newzag-v1"));
        assert!(said("cubic").contains("expected one of newzag, newzag_v1, zigzag"), "{}", said("cubic"));
        let error = CATALOGUE[0].parameter("gian").expect_err("there is none").to_string();
        assert!(error.contains("`newzag`") && error.ends_with("did you mean `gain`?"), "{error}");
    }
}
