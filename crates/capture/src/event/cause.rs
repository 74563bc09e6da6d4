//! Why packets did not arrive, in the words of loss differentiation.

use super::{Fate, Loss, Reason};
use serde::{Deserialize, Serialize};

/// The true cause of a loss, or of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// An error process hit the packets, or damaged them so that TCP dropped them, or a link layer
    /// stopped sending them again.
    Wireless,
    /// A queue dropped them.
    Congestion,
    /// The link was out, or held them for too long.
    Outage,
    /// More than one of these, or something that this program does not know.
    Mixed,
    /// Nothing was lost.
    None,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Wireless, Self::Congestion, Self::Outage, Self::Mixed, Self::None];

    /// `wireless`, `congestion`, `outage`, `mixed` or `none`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wireless => "wireless",
            Self::Congestion => "congestion",
            Self::Outage => "outage",
            Self::Mixed => "mixed",
            Self::None => "none",
        }
    }

    /// Why a packet did not arrive as it was sent; `None` of the option if it did, and of one that
    /// was under way when the run ended. TCP drops what is damaged; where TCP Lite accepts it, it
    /// was not lost, and this is not for such runs.
    #[must_use]
    pub const fn of(fate: &Fate) -> Option<Self> {
        let Some(reason) = &fate.lost else {
            return if fate.is_damaged() { Some(Self::Wireless) } else { None };
        };
        match reason {
            Reason::Known(Loss::Error | Loss::Listed | Loss::Persistency | Loss::LinkReset) => {
                Some(Self::Wireless)
            }
            Reason::Known(Loss::QueueFull | Loss::QueueHead | Loss::QueueAge | Loss::CoDel | Loss::Red) => {
                Some(Self::Congestion)
            }
            Reason::Known(Loss::Outage | Loss::Expired | Loss::Disconnected) => Some(Self::Outage),
            Reason::Known(Loss::RunEnded) => None,
            Reason::Other(_) => Some(Self::Mixed),
        }
    }

    /// The cause of losses of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, cause) | (cause, Self::None) => cause,
            (one, two) if one == two => one,
            _ => Self::Mixed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cause::{Congestion, Mixed, None, Outage, Wireless};
    use super::*;

    /// A packet that arrived as it was sent.
    fn delivered_fate() -> Fate {
        crate::example::delivered(0, 1, 2).fate(Option::None, Option::None)
    }

    /// Which fates are which cause.
    #[test]
    fn every_fate_has_its_cause() {
        let cause = |loss| Cause::of(&Fate { lost: loss, ..delivered_fate() });
        let known = Loss::ALL.map(|loss| cause(Some(Reason::Known(loss))));
        let queues = [Some(Congestion); 5];
        assert_eq!(known[..5], queues);
        assert_eq!(known[5..9], [Some(Wireless), Some(Wireless), Some(Outage), Some(Outage)]);
        assert_eq!(known[9..], [Some(Wireless), Some(Wireless), Some(Outage), Option::None]);
        assert_eq!(cause(Some(Reason::Other("whim".to_owned()))), Some(Mixed));
        assert_eq!(cause(Option::None), Option::None);
        assert_eq!(Cause::of(&Fate { bits_flipped: 1, ..delivered_fate() }), Some(Wireless));
        assert_eq!(Cause::of(&Fate { checksum_spoiled: true, ..delivered_fate() }), Some(Wireless));
    }

    #[test]
    fn causes_add_up() {
        assert_eq!(
            (Wireless.and(Wireless), Wireless.and(Congestion), Mixed.and(Outage)),
            (Wireless, Mixed, Mixed)
        );
        assert_eq!((None.and(Outage), Outage.and(None), None.and(None)), (Outage, Outage, None));
    }
}
