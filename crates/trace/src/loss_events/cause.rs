//! What a packet was lost by, and what several were.

use super::stream::Placed;
use capture::{Fate, Loss, Reason};
use serde::Serialize;

/// The true cause of a loss event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TrueCause {
    /// An error process hit the packets, or damaged them so that TCP dropped them.
    Wireless,
    /// A queue dropped them.
    Congestion,
    /// The link was out, or held them for too long.
    Outage,
    /// More than one of these, or something that this program does not know.
    Mixed,
    /// Nothing was lost: the sender was wrong.
    None,
}

/// What links lost of what a loss event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truth {
    /// Packets that links lost or damaged; one that is sent again and lost again counts again.
    pub packets: u32,
    /// Different segments among them.
    pub segments: u32,
    /// Why.
    pub cause: TrueCause,
}

impl Truth {
    /// What these packets add up to.
    #[must_use]
    pub(super) fn of(lost: &[Placed]) -> Self {
        let mut firsts: Vec<u64> = lost.iter().map(|packet| packet.first).collect();
        firsts.sort_unstable();
        firsts.dedup();
        Self {
            packets: lost.len() as u32,
            segments: firsts.len() as u32,
            cause: lost.iter().fold(TrueCause::None, |cause, packet| cause.and(packet.cause)),
        }
    }
}

impl TrueCause {
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

    /// Why a packet did not arrive as it was sent; `None` of the option if it did, and of one that was under way when the run
    /// ended. TCP drops what is damaged; where TCP Lite accepts it, it was not lost, and this is not for such runs.
    #[must_use]
    pub const fn of(fate: &Fate) -> Option<Self> {
        let Some(reason) = &fate.lost else {
            return if fate.is_damaged() { Some(Self::Wireless) } else { None };
        };
        match reason {
            Reason::Known(Loss::Error | Loss::Listed) => Some(Self::Wireless),
            Reason::Known(Loss::QueueFull | Loss::QueueHead | Loss::QueueAge | Loss::CoDel | Loss::Red) => {
                Some(Self::Congestion)
            }
            Reason::Known(Loss::Outage | Loss::Expired) => Some(Self::Outage),
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
    use super::TrueCause::{Congestion, Mixed, None, Outage, Wireless};
    use super::*;
    use crate::loss_events::tests::fate;

    /// The contract's words: which fates are which cause.
    #[test]
    fn every_fate_has_its_cause() {
        let cause = |loss| TrueCause::of(&Fate { lost: loss, ..fate(0, 1) });
        let known = Loss::ALL.map(|loss| cause(Some(Reason::Known(loss))));
        let queues = [Some(Congestion); 5];
        assert_eq!(known[..5], queues);
        assert_eq!(known[5..], [Some(Wireless), Some(Wireless), Some(Outage), Some(Outage), Option::None]);
        assert_eq!(cause(Some(Reason::Other("whim".to_owned()))), Some(Mixed));
        assert_eq!(cause(Option::None), Option::None);
        assert_eq!(TrueCause::of(&Fate { bits_flipped: 1, ..fate(0, 1) }), Some(Wireless));
        assert_eq!(TrueCause::of(&Fate { checksum_spoiled: true, ..fate(0, 1) }), Some(Wireless));
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
