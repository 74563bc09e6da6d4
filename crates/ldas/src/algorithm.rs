//! Which detectors there are, where each stands, and what each listens to.

use std::fmt;

/// A loss differentiation algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Biaz and Vaidya's: the gap in the arrivals (eq. 5.1).
    Biaz,
    /// The same with a lower upper bound.
    MBiaz,
    /// A spike of the one-way trip time.
    Spike,
    /// Zones of the one-way trip time, by the number of lost packets (eq. 5.2).
    ZigZag,
    /// NewZag's original rule: ZigZag's with round-trip times (section 5.2.1).
    NewZagV1,
    /// NewZag's adjusted rule, the one in use (section 5.3.3).
    NewZag,
    /// Veno's backlog.
    Veno,
}

/// At which end, and so from what, it judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// As published: Biaz, mBiaz, Spike and ZigZag at the receiver; NewZag and Veno at the sender.
    Original,
    /// From what a sender sees alone. For those published at the receiver that is another algorithm
    /// (AMB-N3).
    SenderOnly,
}

/// What a detector listens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signal {
    /// Round-trip times.
    RoundTrip,
    /// Relative one-way trip times: the receiver's clock at arrival minus the sender's at departure
    /// (ROTT, eq. 5.5).
    OneWay,
    /// Times between arrivals of data at the receiver.
    Arrivals,
    /// Times between acknowledgements at the sender, and how many segments each delivered.
    Acknowledgements,
}

impl Algorithm {
    /// All of them, in the order of the literature.
    pub const ALL: [Self; 7] =
        [Self::Biaz, Self::MBiaz, Self::Spike, Self::ZigZag, Self::NewZagV1, Self::NewZag, Self::Veno];

    /// The name, which is also that of the congestion control that uses it: `newzag` is version 2.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Biaz => "biaz",
            Self::MBiaz => "mbiaz",
            Self::Spike => "spike",
            Self::ZigZag => "zigzag",
            Self::NewZagV1 => "newzag_v1",
            Self::NewZag => "newzag",
            Self::Veno => "veno",
        }
    }

    /// The algorithm of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// Whether it was published at the receiver.
    #[must_use]
    pub const fn is_the_receivers(self) -> bool {
        matches!(self, Self::Biaz | Self::MBiaz | Self::Spike | Self::ZigZag)
    }

    /// What it listens to in this form.
    #[must_use]
    pub const fn signal(self, form: Form) -> Signal {
        match (self, form) {
            (Self::Biaz | Self::MBiaz, Form::Original) => Signal::Arrivals,
            (Self::Biaz | Self::MBiaz, Form::SenderOnly) => Signal::Acknowledgements,
            (Self::Spike | Self::ZigZag, Form::Original) => Signal::OneWay,
            _ => Signal::RoundTrip,
        }
    }

    /// What to call it in figures and tables, with what is not as published.
    #[must_use]
    pub fn label(self, form: Form) -> String {
        match (form, self.signal(form)) {
            (Form::SenderOnly, Signal::Acknowledgements) => {
                format!("{} (sender-only: acknowledgements in place of arrivals)", self.name())
            }
            (Form::SenderOnly, _) if self.is_the_receivers() => {
                format!("{} (sender-only: RTT in place of ROTT)", self.name())
            }
            (Form::Original, _) if self.is_the_receivers() => format!("{} (at the receiver)", self.name()),
            _ => self.name().to_owned(),
        }
    }
}

impl Signal {
    /// Whether a delay of so many microseconds is one: round-trip times are above 0, since 0 is how
    /// a kernel says that it has none; one-way times need the difference of two clocks and can be
    /// anything that is a number.
    #[must_use]
    pub fn accepts(self, delay_us: f64) -> bool {
        match self {
            Self::RoundTrip => delay_us.is_finite() && delay_us > 0.0,
            Self::OneWay => delay_us.is_finite(),
            Self::Arrivals | Self::Acknowledgements => false,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AMB-N3: what is not as published says so.
    #[test]
    fn labels_tell_the_sender_only_versions() {
        let label = |name, form| Algorithm::from_name(name).expect("a name").label(form);
        assert_eq!(label("zigzag", Form::Original), "zigzag (at the receiver)");
        assert_eq!(label("zigzag", Form::SenderOnly), "zigzag (sender-only: RTT in place of ROTT)");
        let biaz = "mbiaz (sender-only: acknowledgements in place of arrivals)";
        assert_eq!(label("mbiaz", Form::SenderOnly), biaz);
        for form in [Form::Original, Form::SenderOnly] {
            assert_eq!(label("newzag", form), "newzag");
            assert_eq!(label("veno", form), "veno");
        }
        assert_eq!(Algorithm::from_name("newzag-v2"), None);
    }

    #[test]
    fn delays_that_are_none() {
        assert!(Signal::RoundTrip.accepts(0.5) && !Signal::RoundTrip.accepts(0.0));
        assert!(!Signal::RoundTrip.accepts(-1.0) && Signal::OneWay.accepts(-1.0));
        assert!(!Signal::OneWay.accepts(f64::NAN) && !Signal::RoundTrip.accepts(f64::INFINITY));
        assert!(!Signal::Arrivals.accepts(1.0));
    }
}
