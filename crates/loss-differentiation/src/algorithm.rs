//! The detectors: their names, their forms, and the signals that they use.

use std::fmt;

/// A loss differentiation algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Biaz and Vaidya's: the gap in the arrivals (eq. 5.1).
    Biaz,
    /// Biaz with a lower upper bound.
    MBiaz,
    /// Spikes of the one-way trip time.
    Spike,
    /// Zones of the one-way trip time, by the number of lost packets (eq. 5.2).
    ZigZag,
    /// NewZag's original rule: ZigZag's with round-trip times (section 5.2.1).
    NewZagV1,
    /// NewZag's adjusted rule, its default (section 5.3.3).
    NewZag,
    /// Veno's backlog.
    Veno,
}

/// At which end, and therefore from which measurements, a detector judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// As published: Biaz, mBiaz, Spike and ZigZag at the receiver; NewZag and Veno at the sender.
    Original,
    /// From the sender's own measurements only. For detectors published at the receiver, that is a
    /// different algorithm (AMB-N3).
    SenderOnly,
}

/// What a detector measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signal {
    /// Round-trip times.
    RoundTrip,
    /// Relative one-way trip times: the receiver's clock at arrival minus the sender's at departure
    /// (ROTT, eq. 5.5).
    OneWay,
    /// Times between arrivals of data at the receiver.
    Arrivals,
    /// Times between acknowledgements at the sender, with the number of segments that each
    /// delivers.
    Acknowledgements,
}

impl Algorithm {
    /// All algorithms, in the order of the literature.
    pub const ALL: [Self; 7] =
        [Self::Biaz, Self::MBiaz, Self::Spike, Self::ZigZag, Self::NewZagV1, Self::NewZag, Self::Veno];

    /// Returns the name, which is also that of the congestion control; `newzag` is version 2.
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

    /// Returns the algorithm of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// Returns whether the algorithm was published for the receiver.
    #[must_use]
    pub const fn is_the_receivers(self) -> bool {
        matches!(self, Self::Biaz | Self::MBiaz | Self::Spike | Self::ZigZag)
    }

    /// Returns the signal that the algorithm uses in this form.
    #[must_use]
    pub const fn signal(self, form: Form) -> Signal {
        match (self, form) {
            (Self::Biaz | Self::MBiaz, Form::Original) => Signal::Arrivals,
            (Self::Biaz | Self::MBiaz, Form::SenderOnly) => Signal::Acknowledgements,
            (Self::Spike | Self::ZigZag, Form::Original) => Signal::OneWay,
            _ => Signal::RoundTrip,
        }
    }

    /// Returns the label for figures and tables, which states deviations from the publication.
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
    /// Returns whether a delay is valid. Round-trip times must be above 0, because a kernel without
    /// a sample gives 0. One-way times contain the difference of two clocks, so any finite number
    /// is valid. Signals that are not delays accept none.
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

    /// AMB-N3: labels state what is not as published.
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
